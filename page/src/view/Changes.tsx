// What changes during the run: of the link and the class on the screen, when and to which value.

import type { Node, Tree } from '../engine/answers';
import type { Laboratory } from '../laboratory';
import { get, number, type Path, without } from '../scenario/edit';
import { short } from '../scenario/quantity';
import { head, write } from '../scenario/toml';
import { change, editable } from './Controls';
import { Slider } from './Slider';

/** Keys that have a slider: their unit, how much of SI it is, and a range. */
const MOVED: Record<string, { unit: string; scale: number; low: number; high: number; whole?: boolean }> = {
  rate: { unit: 'Mbit/s', scale: 1e6, low: 0.5, high: 2000 },
  delay: { unit: 'ms', scale: 1e-3, low: 0.1, high: 1000 },
  count: { unit: '', scale: 1, low: 1, high: 1000, whole: true },
  rtt: { unit: 'ms', scale: 1e-3, low: 1, high: 1000 },
};
const WHEN = ['at', 'over', 'every', 'until', 'link', 'flows'];

/** A value in a few words: `min_threshold 10 packets, max_threshold 30 packets`. */
function said(node: Node | undefined): string {
  if (Array.isArray(node)) return node.map(said).join(', ');
  if (node === null || typeof node !== 'object') return String(node);
  return Object.entries(node)
    .map(([key, entry]) => `${key.replaceAll('_', ' ')} ${said(entry)}`)
    .join(', ');
}

function listOf(tree: Tree | null): Tree[] {
  const all = tree?.change;
  return Array.isArray(all) ? (all as Tree[]) : [];
}

/** One change: its time, its values, and a way to take it out. */
function ChangeEntry({ lab, entry, index }: { lab: Laboratory; entry: Tree; index: number }) {
  const place = (key: string): Path => ['change', index, key];
  const drop = () => {
    const tree = editable(lab);
    if (!tree) return;
    const rest = listOf(tree).filter((_, k) => k !== index);
    const next = rest.length ? { ...tree, change: rest } : without(tree, ['change']);
    lab.setText(write(next, head(lab.text)));
  };
  const end = lab.checked?.duration ?? 60;
  const keys = Object.keys(entry).filter((key) => !WHEN.includes(key));
  const plain = (key: string) => key in MOVED && ['string', 'number'].includes(typeof entry[key]);
  const others = [...keys.filter((key) => !plain(key)), ...['over', 'every', 'until'].filter((key) => key in entry)];
  return (
    <div class="change">
      <Slider
        label={`Change ${index + 1} at`}
        unit="s"
        value={number(get(entry, ['at']), end / 2)}
        low={Math.min(0.1, end / 10)}
        high={end}
        change={(next) => change(lab, place('at'), `${short(next)} s`)}
      />
      {keys.filter(plain).map((key) => {
        const { unit, scale, low, high, whole } = MOVED[key] as (typeof MOVED)[string];
        return (
          <Slider
            key={key}
            label={`${key === 'count' ? 'flows' : key} from then on`}
            unit={unit}
            value={number(entry[key], low) / scale}
            low={low}
            high={high}
            whole={whole ?? false}
            change={(next) => change(lab, place(key), unit ? `${short(next)} ${unit}` : next)}
          />
        );
      })}
      {others.map((key) => (
        <p class="fact" key={key}>
          {key}: {said(entry[key])}
        </p>
      ))}
      <button type="button" onClick={drop} aria-label={`Remove change ${index + 1}`}>
        Remove
      </button>
    </div>
  );
}

export function Changes({ lab, link, klass }: { lab: Laboratory; link: number; klass: number }) {
  const full = lab.checked?.tree;
  const tree = editable(lab);
  const linkName = String(get(full, ['link', link, 'name']) ?? '');
  const className = String(get(full, ['flows', klass, 'name']) ?? '');
  const all = listOf(tree);
  const shown = all.flatMap((entry, index) =>
    entry.link === linkName || entry.flows === className ? [{ entry, index }] : [],
  );
  const add = (values: Tree) => {
    const at = `${short((lab.checked?.duration ?? 60) / 2)} s`;
    if (tree) lab.setText(write({ ...tree, change: [...all, { at, ...values }] }, head(lab.text)));
  };
  const rate = number(get(full, ['link', link, 'rate']), 1e6) / 1e6;
  const count = number(get(full, ['flows', klass, 'count']), 1);
  return (
    <>
      <h2>Changes during the run</h2>
      {shown.map((row) => (
        <ChangeEntry key={row.index} lab={lab} {...row} />
      ))}
      {all.length > shown.length && (
        <p class="fact">{all.length - shown.length} more, of links or flows that are not on screen.</p>
      )}
      <div class="adders">
        <button type="button" onClick={() => add({ link: linkName, rate: `${short(rate / 2)} Mbit/s` })}>
          Halve the rate
        </button>
        <button type="button" onClick={() => add({ flows: className, count: 2 * count })}>
          Double the flows
        </button>
      </div>
    </>
  );
}
