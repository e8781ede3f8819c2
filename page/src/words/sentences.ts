// The sentences about a run, from the templates of the Python package.

import TEMPLATES from '../../../python/ackclock/present/text/sentences.json';
import { handled, type Outcome, type Stability } from '../engine/answers';
import { short } from '../scenario/quantity';

type Name = keyof typeof TEMPLATES;

export function fill(name: Name, values: Record<string, string>): string {
  return TEMPLATES[name].replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '');
}

/** Python's format ":.Ng". */
function general(value: number, digits: number): string {
  if (value === 0) return '0';
  const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split('e') as [string, string];
    const tidy = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
    return `${tidy}e${power[0]}${power.slice(1).padStart(2, '0')}`;
  }
  const fixed = value.toFixed(Math.max(0, digits - 1 - exponent));
  return fixed.includes('.') ? fixed.replace(/\.?0+$/, '') : fixed;
}

/** A number to the unit, as Python has it: halves go to the even one. */
function grouped(value: number): string {
  const up = Math.round(value);
  const even = Math.abs(value % 1) === 0.5 && up % 2 !== 0 ? up - 1 : up;
  return even.toLocaleString('en-US');
}

/** A number as the reports write it: three digits, large ones to the unit. */
export function digits(value: number, count = 3): string {
  return Math.abs(value) >= 1000 ? grouped(value) : general(value, count);
}

/** Per cent as the reports write them: what is missing from 100 has two digits. */
export function percent(share: number): string {
  const value = 100 * share;
  if (Math.abs(value) < 10) return `${general(value, 3)} %`;
  return `${value >= 99 && value < 100 ? Math.min(value, 99.99).toFixed(2) : value.toFixed(1)} %`;
}

/** Below a nanosecond a wait is the rounding of the clock. */
export const milliseconds = (seconds: number) => `${Math.abs(seconds) < 1e-9 ? '0' : digits(1e3 * seconds)} ms`;
export const megabits = (rate: number) => `${digits(1e-6 * rate)} Mbit/s`;

/** A time with the unit that reads well. */
export function time(seconds: number): string {
  if (seconds >= 1) return `${short(seconds, 4)} s`;
  if (seconds >= 1e-3) return `${short(1e3 * seconds, 4)} ms`;
  return `${short(1e6 * seconds, 4)} us`;
}

/** Waiting, use and loss of a link. */
export function linkSentences(outcome: Outcome, index: number): string[] {
  const link = outcome.links[index];
  if (!link) return [];
  const sentences: string[] = [];
  const [p50, , p99] = link.delay_percentiles;
  if (p50 !== null && p99 !== null) {
    sentences.push(fill('waits', { p50: milliseconds(p50), p99: milliseconds(p99) }));
  }
  const utilization = percent(link.utilization);
  const worst = link.utilization_1s.length ? Math.min(...link.utilization_1s) : null;
  // of a run of few seconds the whole ones may be better than all of it
  sentences.push(
    worst === null || worst > link.utilization
      ? fill('transmits', { utilization })
      : fill('transmits_worst', { utilization, worst: percent(worst) }),
  );
  if (link.arrivals > 0) {
    const [loss, marks] = [link.drops / handled(link), link.marks / handled(link)];
    if (link.policed > 0) sentences.push(fill('policed', { policed: percent(link.policed / link.arrivals) }));
    const others = link.policed > 0 ? '_others' : '';
    const name = `dropped${others}${loss > 0 ? '' : '_none'}${marks > 0 ? '_marked' : ''}` as Name;
    sentences.push(fill(name, { dropped: percent(loss), marked: percent(marks) }));
  }
  if (link.losses > 0) sentences.push(fill('lost_wire', { lost: percent(link.losses / link.packets) }));
  return sentences;
}

/** Goodput of all flows, or, where some do not cross the link, of the classes that do. */
export function flowsSentence(outcome: Outcome, across?: { link: string; classes: number[] }): string {
  const { goodput: rates, class: klass } = outcome.flows;
  const some = across ? rates.filter((_, flow) => across.classes.includes(klass[flow] as number)) : rates;
  const part = some.length > 0 && some.length < rates.length;
  const all = part ? some : rates;
  const goodput = megabits(all.reduce((sum, rate) => sum + rate, 0));
  const name = `goodput_${all.length === 1 ? 'one' : 'many'}${part ? '_across' : ''}` as Name;
  return fill(name, { goodput, count: grouped(all.length), link: across?.link ?? '' });
}

/** The verdict of the equations. */
export function verdict(stability: Stability | null, refusal: string | null): string {
  if (refusal !== null) return fill('no_law', { why: refusal });
  if (!stability) return '';
  const at = stability.equilibria[0];
  if (!at) return fill('no_equilibrium', { why: (stability.reason ?? '').replace(/^no equilibrium: /, '') });
  if (at.unstable === null) return fill('no_verdict', {});
  const [root] = at.roots;
  if (at.unstable > 0) {
    if (!root || root[0] <= 0) return 'By its average law the queue is not stable.';
    const growth = time(1 / root[0]);
    return root[1] === 0
      ? fill('runs_away', { growth })
      : fill('swings', { growth, period: time((2 * Math.PI) / Math.abs(root[1])) });
  }
  const { gain, delay } = at.margins ?? { gain: null, delay: null };
  if (gain === null || delay === null) return fill('rests_plain', {});
  return fill('rests', { gain: `a gain ${short(gain)} times as high`, delay: time(delay) });
}
