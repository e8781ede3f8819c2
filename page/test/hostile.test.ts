// Texts of the fuzz corpus, damaged at random: each ends in an answer or a message, none in a trap.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Engine } from '../src/engine/wasm';

const folder = new URL('../../fuzz/corpus/scenario/', import.meta.url);
const wasm = readFileSync(new URL('../src/engine/ackclock_web.wasm', import.meta.url));
const engine = await Engine.start(await WebAssembly.compile(wasm));
const corpus = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
const HOSTILE_TEXTS = Number(process.env.HOSTILE ?? 2000);

/** A generator of pseudo-random numbers in [0, 1): the same texts each time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const WORDS = [
  '-1',
  '0',
  '1e308',
  '"',
  '=',
  '[',
  ']]',
  '\n',
  'nan',
  '"1 s"',
  '"1e9 Gbit/s"',
  '999999999999',
  '{',
  '\u0000',
  'é',
  '#',
];

function damaged(text: string, random: () => number): string {
  let mutated = text;
  for (let k = Math.floor(4 * random()); k > 0; k--) {
    const at = Math.floor(random() * mutated.length);
    const length = Math.floor(6 * random());
    mutated = mutated.slice(0, at) + WORDS[Math.floor(random() * WORDS.length)] + mutated.slice(at + length);
  }
  return mutated;
}

test(`${HOSTILE_TEXTS} texts`, async () => {
  const random = generator(1);
  const counts = { valid: 0, refused: 0 };
  for (let k = 0; k < HOSTILE_TEXTS; k++) {
    // the test runner wants to be heard now and then
    if (k % 100 === 0) await new Promise((done) => setImmediate(done));
    const text = damaged(corpus[k % corpus.length] as string, random);
    const answer = engine.text(JSON.stringify({ ask: 'check', text }));
    if (answer.startsWith('{"error"')) {
      const { error } = JSON.parse(answer);
      expect(error.kind === 'scenario' && error.diagnostics.length > 0, text).toBe(true);
      counts.refused += 1;
      continue;
    }
    counts.valid += 1;
    for (const question of [
      { ask: 'run', text, flows: 1, memory: 2e8 },
      { ask: 'advance', events: 2000 },
      { ask: 'stability', text, work: 20_000 },
    ]) {
      expect(engine.text(JSON.stringify(question))).toMatch(/^\{"(ok|error)":/);
    }
  }
  console.log(counts);
  expect(counts.valid).toBeGreaterThan(HOSTILE_TEXTS / 20);
}, 600_000);
