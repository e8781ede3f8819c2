// What the engines say: the sentences, then the figures, then the numbers.

import type { ComponentChildren } from 'preact';
import { type Field, handled, type Outcome, type Trajectory } from '../engine/answers';
import { type Laboratory, LONGEST, type Pending } from '../laboratory';
import { get } from '../scenario/edit';
import { digits, flowsSentence, linkSentences, percent, rate, time, verdict } from '../words/sentences';
import { type Line, Plot } from './Plot';
import { resample } from './resample';

const COLORS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];

/** Names between backticks stand as code. */
export function withCode(text: string): ComponentChildren {
  return text.split('`').map((part, k) => (k % 2 ? <code key={part}>{part}</code> : part));
}

function Figure({ title, note, children }: { title: string; note?: string | undefined; children: ComponentChildren }) {
  return (
    <figure class="figure">
      <h3>{title}</h3>
      {children}
      {note && <figcaption>{note}</figcaption>}
    </figure>
  );
}

export function Busy({ of, name }: { of: Pending<unknown>; name: string }) {
  if (!of.busy) return null;
  const { progress } = of;
  const share = progress?.end ? progress.now / progress.end : undefined;
  return (
    <span class="busy">
      {name}
      <progress aria-label={name} {...(share === undefined ? {} : { value: share })} max={1} />
    </span>
  );
}

/** The classes whose packets cross a link, where the scenario at hand is the one that was run. */
function across(lab: Laboratory, outcome: Outcome, link: number): { link: string; classes: number[] } | undefined {
  const name = outcome.links[link]?.name;
  const listed = lab.checked?.tree.flows;
  if (name === undefined || !Array.isArray(listed) || listed.length !== outcome.classes.length) return undefined;
  const classes = listed.flatMap((entry, k) => {
    const path = get(entry, ['path']);
    return Array.isArray(path) && path.includes(name) ? [k] : [];
  });
  return { link: name, classes };
}

export function Headline({ lab }: { lab: Laboratory }) {
  const { packets, law, place, checked, diagnostics } = lab;
  const outcome = packets.value;
  const link = Math.min(place.link, (outcome?.links.length ?? 1) - 1);
  const window = outcome?.window;
  const warm =
    window && window[0] > 0
      ? ` Measured from ${digits(window[0])} s to ${digits(window[1])} s: the warm-up is left out.`
      : '';
  return (
    <section class="headline" aria-live="polite" aria-busy={packets.busy}>
      <h1>{checked?.name ?? 'Laboratory'}</h1>
      {diagnostics.length > 0 && (
        <div class="mistakes" role="alert">
          <strong>The scenario has a mistake; the last answer stays below.</strong>
          <ul>
            {diagnostics.slice(0, 5).map((diagnostic) => (
              <li key={diagnostic.text}>{withCode(diagnostic.text)}</li>
            ))}
          </ul>
        </div>
      )}
      {outcome ? (
        <p class="lead">
          {linkSentences(outcome, link).join(' ')} {flowsSentence(outcome, across(lab, outcome, link))}
        </p>
      ) : (
        <p class="lead quiet">{withCode(packets.refusal ?? 'The packets are on their way.')}</p>
      )}
      <p class="second">
        {withCode(verdict(law.value, law.refusal))}
        <span class="quiet">{warm}</span>
      </p>
      {(packets.busy || lab.field.busy) && (
        <p class="busyline">
          <Busy of={packets} name="packets" />
          <Busy of={lab.field} name="mean field" />
          <button type="button" onClick={lab.cancel}>
            Stop
          </button>
        </p>
      )}
    </section>
  );
}

function queueLines(lab: Laboratory, outcome: Outcome, link: number): Line[] {
  const { time, links } = outcome.traces;
  const name = outcome.links[link]?.name;
  const lines: Line[] = [{ label: 'packets', values: links[link]?.queue_packets ?? [], color: '--c1', width: 1.2 }];
  const course: Trajectory | null = lab.course.value;
  const state = course?.states.findIndex((key) => key.startsWith(`${name}.queue`)) ?? -1;
  if (course && state >= 0) {
    const values = course.state.map((row) => row[state] ?? null);
    lines.push({ label: 'equations', values: resample(course.time, values, time), color: '--c2', width: 2 });
  }
  const { kept } = lab;
  const a = kept?.outcome.traces.links[link];
  if (kept && a) {
    const values = resample(kept.outcome.traces.time, a.queue_packets, time);
    lines.push({ label: 'A', values, color: '--c3', dashed: true });
  }
  return lines;
}

/** Windows that are drawn of each where A's are beside them: more cannot be told apart. */
const WINDOWS_EACH = 3;

function windowLines(outcome: Outcome, klass: number, kept: Laboratory['kept']): Line[] {
  const of = (result: Outcome) => result.traces.flows.filter((trace) => result.flows.class[trace.flow] === klass);
  const now = kept ? of(outcome).slice(0, WINDOWS_EACH) : of(outcome);
  const lines = now.map((trace, k) => ({
    label: `flow ${trace.flow + 1}`,
    values: trace.cwnd,
    color: COLORS[k % COLORS.length] as string,
    width: 1.2,
  }));
  if (!kept) return lines;
  const { time } = kept.outcome.traces;
  const before = of(kept.outcome).slice(0, WINDOWS_EACH);
  const dashed = before.map((trace, k) => ({
    label: `A: flow ${trace.flow + 1}`,
    values: resample(time, trace.cwnd, outcome.traces.time),
    color: COLORS[k % COLORS.length] as string,
    dashed: true,
    width: 1.2,
  }));
  return [...lines, ...dashed];
}

/** Share of the packets that wait longer, over the wait. */
function waiting(outcome: Outcome, link: number): { x: number[]; y: number[] } | null {
  const bins = outcome.links[link]?.delay_histogram ?? [];
  const all = bins.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return null;
  let below = 0;
  const x = [0];
  const y = [100];
  for (const [edge, count] of bins) {
    below += count;
    x.push(1e3 * edge);
    y.push((100 * (all - below)) / all);
  }
  return { x, y };
}

function density(
  outcome: Outcome,
  klass: number,
  field: Field | null,
): { x: number[]; lines: Line[]; flows: number } | null {
  const { traces, window, flows } = outcome;
  const traced = traces.flows.filter((trace) => flows.class[trace.flow] === klass);
  const values = traced
    .flatMap((trace) => trace.cwnd.filter((_, k) => (traces.time[k] as number) >= window[0]))
    .filter((packets): packets is number => packets !== null && packets > 0);
  if (values.length < 20) return null;
  const top = Math.max(4, [...values].sort((a, b) => a - b)[Math.floor(0.995 * values.length)] as number);
  const bins = Math.min(50, Math.max(8, Math.round(top)));
  const width = top / bins;
  const counts = new Array<number>(bins).fill(0);
  for (const packets of values) {
    const bin = Math.floor(packets / width);
    if (bin < bins) counts[bin] = (counts[bin] as number) + 1;
  }
  const x = counts.map((_, k) => (k + 0.5) * width);
  const lines: Line[] = [
    { label: 'packets', values: counts.map((n) => n / (values.length * width)), color: '--c1', bars: true },
  ];
  const part = field?.classes.findIndex((entry) => entry.origin === klass) ?? -1;
  const shots =
    field?.snapshots.filter((snapshot) => snapshot.class === part && snapshot.time >= field.window[0]) ?? [];
  if (shots.length > 0) {
    const mean = (at: number) => {
      let sum = 0;
      for (const { density: bins, w_max } of shots) {
        // between the middles of two bins
        const place = Math.max((at / w_max) * bins.length - 0.5, 0);
        const low = Math.floor(place);
        const [a, b] = [bins[low] ?? 0, bins[low + 1] ?? 0];
        sum += a + (b - a) * (place - low);
      }
      return sum / shots.length;
    };
    lines.push({ label: 'mean field', values: x.map(mean), color: '--c2', width: 2 });
  }
  return { x, lines, flows: traced.length };
}

/** Flows of one class that are listed. */
const SHARES = 10;

interface Share {
  name: string;
  flows: number;
  goodput: number;
}

/** Goodput of each class, or of the first flows where there is one class. */
function shares(outcome: Outcome, each: boolean): Share[] {
  const { goodput, class: klass } = outcome.flows;
  if (each) return goodput.slice(0, SHARES).map((rate, k) => ({ name: `flow ${k + 1}`, flows: 1, goodput: rate }));
  const sum = (k: number) => goodput.reduce((all, rate, flow) => all + (klass[flow] === k ? rate : 0), 0);
  return outcome.classes.map((entry, k) => ({ name: entry.name, flows: entry.flows, goodput: sum(k) }));
}

function Shares({ outcome, kept }: { outcome: Outcome; kept: Laboratory['kept'] }) {
  const each = outcome.classes.length === 1 && outcome.flows.goodput.length > 1;
  const rows = shares(outcome, each);
  const before = kept ? shares(kept.outcome, each) : [];
  const most = Math.max(...[...rows, ...before].map((row) => row.goodput), 1);
  const bar = (value: number, label: string) => <meter min={0} max={most} value={value} aria-label={label} />;
  return (
    <table class="shares" aria-label="Goodput of the flows">
      {kept && (
        <thead>
          <tr>
            <th scope="col">flows</th>
            <th scope="col">now, A below</th>
            <th scope="col">now</th>
            <th scope="col">A</th>
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((row) => {
          const other = before.find((a) => a.name === row.name);
          return (
            <tr key={row.name}>
              <th scope="row">
                {row.name}
                {row.flows > 1 ? ` × ${row.flows}` : ''}
              </th>
              <td>
                {bar(row.goodput, `goodput of ${row.name}`)}
                {other && <div class="before">{bar(other.goodput, `goodput of ${row.name} in A`)}</div>}
              </td>
              <td class="number">{rate(row.goodput)}</td>
              {kept && <td class="number">{other ? rate(other.goodput) : '–'}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The least, median and most of flows that the table of shares leaves out. */
function leftOut(outcome: Outcome): string | undefined {
  const all = [...outcome.flows.goodput].sort((a, b) => a - b);
  if (outcome.classes.length > 1 || all.length <= SHARES) return undefined;
  const at = (share: number) => rate(all[Math.round(share * (all.length - 1))] as number);
  return `${SHARES} of ${all.length} flows. All of them: least ${at(0)}, median ${at(0.5)}, most ${at(1)}.`;
}

type Unit = 'share' | 'packets' | 'time' | 'rate' | 'count';

/** Rows of the table: what, in which unit, and its value in a run. */
const NUMBERS: [string, Unit, (outcome: Outcome, link: number) => number][] = [
  ['utilisation', 'share', (o, l) => o.links[l]?.utilization ?? 0],
  ['queue, mean (packets)', 'packets', (o, l) => o.links[l]?.queue_packets_mean ?? 0],
  ['queue, standard deviation (packets)', 'packets', (o, l) => o.links[l]?.queue_packets_std ?? 0],
  ['wait, median', 'time', (o, l) => o.links[l]?.delay_percentiles[0] ?? 0],
  ['wait, 99th percentile', 'time', (o, l) => o.links[l]?.delay_percentiles[2] ?? 0],
  ['dropped', 'share', (o, l) => (o.links[l]?.drops ?? 0) / handled(o.links[l])],
  ['marked', 'share', (o, l) => (o.links[l]?.marks ?? 0) / handled(o.links[l])],
  ['goodput, all flows', 'rate', (o) => o.flows.goodput.reduce((sum, rate) => sum + rate, 0)],
  ['timeouts', 'count', (o) => o.flows.timeouts.reduce((sum, count) => sum + count, 0)],
];

const WRITE: Record<Unit, (value: number) => string> = {
  share: percent,
  packets: digits,
  time,
  rate,
  count: digits,
};

/** What B has more than A, with its sign; of shares in points. */
function difference(unit: Unit, a: number, b: number): string {
  const more = b - a;
  if (more === 0) return '0';
  const size = Math.abs(more);
  const text = unit === 'share' ? `${digits(100 * size)} points` : WRITE[unit](size);
  return `${more > 0 ? '+' : '−'}${text}`;
}

function Numbers({ outcome, link, kept }: { outcome: Outcome; link: number; kept: Laboratory['kept'] }) {
  const other = Math.min(link, (kept?.outcome.links.length ?? 1) - 1);
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label="Numbers">
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">measure</th>
            {kept && <th scope="col">A: {kept.name}</th>}
            <th scope="col">{kept ? 'B: now' : 'value'}</th>
            {kept && <th scope="col">B − A</th>}
          </tr>
        </thead>
        <tbody>
          {NUMBERS.map(([name, unit, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {kept && <td class="number">{WRITE[unit](value(kept.outcome, other))}</td>}
              <td class="number">{WRITE[unit](value(outcome, link))}</td>
              {kept && <td class="number">{difference(unit, value(kept.outcome, other), value(outcome, link))}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Shares of the packets that wait longer, A's beside them. */
function waitLines(outcome: Outcome, link: number, kept: Laboratory['kept']): { x: number[]; lines: Line[] } | null {
  const here = waiting(outcome, link);
  if (!here) return null;
  const other = kept && waiting(kept.outcome, Math.min(link, kept.outcome.links.length - 1));
  const line = (label: string, color: string, values: (number | null)[]): Line => ({ label, values, color, width: 2 });
  if (!other) return { x: here.x, lines: [line('packets that wait longer', '--c1', here.y)] };
  const x = [...new Set([...here.x, ...other.x])].sort((a, b) => a - b);
  const lines = [
    line('now', '--c1', resample(here.x, here.y, x)),
    { ...line('A', '--c3', resample(other.x, other.y, x)), dashed: true },
  ];
  return { x, lines };
}

export function Answer({ lab, children }: { lab: Laboratory; children: ComponentChildren }) {
  const outcome = lab.packets.value;
  if (!outcome) return <section class="figures">{children}</section>;
  const link = Math.min(lab.place.link, outcome.links.length - 1);
  const klass = Math.min(lab.place.flows, outcome.classes.length - 1);
  const windows = windowLines(outcome, klass, lab.kept);
  const waits = waitLines(outcome, link, lab.kept);
  const spread = density(outcome, klass, lab.field.value);
  const time = outcome.traces.time;
  const name = outcome.classes[klass]?.name ?? '';
  const course = lab.course.value;
  const followed = course?.time[course.time.length - 1] ?? 0;
  const short = course && followed < 0.99 * Math.min(outcome.end, lab.checked?.duration ?? LONGEST);
  const missing = [
    short ? `The equations are followed for the first ${digits(followed)} s: longer takes too long here.` : '',
    windows.length === 0 ? `${name} has no congestion window.` : '',
    lab.course.refusal ? `No trajectory of the equations: ${lab.course.refusal}.` : '',
    lab.field.refusal ? `No mean field: ${lab.field.refusal}.` : '',
  ]
    .filter(Boolean)
    .map((note) => note.replace(/\d+\.\d{5,}/g, (number) => String(Number(Number(number).toPrecision(4)))));
  return (
    <section class={`figures ${lab.packets.busy ? 'stale' : ''}`} aria-label="Figures">
      <Figure
        title={`Queue of ${outcome.links[link]?.name}`}
        note="Shaded: not measured, and cut off where it is much higher. Drag to zoom, double-click to return."
      >
        <Plot
          title="Queue"
          x={time}
          lines={queueLines(lab, outcome, link)}
          xLabel="time (s)"
          yLabel="queue (packets)"
          group="time"
          window={outcome.window}
        />
      </Figure>
      {windows.length > 0 && (
        <Figure
          title={`Congestion windows of ${name}`}
          note={`${windows.filter((line) => !line.dashed).length} of ${outcome.classes[klass]?.flows} flows${lab.kept ? '; dashed: as many of A' : ''}.`}
        >
          <Plot
            title="Windows"
            x={time}
            lines={windows}
            xLabel="time (s)"
            yLabel="window (packets)"
            group="time"
            window={outcome.window}
          />
        </Figure>
      )}
      {waits && (
        <Figure title="Queueing delay">
          <Plot title="Delay" x={waits.x} lines={waits.lines} xLabel="wait (ms)" yLabel="longer than that (%)" />
        </Figure>
      )}
      <Figure title="Goodput" note={leftOut(outcome)}>
        <Shares outcome={outcome} kept={lab.kept} />
      </Figure>
      {children}
      {spread && (
        <Figure
          title={`Distribution of the windows of ${name}`}
          note={`Bars: ${spread.flows} of ${outcome.classes[klass]?.flows} flows.${lab.field.busy ? ' The mean field is on its way.' : ''}`}
        >
          <Plot
            title="Distribution of windows"
            x={spread.x}
            lines={spread.lines}
            xLabel="window (packets)"
            yLabel="density (1/packet)"
          />
        </Figure>
      )}
      <Figure title="Numbers">
        <Numbers outcome={outcome} link={link} kept={lab.kept} />
      </Figure>
      {(missing.length > 0 || outcome.notes.length > 0 || (lab.law.value?.notes.length ?? 0) > 0) && (
        <ul class="notes">
          {[...missing, ...outcome.notes, ...(lab.law.value?.notes ?? [])].map((note) => (
            <li key={note}>{withCode(note)}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
