// The chart about the operating point, and how far the round trip may grow.

import { useEffect, useState } from 'preact/hooks';
import type { Limit } from '../engine/answers';
import { isStopped, type Pool } from '../engine/pool';
import { type Axis, chart, spaced, WORK } from '../jobs';
import type { Laboratory } from '../laboratory';
import { get, kindOf, listed, number, set } from '../scenario/edit';
import { short } from '../scenario/quantity';
import { head, write } from '../scenario/toml';
import { time } from '../words/sentences';
import { Chart, type ChartData } from './Chart';
import { editable } from './Controls';

interface Choice {
  key: string;
  label: string;
  name: string;
  scale: number;
  now: number;
  low: number;
  high: number;
  put(value: number): { path: (string | number)[]; value: string | number };
}

/** What can stand on the second axis. */
function choices(lab: Laboratory, link: number, klass: number): Choice[] {
  const tree = lab.checked?.tree;
  const linkName = listed(tree, 'link')[link]?.name;
  const className = listed(tree, 'flows')[klass]?.name;
  const packet = 8 * number(get(tree, ['flows', klass, 'packet_size']), 1500);
  const aqm = kindOf(get(tree, ['link', link, 'queue', 'aqm']), '');
  const parameters = lab.catalogue?.aqm.find((entry) => entry.kind === aqm)?.parameters ?? [];
  const list: Choice[] = [
    {
      key: 'count',
      label: `number of flows ${className}`,
      name: `${className}.count`,
      scale: 1,
      now: number(get(tree, ['flows', klass, 'count']), 1),
      low: 1,
      high: 10_000,
      put: (value) => ({ path: ['flows', klass, 'count'], value: Math.max(1, Math.round(value)) }),
    },
    {
      key: 'rate',
      label: `rate of ${linkName} (Mbit/s)`,
      name: `${linkName}.rate`,
      scale: 1e6 / packet,
      now: number(get(tree, ['link', link, 'rate']), 1e6) / 1e6,
      low: 0,
      high: 1e5,
      put: (value) => ({ path: ['link', link, 'rate'], value: `${short(value)} Mbit/s` }),
    },
  ];
  for (const spec of parameters) {
    const now = number(get(tree, ['link', link, 'queue', spec.name]), Number.NaN);
    if (!(now > 0) || !['', 'packets', 's'].includes(spec.unit)) continue;
    const scale = spec.unit === 's' ? 1e-3 : 1;
    const unit = spec.unit === 's' ? 'ms' : spec.unit;
    list.push({
      key: spec.name,
      label: `${spec.name.replaceAll('_', ' ')}${unit ? ` (${unit})` : ''}`,
      name: `${linkName}.${spec.name}`,
      scale,
      now: now / scale,
      low: 0,
      high: spec.unit === '' && now <= 1 ? 1 : 1e9,
      put: (value) => ({
        path: ['link', link, 'queue', spec.name],
        value: unit ? `${short(value)} ${unit}` : Number(short(value)),
      }),
    });
  }
  return list;
}

const COLUMNS = 40;
const ROWS = 30;

function limitSentence(limit: Limit | null): string {
  if (!limit) return '';
  const [now, value] = [time(limit.now, 4), time(limit.value, 4)];
  if (limit.unstable !== null && limit.unstable > 0) return '';
  switch (limit.kind) {
    case 'oscillation':
      return `At a base RTT of ${value} (now ${now}) the equations begin to oscillate, with a period of ${time((2 * Math.PI) / (limit.omega ?? 1), 4)}.`;
    case 'none':
      return `Up to a base RTT of ${value} the equations stay stable.`;
    default:
      return `Followed up to a base RTT of ${value}${limit.reason ? `: ${limit.reason}` : ''}.`;
  }
}

export function Stability({ lab, pool }: { lab: Laboratory; pool: Pool }) {
  const [data, setData] = useState<ChartData | null>(null);
  const [limit, setLimit] = useState<Limit | null>(null);
  const [elsewhere, setElsewhere] = useState(false);
  const [why, setWhy] = useState('');
  /** The scenario that the chart is of. */
  const [shown, setShown] = useState('');
  const { checked, place, text, law, axis: key, setAxis: setKey } = lab;
  const link = Math.min(place.link, Math.max(listed(checked?.tree, 'link').length - 1, 0));
  const klass = Math.min(place.flows, Math.max(listed(checked?.tree, 'flows').length - 1, 0));
  const all = choices(lab, link, klass);
  const choice = all.find((option) => option.key === key) ?? all[0];
  const known = law.value !== null && !law.busy && checked !== null;

  useEffect(() => {
    // what was said of the scenario before does not hold for this one
    setLimit(null);
    setWhy('');
    if (!known || !choice || !checked) return;
    const control = new AbortController();
    const rtt = number(get(checked.tree, ['flows', klass, 'rtt']), 0.05);
    const className = listed(checked.tree, 'flows')[klass]?.name;
    const axes: [Axis, Axis] = [
      {
        name: `${className}.rtt`,
        label: `base RTT of ${className} (ms)`,
        scale: 1e-3,
        now: 1e3 * rtt,
        values: spaced(Math.min(1, 100 * rtt), Math.max(1000, 4e3 * rtt), COLUMNS),
      },
      {
        name: choice.name,
        label: choice.label,
        scale: choice.scale,
        now: choice.now,
        values: spaced(Math.max(choice.now / 20, choice.low), Math.min(choice.now * 20, choice.high), ROWS),
      },
    ];
    const work = async () => {
      try {
        const { counts, elsewhere } = await chart(pool, text, axes, control.signal);
        if (control.signal.aborted) return;
        const [first, second] = [axes[0].values, axes[1].values];
        const none = counts.every((count) => count < 0);
        setWhy(none ? 'There is no equilibrium anywhere on the chart, or more than one link is crossed.' : '');
        setData(
          none
            ? null
            : { first, second, counts, now: [axes[0].now, axes[1].now], labels: [axes[0].label, axes[1].label] },
        );
        setElsewhere(elsewhere);
        setShown(text);
        const question = { ask: 'limit', text, work: WORK, free: axes[0].name, to: Math.max(2, 10 * rtt), steps: 100 };
        const limit = await pool.ask<Limit>(question, { signal: control.signal }).catch(() => null);
        if (!control.signal.aborted) setLimit(limit);
      } catch (error) {
        if (isStopped(error) || control.signal.aborted) return;
        setData(null);
        setWhy(error instanceof Error ? error.message : String(error));
      }
    };
    const timer = setTimeout(work, 120);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [pool, text, known, key, link, klass]);

  if (law.refusal) return null;
  const choose = (first: number, second: number) => {
    const tree = editable(lab);
    if (!tree || !choice) return;
    const put = choice.put(second);
    lab.setText(write(set(set(tree, ['flows', klass, 'rtt'], `${short(first)} ms`), put.path, put.value), head(text)));
  };
  return (
    <figure class={`figure ${data && shown !== text ? 'stale' : ''}`}>
      <h3>Where the queue is stable</h3>
      <label class="control inline">
        <span class="name">against</span>
        <select value={choice?.key ?? ''} onChange={(event) => setKey(event.currentTarget.value)}>
          {all.map((candidate) => (
            <option key={candidate.key} value={candidate.key}>
              {candidate.label}
            </option>
          ))}
        </select>
      </label>
      {data ? <Chart data={data} choose={choose} /> : <p class="quiet">{why || 'The chart is on its way.'}</p>}
      <figcaption>
        <span class="key stable" /> stable <span class="key unstable" /> oscillates <span class="key unknown" /> not
        reached. Click to move there. {limitSentence(limit)}
        {data &&
          elsewhere &&
          'At the point itself no equilibrium was found; the colours are of one from elsewhere on the chart.'}
      </figcaption>
    </figure>
  );
}
