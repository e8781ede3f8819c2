// A number on a logarithmic slider, and as text.

import { useState } from 'preact/hooks';
import { short } from '../scenario/quantity';

interface Props {
  label: string;
  unit: string;
  value: number;
  low: number;
  high: number;
  whole?: boolean;
  hint?: string;
  change(value: number): void;
}

const STEPS = 300;

export function Slider({ label, unit, value, low, high, whole, hint, change }: Props) {
  const [from, to] = [Math.min(low, value || low), Math.max(high, value)];
  const place = Math.round((STEPS * Math.log(Math.max(value, from) / from)) / Math.log(to / from));
  // what is being typed stays, whatever is drawn anew meanwhile
  const [typed, setTyped] = useState<string | null>(null);
  const take = (next: number) => {
    const held = Math.min(Math.max(next, from), to);
    if (Number.isFinite(held)) change(whole ? Math.max(1, Math.round(held)) : Number(short(held)));
  };
  return (
    <label class="control" title={hint}>
      <span class="name">{label}</span>
      <input
        type="range"
        min={0}
        max={STEPS}
        value={place}
        aria-label={label}
        aria-valuetext={`${short(value)} ${unit}`}
        onInput={(event) => take(from * (to / from) ** (Number(event.currentTarget.value) / STEPS))}
      />
      <span class="value">
        <input
          type="text"
          inputMode="decimal"
          aria-label={`${label} as a number`}
          value={typed ?? short(value)}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => {
            setTyped(null);
            take(Number(event.currentTarget.value));
          }}
          onBlur={() => setTyped(null)}
        />
        <span class="unit">{unit}</span>
      </span>
    </label>
  );
}
