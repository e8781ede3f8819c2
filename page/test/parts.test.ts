import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { decode, encode } from '../src/address';
import { checked, type Outcome, type Raw } from '../src/engine/answers';
import { Engine, Refusal } from '../src/engine/wasm';
import { parse, short } from '../src/scenario/quantity';
import { head, write } from '../src/scenario/toml';
import { resample } from '../src/view/resample';
import { flowsSentence, linkSentences } from '../src/words/sentences';

const wasm = readFileSync(new URL('../src/engine/ackclock_web.wasm', import.meta.url));
const engine = await Engine.start(await WebAssembly.compile(wasm));
const scenarios = ['bufferbloat', 'compound-red', 'parking-lot', 'web-and-bulk', 'changing-link', 'mixed-traffic'];
const read = (name: string) => readFileSync(new URL(`../../scenarios/${name}.toml`, import.meta.url), 'utf8');

test.each(scenarios)('%s: what controls write says the same', (name) => {
  const text = read(name);
  const check = checked(engine.ask<Raw>({ ask: 'check', text }));
  for (const tree of [check.given, check.tree]) {
    const again = checked(engine.ask<Raw>({ ask: 'check', text: write(tree, head(text)) }));
    expect(again.tree).toEqual(check.tree);
  }
});

test('a list that has become empty is not written', () => {
  const text = read('changing-link');
  const { given } = checked(engine.ask<Raw>({ ask: 'check', text }));
  const again = checked(engine.ask<Raw>({ ask: 'check', text: write({ ...given, change: [] }) }));
  expect(again.tree.change ?? []).toEqual([]);
});

test('an address holds a scenario, and nonsense is null', async () => {
  const state = { t: read('home'), l: 1, c: 2, a: 'x "é\n' };
  expect(await decode(await encode(state))).toEqual(state);
  const whole = { ...state, a: 'other', n: '04-red-hopf', x: 'rate' };
  expect(await decode(await encode(whole))).toEqual(whole);
  for (const bad of ['', '!', 'AAAA', await encode({ t: 3 } as never), 'x'.repeat(70_000)])
    expect(await decode(bad)).toBeNull();
  // a bomb: a megabyte and more of the same letter
  expect(await decode(await encode({ t: 'a'.repeat(2_000_000) }).catch(() => ''))).toBeNull();
});

test('quantities', () => {
  expect(parse('100 Mbit/s')?.value).toBe(100e6);
  expect(parse('uniform 5 ms .. 10 ms')?.value).toBeCloseTo(0.005);
  expect(parse('auto')).toBeNull();
  expect(short(12.3456)).toBe('12.3');
});

test('lines are taken to another axis', () => {
  expect(resample([0, 1, 2], [0, 10, null], [-1, 0, 0.5, 1.5, 3])).toEqual([null, 0, 5, 10, null]);
});

test('an engine that has trapped says so and answers no more', () => {
  expect(() => engine.ask({ ask: 'fly' })).toThrow(Refusal);
});

test('sentences are those of the reports', () => {
  const cases = JSON.parse(readFileSync(new URL('./sentences.json', import.meta.url), 'utf8'));
  for (const { link, flows, text } of cases) {
    const outcome = { links: [link], flows } as unknown as Outcome;
    expect([...linkSentences(outcome, 0), flowsSentence(outcome)].join(' ')).toBe(text);
  }
});

test('goodput is that of the flows across the link, where others do not cross it', () => {
  const outcome = { flows: { goodput: [1e6, 2e6, 4e6], class: [0, 0, 1] } } as unknown as Outcome;
  const said = (...classes: number[]) => flowsSentence(outcome, { link: 'down', classes });
  expect(said(0)).toBe('The 2 flows across down together get 3 Mbit/s of goodput.');
  expect(said(1)).toBe('The flow across down gets 4 Mbit/s of goodput.');
  expect(said(0, 1)).toBe('3 flows together get 7 Mbit/s of goodput.');
});
