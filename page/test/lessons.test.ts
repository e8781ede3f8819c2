// Each lesson begins undone, and its solution does it.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checked, type Outcome, type Progress, type Raw, type Stability } from '../src/engine/answers';
import { Engine } from '../src/engine/wasm';
import type { Laboratory } from '../src/laboratory';
import { facts, judge, type Lesson } from '../src/lessons';
import { lesson } from '../vite.config';

const folder = new URL('../lessons/', import.meta.url);
const wasm = readFileSync(new URL('../src/engine/ackclock_web.wasm', import.meta.url));
const engine = await Engine.start(await WebAssembly.compile(wasm));

function run(text: string): Laboratory {
  const check = checked(engine.ask<Raw>({ ask: 'check', text }));
  engine.ask({ ask: 'run', text, flows: 2, memory: 1e9 });
  while (!engine.ask<Progress>({ ask: 'advance', events: 1e6 }).done);
  const outcome = engine.ask<Outcome>({ ask: 'outcome', points: 100 });
  let law: Stability | null = null;
  try {
    law = engine.ask<Stability>({ ask: 'stability', text, work: 2e7 });
  } catch {
    // no average law
  }
  return {
    packets: { value: outcome },
    law: { value: law },
    field: { value: null },
    checked: check,
  } as unknown as Laboratory;
}

const files = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');

test('they are found', () => expect(files.length).toBeGreaterThanOrEqual(10));

test.each(files)(
  '%s',
  (file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const read = lesson(text) as unknown as Lesson & { solution: string[] };
    expect(read.title && read.summary && read.teachers.length > 100).toBeTruthy();
    expect(read.checks.length).toBeGreaterThan(0);
    const before = judge(read, facts(run(read.scenario)));
    expect(
      before.every((condition) => condition.now !== 'not known' && !condition.text.includes('cannot be read')),
      JSON.stringify(before),
    ).toBe(true);
    expect(
      before.every((condition) => condition.met),
      JSON.stringify(before),
    ).toBe(false);
    let solved = read.scenario;
    for (const line of read.solution) {
      const [old, next] = line.split(' => ') as [string, string];
      expect(solved).toContain(old);
      solved = solved.replace(old, next);
    }
    const after = judge(read, facts(run(solved)));
    expect(
      after.every((condition) => condition.met),
      JSON.stringify(after),
    ).toBe(true);
  },
  60_000,
);
