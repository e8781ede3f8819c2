// The lessons in ../lessons: their parts, and the check that a task was done.

import { handled, type Node } from './engine/answers';
import type { Laboratory } from './laboratory';
import { get, kindOf } from './scenario/edit';
import { short } from './scenario/quantity';

export interface Lesson {
  key: string;
  title: string;
  summary: string;
  scenario: string;
  /** `[text, quantity, comparison, value]`, all of which must hold. */
  checks: string[];
  html: string;
  teachers: string;
}

const FILES = import.meta.glob('../lessons/*.md', { import: 'default', eager: true }) as Record<
  string,
  Omit<Lesson, 'key'>
>;

export const LESSONS: Lesson[] = Object.entries(FILES)
  .filter(([path]) => !path.includes('README'))
  .map(([path, lesson]) => ({ ...lesson, key: (path.split('/').pop() ?? '').replace('.md', '') }))
  .sort((a, b) => a.key.localeCompare(b.key));

export type Facts = Map<string, number | string | null>;

/** The value of a key, or of a table the `kind` and its own keys; of a quantity the leading number. */
function says(name: string, value: Node | undefined, into: Facts): void {
  if (typeof value !== 'object' || value === null) {
    const leading = Number.parseFloat(String(value));
    if (value !== undefined && value !== null) into.set(name, Number.isFinite(leading) ? leading : String(value));
  } else if (!Array.isArray(value)) {
    into.set(name, kindOf(value, 'a table'));
    for (const [key, part] of Object.entries(value)) says(`${name}.${key}`, part, into);
  }
}

/** Every quantity that a check can name. */
export function facts(lab: Laboratory): Facts {
  const known: Facts = new Map();
  const outcome = lab.packets.value;
  for (const link of outcome?.links ?? []) {
    const name = `link.${link.name}`;
    known.set(`${name}.utilization`, link.utilization);
    known.set(`${name}.queue`, link.queue_packets_mean);
    known.set(`${name}.queue_std`, link.queue_packets_std);
    known.set(`${name}.wait_p50_ms`, 1e3 * (link.delay_percentiles[0] ?? 0));
    known.set(`${name}.wait_p99_ms`, 1e3 * (link.delay_percentiles[2] ?? 0));
    known.set(`${name}.loss`, link.drops / handled(link));
    known.set(`${name}.marks`, link.marks / handled(link));
  }
  outcome?.classes.forEach((klass, k) => {
    const mine = (values: (number | null)[]) =>
      values.filter((number, flow): number is number => outcome.flows.class[flow] === k && number !== null);
    const sum = (values: number[]) => values.reduce((all, number) => all + number, 0);
    const name = `flows.${klass.name}`;
    const goodput = sum(mine(outcome.flows.goodput));
    const all = sum(outcome.flows.goodput);
    const windows = mine(outcome.flows.cwnd_mean);
    known.set(`${name}.goodput_mbps`, goodput / 1e6);
    known.set(`${name}.share`, all ? goodput / all : 0);
    known.set(`${name}.cwnd`, windows.length ? sum(windows) / windows.length : null);
  });
  const at = lab.law.value?.equilibria[0];
  known.set('unstable', at?.unstable ?? null);
  known.set('gain_margin', at?.margins?.gain ?? null);
  known.set('delay_margin_ms', at?.margins?.delay == null ? null : 1e3 * at.margins.delay);
  const field = lab.field.value;
  known.set('mean_field.queue', field?.link.queue_mean ?? null);
  for (const list of ['link', 'flows']) {
    const entries = lab.checked?.tree?.[list];
    for (const entry of Array.isArray(entries) ? entries : []) says(`set.${get(entry, ['name'])}`, entry, known);
  }
  return known;
}

export interface Condition {
  text: string;
  met: boolean;
  now: string;
}

const COMPARE: Record<string, (a: number | string, b: number | string) => boolean> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
};

const UNITS: [RegExp, string][] = [
  [/_ms$/, ' ms'],
  [/_mbps$/, ' Mbit/s'],
  [/\.(?:cwnd|queue|queue_std)$/, ' packets'],
];

/** A number of `facts` with its unit. */
function measured(name: string, value: number): string {
  if (name.startsWith('set.')) return short(value, 4);
  if (/\.(?:share|utilization|loss|marks)$/.test(name)) return `${short(100 * value)} %`;
  return short(value, 4) + (UNITS.find(([ending]) => ending.test(name))?.[1] ?? '');
}

/** Each check of a lesson: `link.bottleneck.wait_p99_ms < 30: 99 % wait less than 30 ms`. */
export function judge(lesson: Lesson, known: Facts): Condition[] {
  return lesson.checks.map((line) => {
    const parsed = /^(\S.*?) (<=|>=|<|>|=) ("[^"]*"|[-\d.e]+): (.+)$/.exec(line);
    if (!parsed) return { text: `this check cannot be read: ${line}`, met: false, now: '' };
    const [, name, operator, wanted, text] = parsed as unknown as [string, string, string, string, string];
    const now = known.get(name);
    if (now === undefined || now === null) return { text, met: false, now: 'not known' };
    const value = wanted.startsWith('"') ? wanted.slice(1, -1) : Number(wanted);
    const met = typeof now === typeof value && (COMPARE[operator]?.(now, value) ?? false);
    return { text, met, now: typeof now === 'number' ? measured(name, now) : now };
  });
}
