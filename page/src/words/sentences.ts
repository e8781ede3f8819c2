// The sentences about a run, from the templates of the Python package.

import TEMPLATES from '../../../python/ackclock/present/text/sentences.json';
import { handled, type Outcome, type Stability } from '../engine/answers';
import { short } from '../scenario/quantity';

type Name = keyof typeof TEMPLATES;

export function fill(name: Name, values: Record<string, string>): string {
  return TEMPLATES[name].replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '');
}

/** A number as tables and reports write it (`core/units.py`): so many digits, all of an integer or a large one. */
export function digits(value: number, count = 3): string {
  return Number.isInteger(value) || Math.abs(value) >= 10 ** count ? value.toFixed(0) : short(value, count);
}

/** A share in per cent; neither 0 % nor 100 % is said of what is not. */
export function percent(share: number): string {
  const value = 100 * share;
  const rest = 100 - value;
  if (Math.abs(value) < 1e-7 || Math.abs(rest) < 1e-4) return `${value.toFixed(0)} %`;
  if (Math.abs(value) < 0.95) return `${short(value, 2)} %`;
  return `${rest > 0 && rest < 0.05 ? Math.min(value, 99.99).toFixed(2) : value.toFixed(1)} %`;
}

/** A time with the unit that reads well; below a nanosecond it is the rounding of the clock. */
export function time(seconds: number, count = 3): string {
  const size = Math.abs(seconds);
  if (size < 1e-9) return '0 ms';
  const [scale, unit] = size >= 1 ? [1, 's'] : size >= 1e-4 ? [1e3, 'ms'] : [1e6, 'us'];
  return `${digits(scale * seconds, count)} ${unit}`;
}

export function rate(bits: number): string {
  const units: [number, string][] = [
    [1e9, 'Gbit/s'],
    [1e6, 'Mbit/s'],
    [1e3, 'kbit/s'],
  ];
  const [scale, unit] = units.find(([least]) => Math.abs(bits) >= 0.9995 * least) ?? [1, 'bit/s'];
  return `${digits(bits / scale)} ${unit}`;
}

/** Waiting, use and loss of a link. */
export function linkSentences(outcome: Outcome, index: number): string[] {
  const link = outcome.links[index];
  if (!link) return [];
  const sentences: string[] = [];
  const [p50, , p99] = link.delay_percentiles;
  if (p50 !== null && p99 !== null) {
    sentences.push(fill('waits', { p50: time(p50), p99: time(p99) }));
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
  const goodput = rate(all.reduce((sum, rate) => sum + rate, 0));
  const name = `goodput_${all.length === 1 ? 'one' : 'many'}${part ? '_across' : ''}` as Name;
  return fill(name, { goodput, count: digits(all.length), link: across?.link ?? '' });
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
    const growth = time(1 / root[0], 4);
    return root[1] === 0
      ? fill('runs_away', { growth })
      : fill('swings', { growth, period: time((2 * Math.PI) / Math.abs(root[1]), 4) });
  }
  const { gain, delay } = at.margins ?? { gain: null, delay: null };
  if (gain === null || delay === null) return fill('rests_plain', {});
  return fill('rests', { gain: `a gain ${short(gain)} times as high`, delay: time(delay, 4) });
}
