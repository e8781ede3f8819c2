// The engines give the same bits here as natively: the same questions, the answers byte by byte.
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
const [sent, native] = [await lines(questions), await lines(answers)];
const kinds = new Map<string, { equal: number; refused: number; different: number }>();
let first = '';
for (const [k, question] of sent.entries()) {
  const { ask } = JSON.parse(question);
  const count = kinds.get(ask) ?? { equal: 0, refused: 0, different: 0 };
  kinds.set(ask, count);
  const here = engine.text(question);
  if (here !== native[k]) {
    count.different += 1;
    const at = [...here].findIndex((letter, i) => letter !== native[k]?.[i]);
    const near = (text: string | undefined) => text?.slice(Math.max(0, at - 80), at + 80);
    first ||= `question ${k}: ${question}\nhere:   ${near(here)}\nnative: ${near(native[k])}`;
    if (process.env.EVERY) console.log(ask, '\n ', near(here), '\n ', near(native[k]));
  } else if (here.startsWith('{"error"')) count.refused += 1;
  else count.equal += 1;
}
console.table(Object.fromEntries(kinds));
const rarely = [...kinds].filter(([, count]) => count.equal < sent.length / 200);
if (rarely.length) console.error(`hardly any answers: ${rarely.map(([ask]) => ask)}`);
if (native.length !== sent.length || first || rarely.length) {
  console.error(`${native.length} native answers to ${sent.length} questions\n${first}`);
  process.exit(1);
}
