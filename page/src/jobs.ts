// What a scenario is asked, and in which form.

import {
  type Checked,
  checked,
  type Field,
  type Outcome,
  type Progress,
  type Raw,
  type Stability,
  type Trajectory,
  type Tree,
} from './engine/answers';
import type { Pool } from './engine/pool';
import { get, number, set, without } from './scenario/edit';
import { write } from './scenario/toml';

/** Samples of a trace on the page: about as many as a screen has pixels. */
const POINTS = 1600;
/** Traced flows of each class. */
const FLOWS = 6;
/** Bytes that a run may take of a tab. */
const MEMORY = 1_500_000_000;
/** Evaluations of an equation: about a second. */
export const WORK = 20_000_000;
/** The mean field on the page: so many round trips, and no longer than this, s. */
const ROUNDS = 250;
const LONGEST = 60;

export type Listen = (progress: Progress) => void;

export async function check(pool: Pool, text: string): Promise<Checked> {
  return checked(await pool.ask<Raw>({ ask: 'check', text }));
}

export function runPackets(pool: Pool, text: string, signal: AbortSignal, progress: Listen): Promise<Outcome> {
  const question = { ask: 'run', text, seed: null, flows: FLOWS, memory: MEMORY, points: POINTS };
  return pool.ask<Outcome>(question, { signal, progress });
}

export function stability(pool: Pool, text: string, signal?: AbortSignal): Promise<Stability> {
  return pool.ask<Stability>({ ask: 'stability', text, work: WORK }, signal ? { signal } : {});
}

export async function trajectory(pool: Pool, text: string, duration: number): Promise<Trajectory> {
  const question = { ask: 'trajectory', text, work: WORK, samples: 900, steps: 3000, relative: 1e-4 };
  try {
    return await pool.ask<Trajectory>({ ...question, duration });
  } catch {
    // too stiff for so long
    return pool.ask<Trajectory>({ ...question, duration: duration / 5 });
  }
}

/** Longest base round trip of a scenario, s. */
export function longestRtt(tree: Tree): number {
  const flows = (tree.flows ?? []) as Tree[];
  return Math.max(0.001, ...flows.map((flow) => number(flow.rtt, 0.1)));
}

/** How long the mean field runs, s: long enough to see where it goes. */
export function horizon(checked: Checked): number {
  return Math.min(checked.duration ?? LONGEST, LONGEST, Math.max(5, ROUNDS * longestRtt(checked.tree)));
}

/** The same scenario, as short as a mean field on the page is. */
export function shortened(checked: Checked): string {
  const length = horizon(checked);
  if (checked.duration !== null && length >= checked.duration) return write(checked.tree);
  let tree = set(checked.tree, ['scenario', 'duration'], `${length} s`);
  tree = set(tree, ['scenario', 'measure'], `${length / 3} s .. ${length} s`);
  tree = without(tree, ['scenario', 'sample']);
  const late = (at: unknown) => number(at as string, 0) >= length;
  if (Array.isArray(tree.change)) tree.change = tree.change.filter((entry) => !late(get(entry, ['at'])));
  const flows = tree.flows as Tree[];
  for (const flow of flows) {
    const times = String(flow.start ?? '').match(/\d[^.]*?(?:s|min|h)\b/g) ?? [];
    if (times.some(late)) flow.start = `uniform 0 s .. ${length / 10} s`;
  }
  return write(tree);
}

export function meanField(pool: Pool, checked: Checked, signal: AbortSignal, progress: Listen): Promise<Field> {
  const text = shortened(checked);
  const grid = { cells_per_packet: 2, steps_per_rtt: 30, samples: 800, snapshots: 60, bins: 2048 };
  return pool.ask<Field>({ ask: 'field', text, ...grid }, { signal, progress });
}

/** An axis of the chart: how the equations, the page and the scenario call it. */
export interface Axis {
  name: string;
  label: string;
  /** Units of the equations in one of the page. */
  scale: number;
  now: number;
  values: number[];
}

export function spaced(low: number, high: number, count: number): number[] {
  return Array.from({ length: count }, (_, k) => low * (high / low) ** (k / (count - 1)));
}

/** More starts where the present equilibrium does not reach. */
const STARTS = 6;

/**
 * Unstable roots over two axes; the present equilibrium is carried over, then others. `elsewhere`: none was found at
 * the operating point itself.
 */
export async function chart(
  pool: Pool,
  text: string,
  axes: [Axis, Axis],
  signal: AbortSignal,
): Promise<{ counts: number[]; elsewhere: boolean }> {
  const [first, second] = axes.map((axis) => axis.values.map((value) => value * axis.scale)) as [number[], number[]];
  const names = [axes[0].name, axes[1].name];
  const ask = (set: [string, number][]) =>
    pool.ask<number[]>({ ask: 'chart', text, set, work: 5 * WORK, names, first, second }, { signal });
  let elsewhere = false;
  let counts = await ask([]).catch((error) => {
    if (signal.aborted) throw error;
    elsewhere = true;
    return new Array<number>(first.length * second.length).fill(-1);
  });
  for (let k = 0; k < STARTS && counts.some((count) => count < 0); k++) {
    const open = counts.flatMap((count, cell) => (count < 0 ? [cell] : []));
    const cell = open[Math.floor(((k + 0.5) * open.length) / STARTS)] as number;
    const [row, column] = [Math.floor(cell / second.length), cell % second.length];
    const set: [string, number][] = [
      [names[0] as string, first[row] as number],
      [names[1] as string, second[column] as number],
    ];
    const more = await ask(set).catch((error) => {
      if (signal.aborted) throw error;
      return null;
    });
    if (more) counts = counts.map((count, at) => (count < 0 ? (more[at] as number) : count));
  }
  return { counts, elsewhere };
}
