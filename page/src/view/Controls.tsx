// What can be moved: the link on the screen, its queue, the class on the screen.

import type { Algorithm, Node, Tree } from '../engine/answers';
import type { Laboratory } from '../laboratory';
import { get, kindOf, listed, number, type Path, set } from '../scenario/edit';
import { GALLERY } from '../scenario/gallery';
import { short } from '../scenario/quantity';
import { head, write } from '../scenario/toml';
import { Changes } from './Changes';
import { Slider } from './Slider';

/** The tree that controls change: as given where it has links of its own, else with all defaults. */
export function editable(lab: Laboratory): Tree | null {
  const { checked } = lab;
  if (!checked) return null;
  const own = ['link', 'flows'].every((key) => Array.isArray(checked.given[key]));
  return own ? checked.given : checked.tree;
}

export function change(lab: Laboratory, path: Path, value: Node): void {
  const tree = editable(lab);
  if (tree) lab.setText(write(set(tree, path, value), head(lab.text)));
}

/** Takes the first of several values with which the scenario holds; the first, with its mistakes, where none does. */
export async function first(lab: Laboratory, path: Path, values: Node[]): Promise<void> {
  const tree = editable(lab);
  if (!tree) return;
  const texts = values.map((value) => write(set(tree, path, value), head(lab.text)));
  for (const text of texts) {
    if (await lab.holds(text)) {
      lab.setText(text);
      return;
    }
  }
  lab.setText(texts[0] as string);
}

function keptOf(lab: Laboratory, at: number, keys: string[]): Tree {
  const kept: Tree = {};
  for (const key of keys) {
    const old = get(editable(lab) ?? {}, ['link', at, 'queue', key]);
    if (old !== undefined) kept[key] = old;
  }
  return kept;
}

interface Choice {
  label: string;
  path: Path;
  value: string;
  options: { kind: string; title: string }[];
}

function Select({ label, value, options, choose }: Omit<Choice, 'path'> & { choose(kind: string): void }) {
  return (
    <label class="control">
      <span class="name">{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((choice) => (
          <option key={choice.kind} value={choice.kind}>
            {choice.title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Check({ label, value, choose }: { label: string; value: boolean; choose(next: boolean): void }) {
  return (
    <label class="control check">
      <input type="checkbox" checked={value} onChange={(event) => choose(event.currentTarget.checked)} />
      <span class="name">{label}</span>
    </label>
  );
}

const PARAMETERS = 6;

/** Parameters of an AQM with a number: sliders about their present value. */
function Parameters({ lab, algorithm, path }: { lab: Laboratory; algorithm: Algorithm | undefined; path: Path }) {
  const full = lab.checked?.tree;
  const shown = (algorithm?.parameters ?? []).flatMap((spec) => {
    const now = get(full, [...path, spec.name]);
    const value = number(now, Number.NaN);
    if (!(value > 0) || typeof now === 'boolean') return [];
    const factor = { s: 1e-3, 'bit/s': 1e6 }[spec.unit] ?? 1;
    const unit = { s: 'ms', 'bit/s': 'Mbit/s' }[spec.unit] ?? spec.unit;
    return [{ spec, value: value / factor, unit }];
  });
  return (
    <>
      {shown.slice(0, PARAMETERS).map(({ spec, value, unit }) => {
        const share = spec.unit === '' && value <= 1;
        const write = (next: number) => (unit ? `${short(next)} ${unit}` : Number(short(next)));
        return (
          <Slider
            key={spec.name}
            label={spec.name.replaceAll('_', ' ')}
            unit={unit}
            value={value}
            low={10 ** Math.floor(Math.log10(value) - 1)}
            high={share ? 1 : 10 ** Math.ceil(Math.log10(value) + 1)}
            hint={spec.doc}
            change={(next) => change(lab, [...path, spec.name], write(next))}
          />
        );
      })}
    </>
  );
}

function Queue({ lab, at, tree }: { lab: Laboratory; at: number; tree: Tree }) {
  const { catalogue } = lab;
  const full = get(tree, ['link', at]);
  const aqm = kindOf(get(full, ['queue', 'aqm']), 'drop-tail');
  const scheduler = kindOf(get(full, ['queue', 'scheduler']), 'none');
  const rate = number(get(full, ['rate']), 1e6) / 1e6;
  const room = String(get(full, ['queue', 'capacity']) ?? '');
  const packets = /packets?|segments?/.test(room);
  const algorithm = catalogue?.aqm.find((entry) => entry.kind === aqm);
  /** Another AQM starts from its own defaults. */
  const choose = (kind: string) => {
    const kept = keptOf(lab, at, ['capacity', 'scheduler', 'ecn']);
    const queue: Tree = { aqm: kind, ...kept };
    for (const spec of catalogue?.aqm.find((entry) => entry.kind === kind)?.parameters ?? []) {
      if (spec.default === null) queue[spec.name] = REQUIRED[spec.name] ?? `20 ${spec.unit}`.trim();
    }
    const { capacity } = kept;
    const alone: Tree = { ...queue, ...(capacity === undefined ? {} : { capacity }) };
    for (const key of ['scheduler', 'ecn']) delete alone[key];
    first(lab, ['link', at, 'queue'], [queue, alone, capacity === undefined ? { aqm: kind } : { aqm: kind, capacity }]);
  };
  /** A scheduler takes the queue as it is, or brings an AQM of its own. */
  const schedule = (kind: string) => {
    const whole = { ...(get(editable(lab) ?? {}, ['link', at, 'queue']) as Tree), scheduler: kind };
    const { capacity, ecn } = keptOf(lab, at, ['capacity', 'ecn']);
    const bare: Tree = capacity === undefined ? { scheduler: kind } : { scheduler: kind, capacity };
    first(lab, ['link', at, 'queue'], [whole, ecn === undefined ? bare : { ...bare, ecn }, bare]);
  };
  return (
    <>
      <Slider
        label="Rate"
        unit="Mbit/s"
        value={rate}
        low={0.5}
        high={2000}
        change={(next) => change(lab, ['link', at, 'rate'], `${short(next)} Mbit/s`)}
      />
      {packets && (
        <Slider
          label="Buffer"
          unit="packets"
          value={number(room, 100)}
          low={5}
          high={5000}
          whole
          change={(next) => change(lab, ['link', at, 'queue', 'capacity'], `${next} packets`)}
        />
      )}
      <Select label="AQM" value={aqm} options={catalogue?.aqm ?? []} choose={choose} />
      <Select
        label="Scheduler"
        value={scheduler}
        options={[{ kind: 'none', title: 'One queue' }, ...(catalogue?.scheduler ?? [])]}
        choose={schedule}
      />
      {algorithm?.ecn && (
        <Check
          label="Mark packets (ECN)"
          value={get(full, ['queue', 'ecn']) === true}
          choose={(on) => change(lab, ['link', at, 'queue', 'ecn'], on)}
        />
      )}
      <Parameters lab={lab} algorithm={algorithm} path={['link', at, 'queue']} />
    </>
  );
}

/** Values for parameters that have no default: where a slider can begin. */
const REQUIRED: Record<string, Node> = {
  min_threshold: '20 packets',
  max_threshold: '80 packets',
  max_probability: 0.1,
  threshold: '20 packets',
};

function Flows({ lab, at, tree }: { lab: Laboratory; at: number; tree: Tree }) {
  const full = get(tree, ['flows', at]);
  const ecn = get(full, ['ecn']);
  const kind = kindOf(get(full, ['congestion']), '');
  const written = get(full, ['rtt']);
  const plain = typeof written === 'string' && /^[\d.]+\s*\w+$/.test(written);
  return (
    <>
      <Slider
        label="Flows"
        unit=""
        value={number(get(full, ['count']), 1)}
        low={1}
        high={1000}
        whole
        change={(next) => change(lab, ['flows', at, 'count'], next)}
      />
      {plain ? (
        <Slider
          label="Base RTT"
          unit="ms"
          value={1e3 * number(written, 0.1)}
          low={1}
          high={1000}
          change={(next) => change(lab, ['flows', at, 'rtt'], `${short(next)} ms`)}
        />
      ) : (
        written !== undefined && <p class="fact">Base RTT: {String(written)}</p>
      )}
      {kind && (
        <Select
          label="Congestion control"
          value={kind}
          options={lab.catalogue?.congestion ?? []}
          choose={(next) => change(lab, ['flows', at, 'congestion'], next)}
        />
      )}
      {kind && (
        <Check
          label="ECN"
          value={ecn !== undefined && ecn !== false}
          choose={(on) => change(lab, ['flows', at, 'ecn'], on)}
        />
      )}
    </>
  );
}

export function Controls({ lab }: { lab: Laboratory }) {
  const { checked, place } = lab;
  const tree = checked?.tree;
  const links = listed(tree, 'link');
  const flows = listed(tree, 'flows');
  const link = Math.min(place.link, Math.max(links.length - 1, 0));
  const klass = Math.min(place.flows, Math.max(flows.length - 1, 0));
  const known = GALLERY.find((example) => example.text === lab.text);
  const names = (list: { name: string; index: number }[]) =>
    list.map((option) => ({ kind: String(option.index), title: option.name }));
  return (
    <section class="controls" aria-label="Controls">
      <label class="control">
        <span class="name">Scenario</span>
        <select
          value={known?.file ?? ''}
          onChange={(event) => {
            const entry = GALLERY.find((example) => example.file === event.currentTarget.value);
            if (!entry) return;
            lab.setPlace({ link: 0, flows: 0 });
            lab.setText(entry.text);
          }}
        >
          <option value="">{known ? 'Your own' : (checked?.name ?? 'Your own')}</option>
          {GALLERY.map((example) => (
            <option key={example.file} value={example.file}>
              {example.name}
            </option>
          ))}
        </select>
      </label>
      {tree && (
        <>
          <h2>Link</h2>
          <Select
            label="On screen"
            value={String(link)}
            options={names(links)}
            choose={(kind) => lab.setPlace({ ...place, link: Number(kind) })}
          />
          <Queue lab={lab} at={link} tree={tree} />
          <h2>Flows</h2>
          <Select
            label="On screen"
            value={String(klass)}
            options={names(flows)}
            choose={(kind) => lab.setPlace({ ...place, flows: Number(kind) })}
          />
          <Flows lab={lab} at={klass} tree={tree} />
          <Changes lab={lab} link={link} klass={klass} />
          <h2>Run</h2>
          <Slider
            label="Duration"
            unit="s"
            value={checked?.duration ?? 60}
            low={1}
            high={1000}
            change={(next) => {
              const base = editable(lab);
              if (!base) return;
              const longer = set(base, ['scenario', 'duration'], `${short(next)} s`);
              const from =
                number(get(base, ['scenario', 'measure']), 0) < next / 2
                  ? number(get(base, ['scenario', 'measure']), 0)
                  : next / 3;
              lab.setText(
                write(set(longer, ['scenario', 'measure'], `${short(from)} s .. ${short(next)} s`), head(lab.text)),
              );
            }}
          />
          <Slider
            label="Seed"
            unit=""
            value={checked?.seed ?? 1}
            low={1}
            high={100}
            whole
            change={(next) => change(lab, ['scenario', 'seed'], next)}
          />
        </>
      )}
    </section>
  );
}
