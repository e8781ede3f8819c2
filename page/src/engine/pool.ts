// As many workers as the machine has processors (at most four). A job that nobody waits for any more
// ends with its worker; the next one takes a fresh worker of the compiled engines.

import type { Progress } from './answers';
import { type Diagnostic, type Question, Refusal } from './wasm';
import type { Report } from './worker';

interface Waiting {
  id: number;
  question: Question;
  signal: AbortSignal | undefined;
  progress: ((progress: Progress) => void) | undefined;
  done(ok: unknown): void;
  failed(error: unknown): void;
}

interface Seat {
  worker: Worker;
  job: Waiting | null;
}

export class Pool {
  private readonly seats: Seat[] = [];
  private queue: Waiting[] = [];
  private next = 0;

  constructor(
    private readonly module: Promise<WebAssembly.Module>,
    private readonly size = Math.min(4, Math.max(2, navigator.hardwareConcurrency || 2)),
  ) {
    // two are ready before anyone asks
    for (let k = 0; k < 2; k++) this.seats.push(this.seat());
  }

  ask<T>(
    question: Question,
    options: { signal?: AbortSignal; progress?: (progress: Progress) => void } = {},
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal, progress } = options;
      if (signal?.aborted) {
        reject(stopped());
        return;
      }
      const done = resolve as (ok: unknown) => void;
      const job: Waiting = { id: this.next++, question, signal, progress, done, failed: reject };
      signal?.addEventListener('abort', () => this.drop(job), { once: true });
      this.queue.push(job);
      this.assign();
    });
  }

  private seat(): Seat {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    const seat: Seat = { worker, job: null };
    this.module.then(
      (module) => worker.postMessage(module),
      () => undefined,
    );
    worker.onmessage = (event: MessageEvent<Report>) => this.report(seat, event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.replace(seat, new Refusal('broken', `the worker failed: ${event.message}`));
    };
    return seat;
  }

  private assign(): void {
    while (this.queue.length > 0) {
      let seat = this.seats.find((candidate) => candidate.job === null);
      if (!seat && this.seats.length < this.size) {
        seat = this.seat();
        this.seats.push(seat);
      }
      if (!seat) return;
      const job = this.queue.shift();
      if (!job) return;
      seat.job = job;
      seat.worker.postMessage({ id: job.id, question: job.question });
    }
  }

  private report(seat: Seat, report: Report): void {
    const job = seat.job;
    if (!job || job.id !== report.id) return;
    if ('progress' in report) {
      job.progress?.(report.progress);
      return;
    }
    if ('ok' in report) {
      seat.job = null;
      job.done(report.ok);
      this.assign();
      return;
    }
    const { kind, message, diagnostics } = report.error;
    const error = new Refusal(kind, message, diagnostics as Diagnostic[]);
    if (kind === 'broken') {
      this.replace(seat, error);
    } else {
      seat.job = null;
      job.failed(error);
      this.assign();
    }
  }

  private drop(job: Waiting): void {
    this.queue = this.queue.filter((waiting) => waiting !== job);
    const seat = this.seats.find((candidate) => candidate.job === job);
    if (seat) this.replace(seat, stopped());
    else job.failed(stopped());
  }

  /** Ends a worker and what it does, and seats another one in its place. */
  private replace(seat: Seat, error: unknown): void {
    seat.worker.terminate();
    const { job } = seat;
    this.seats.splice(this.seats.indexOf(seat), 1, this.seat());
    job?.failed(error);
    this.assign();
  }
}

function stopped(): DOMException {
  return new DOMException('stopped', 'AbortError');
}

export function isStopped(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
