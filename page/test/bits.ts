// The engines give the same bits here as natively: the same questions, the answers byte by byte.
// Roots and what follows from them come from a linear algebra that takes the machine's own vector
// instructions: there words and whole numbers are the same, other numbers to 1e-6.
// Usage: bits.ts WASM QUESTIONS ANSWERS (both JSON lines, the answers from the native example).

import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Engine } from '../src/engine/wasm';

const [wasm, questions, answers] = process.argv.slice(2) as [string, string, string];
const engine = await Engine.start(await WebAssembly.compile(readFileSync(wasm)));
const lines = async (path: string) => {
  const all: string[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) all.push(line);
  return all;
};
const [asked, native] = [await lines(questions), await lines(answers)];
const ROUNDED = new Set(['stability', 'limit']);
const close = (a: unknown, b: unknown): boolean => {
  if (typeof a === 'number' && typeof b === 'number') {
    const both = Number.isInteger(a) && Number.isInteger(b);
    return a === b || (!both && Math.abs(a - b) <= 1e-6 * (Math.abs(a) + Math.abs(b)) + 1e-9);
  }
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  // a loop of 1e-9 and less crosses the axis where rounding has it cross
  const gain = (one: object) => Number((one as { gain?: number }).gain);
  if (gain(a) > 1e9 && gain(b) > 1e9) return true;
  const keys = Object.keys(a);
  const of = (one: object, key: string) => (one as Record<string, unknown>)[key];
  return keys.length === Object.keys(b).length && keys.every((key) => close(of(a, key), of(b, key)));
};
const same = (ask: string, here: string, there: string | undefined) =>
  here === there || (ROUNDED.has(ask) && there !== undefined && close(JSON.parse(here), JSON.parse(there)));
const kinds = new Map<string, { equal: number; refused: number; different: number }>();
let first = '';
for (const [k, question] of asked.entries()) {
  const { ask } = JSON.parse(question);
  const count = kinds.get(ask) ?? { equal: 0, refused: 0, different: 0 };
  kinds.set(ask, count);
  const here = engine.text(question);
  if (!same(ask, here, native[k])) {
    count.different += 1;
    const at = [...here].findIndex((letter, i) => letter !== native[k]?.[i]);
    const near = (text: string | undefined) => text?.slice(Math.max(0, at - 80), at + 80);
    first ||= `question ${k}: ${question}\nhere:   ${near(here)}\nnative: ${near(native[k])}`;
    if (process.env.EVERY) console.log(ask, '\n ', near(here), '\n ', near(native[k]));
  } else if (here.startsWith('{"error"')) count.refused += 1;
  else count.equal += 1;
}
console.table(Object.fromEntries(kinds));
const rarely = [...kinds].filter(([, count]) => count.equal < asked.length / 200);
if (rarely.length) console.error(`hardly any answers: ${rarely.map(([ask]) => ask)}`);
if (native.length !== asked.length || first || rarely.length) {
  console.error(`${native.length} native answers to ${asked.length} questions\n${first}`);
  process.exit(1);
}
