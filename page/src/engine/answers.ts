// The answers of the engines as crates/web writes them. Times in s, rates in bit/s, windows and
// queues in packets; null where a quantity has no value.

export type Maybe = number | null;

export interface Checked {
  name: string;
  duration: Maybe;
  seed: number;
  given: Tree;
  tree: Tree;
}

/** The same as it comes: trees are texts, which keep the order of keys. */
export type Raw = Omit<Checked, 'given' | 'tree'> & { given: string; tree: string };

export function checked(raw: Raw): Checked {
  return { ...raw, given: JSON.parse(raw.given), tree: JSON.parse(raw.tree) };
}

/** A scenario as a tree of its keys. */
export type Leaf = string | number | boolean;
export type Node = Leaf | Node[] | { [key: string]: Node };
export type Tree = { [key: string]: Node };

export interface LinkOutcome {
  name: string;
  utilization: number;
  utilization_1s: number[];
  arrivals: number;
  drops: number;
  overflows: number;
  marks: number;
  policed: number;
  losses: number;
  packets: number;
  queue_packets_mean: number;
  queue_packets_std: number;
  queue_packets_percentiles: [number, number, number];
  queue_packets_max: number;
  delay_mean: Maybe;
  delay_percentiles: [Maybe, Maybe, Maybe];
  delay_max: Maybe;
  delay_histogram: [number, number][];
}

/**
 * The packets that the shares of a queue's drops and marks are of: those that arrived while measured and passed the
 * policer or, where more left the queue, those that left. A queue that drops from its head may drop more than arrives.
 */
export function handled(link: LinkOutcome | undefined): number {
  return link ? Math.max(link.arrivals - link.policed, link.drops + link.packets, 1) : 1;
}

export interface ClassOutcome {
  name: string;
  flows: number;
  received: number;
  delay_mean: Maybe;
  delay_percentiles: [Maybe, Maybe, Maybe];
}

export interface Flows {
  class: number[];
  rtt: Maybe[];
  goodput: number[];
  retransmissions: number[];
  sent: number[];
  drops: number[];
  losses: number[];
  marks: number[];
  timeouts: number[];
  cwnd_mean: Maybe[];
  rtt_mean: Maybe[];
  completion: Maybe[];
}

export interface Outcome {
  window: [number, number];
  end: number;
  events: number;
  departures: number;
  notes: string[];
  links: LinkOutcome[];
  classes: ClassOutcome[];
  flows: Flows;
  traces: {
    interval: number;
    every: number;
    time: number[];
    links: {
      link: number;
      queue_packets: number[];
      average_packets: Maybe[];
      probability: Maybe[];
      drops: number[];
      marks: number[];
    }[];
    flows: { flow: number; cwnd: Maybe[]; srtt: Maybe[] }[];
  };
}

export interface Progress {
  now: number;
  end: Maybe;
  packets?: number;
  done: boolean;
}

export interface Margins {
  gain: Maybe;
  phase: Maybe;
  delay: Maybe;
  gain_crossover: Maybe;
}

export interface Equilibrium {
  state: number[];
  probability: number[];
  signals: number[];
  regimes: string[];
  unstable: Maybe;
  roots: [number, number][];
  margins: Margins | null;
  outside: string[];
  windows: number[];
  rtts: number[];
}

export interface Stability {
  notes: string[];
  states: string[];
  parameters: { name: string; value: number }[];
  component: number;
  equilibria: Equilibrium[];
  reason: string | null;
}

export interface Trajectory {
  states: string[];
  time: number[];
  state: Maybe[][];
  windows: Maybe[][];
  probability: Maybe[][];
}

export interface Limit {
  now: number;
  value: number;
  kind: 'oscillation' | 'real root' | 'boundary' | 'end' | 'none';
  reason: string | null;
  unstable: Maybe;
  after: Maybe;
  holds_to: Maybe;
  omega: Maybe;
  onset: { supercritical: boolean } | null;
}

export interface Field {
  window: [number, number];
  notes: string[];
  link: { queue_mean: number; queue_std: number; utilization: number; loss: number; marks: number };
  classes: { name: string; origin: number; window_mean: Maybe; flows: number }[];
  traces: { time: number[]; queue: Maybe[] };
  snapshots: { time: number; class: number; w_max: number; density: number[]; atom: number }[];
}

export interface Algorithm {
  kind: string;
  title: string;
  summary: string;
  citation: string;
  has_fluid: boolean;
  ecn: boolean;
  parameters: {
    name: string;
    unit: string;
    default: Leaf | null;
    allowed: string;
    doc: string;
    source: string;
  }[];
}

export interface Catalogue {
  version: string;
  congestion: Algorithm[];
  aqm: Algorithm[];
  scheduler: Algorithm[];
  loss: Algorithm[];
  keys: { table: string; name: string; allowed: string; default: Leaf | null; doc: string }[];
}
