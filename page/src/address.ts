// The whole state in the address, compressed: a link reproduces what is on the screen.

export interface Shared {
  /** The scenario. */
  t: string;
  /** Link and class on the screen. */
  l?: number;
  c?: number;
  /** A, beside which this is B. */
  a?: string;
  /** The lesson above it, and the second axis of the stability chart. */
  n?: string;
  x?: string;
}

/** Characters of an address that are read, and of a scenario that comes out of one. */
const LONGEST_ADDRESS = 60_000;
const LONGEST_STATE = 1_000_000;

async function through(bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart])
    .stream()
    .pipeThrough(stream as ReadableWritablePair)
    .getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LONGEST_STATE) throw new Error('too long');
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export async function encode(state: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(bytes, new CompressionStream('deflate-raw'));
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** The state of an address; null where it holds none that can be read. */
export async function decode(text: string): Promise<Shared | null> {
  if (!text || text.length > LONGEST_ADDRESS) return null;
  try {
    const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    const packed = Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
    const bytes = await through(packed, new DecompressionStream('deflate-raw'));
    const state = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (state === null || typeof state !== 'object' || typeof state.t !== 'string') return null;
    const whole = (n: unknown) => (Number.isInteger(n) && (n as number) >= 0 ? (n as number) : undefined);
    const shared: Shared = { t: state.t };
    const [l, c] = [whole(state.l), whole(state.c)];
    if (l !== undefined) shared.l = l;
    if (c !== undefined) shared.c = c;
    for (const key of ['a', 'n', 'x'] as const) if (typeof state[key] === 'string') shared[key] = state[key];
    return shared;
  } catch {
    return null;
  }
}
