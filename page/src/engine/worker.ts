// A worker with engines of its own. Whoever waits no longer ends the worker: that stops anything.

import type { Field, Outcome, Progress } from './answers';
import { Engine, type Question, Refusal } from './wasm';

export interface Job {
  id: number;
  question: Question;
}

export type Report =
  | { id: number; progress: Progress }
  | { id: number; ok: unknown }
  | { id: number; error: { kind: string; message: string; diagnostics: unknown[] } };

/** Between two reports, ms. */
const SLICE = 60;

let loaded: (module: WebAssembly.Module) => void;
const engine = new Promise<WebAssembly.Module>((done) => {
  loaded = done;
}).then(Engine.start);

/** Goes on until done, in steps that take about a slice. */
function inSteps<T>(
  engine: Engine,
  advance: (count: number) => Question,
  end: Question,
  first: number,
  report: (progress: Progress) => void,
): T {
  let count = first;
  for (;;) {
    const begin = performance.now();
    const progress = engine.ask<Progress>(advance(count));
    if (progress.done) return engine.ask<T>(end);
    const took = Math.max(performance.now() - begin, 0.1);
    count = Math.round(Math.min(Math.max((count * SLICE) / took, 100), 50_000_000));
    report(progress);
  }
}

function answer(engine: Engine, question: Question, report: (progress: Progress) => void): unknown {
  switch (question.ask) {
    case 'run': {
      const { points, ...start } = question;
      engine.ask(start as Question);
      const advance = (events: number) => ({ ask: 'advance', events });
      return inSteps<Outcome>(engine, advance, { ask: 'outcome', points }, 20_000, report);
    }
    case 'field': {
      engine.ask(question);
      const advance = (steps: number) => ({ ask: 'field_advance', steps });
      return inSteps<Field>(engine, advance, { ask: 'field_outcome' }, 200, report);
    }
    default:
      return engine.ask(question);
  }
}

self.onmessage = async (event: MessageEvent<Job | WebAssembly.Module>) => {
  if (event.data instanceof WebAssembly.Module) {
    loaded(event.data);
    return;
  }
  const { id, question } = event.data;
  const post = (report: Report) => self.postMessage(report);
  try {
    const ok = answer(await engine, question, (progress) => post({ id, progress }));
    post({ id, ok });
  } catch (error) {
    const known = error instanceof Refusal ? error : new Refusal('broken', String(error));
    const { kind, message, diagnostics } = known;
    post({ id, error: { kind, message, diagnostics } });
  }
};
