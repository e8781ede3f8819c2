// Quantities as scenarios write them, in SI units, and back.

const SCALES: Record<string, number> = {
  ps: 1e-12,
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
  'bit/s': 1,
  'kbit/s': 1e3,
  'Mbit/s': 1e6,
  'Gbit/s': 1e9,
  'Tbit/s': 1e12,
  Mbps: 1e6,
  'Mb/s': 1e6,
  mbit: 1e6,
  Gbps: 1e9,
  kbps: 1e3,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  packets: 1,
  segments: 1,
  packet: 1,
  Hz: 1,
  '%': 0.01,
};

export interface Quantity {
  value: number;
  unit: string;
}

/** The first number of a text with its unit, in SI; null where there is none. */
export function parse(text: unknown): Quantity | null {
  if (typeof text === 'number') return { value: text, unit: '' };
  if (typeof text !== 'string') return null;
  const match = /(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-z%/]+)?/.exec(text);
  if (!match) return null;
  const unit = match[2] ?? '';
  const scale = unit ? SCALES[unit] : 1;
  return scale === undefined ? null : { value: Number(match[1]) * scale, unit };
}

/** A number as people write it, to so many digits. */
export function short(value: number, digits = 3): string {
  return String(Number(value.toPrecision(digits)));
}
