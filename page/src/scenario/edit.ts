// What the controls read and change in a scenario's tree.

import type { Leaf, Node, Tree } from '../engine/answers';
import { parse } from './quantity';

/** A place in a tree: keys and indices. */
export type Path = (string | number)[];

export function get(tree: Node | undefined, path: Path): Node | undefined {
  let here: Node | undefined = tree;
  for (const step of path) {
    if (here === null || typeof here !== 'object') return undefined;
    here = (here as Record<string | number, Node>)[step];
  }
  return here;
}

/** A copy with another value at a place. */
export function set(tree: Tree, path: Path, value: Node): Tree {
  const copy = structuredClone(tree);
  let here = copy as Record<string | number, Node>;
  for (const step of path.slice(0, -1)) {
    if (typeof here[step] !== 'object' || here[step] === null) here[step] = {};
    here = here[step] as Record<string | number, Node>;
  }
  here[path[path.length - 1] as string] = value;
  return copy;
}

export function without(tree: Tree, path: Path): Tree {
  const copy = structuredClone(tree);
  const owner = get(copy, path.slice(0, -1));
  if (owner && typeof owner === 'object') {
    delete (owner as Record<string | number, Node>)[path[path.length - 1] as string];
  }
  return copy;
}

/** The kind of an algorithm that stands as a word or as a table with `kind`. */
export function kindOf(node: Node | undefined, otherwise: string): string {
  if (typeof node === 'string') return node;
  const kind = get(node, ['kind']);
  return typeof kind === 'string' ? kind : otherwise;
}

export interface Named {
  name: string;
  index: number;
}

/** The links or classes of the full tree; those of a template have no place in the given one. */
export function listed(tree: Tree | undefined, key: 'link' | 'flows'): Named[] {
  const list = tree?.[key];
  if (!Array.isArray(list)) return [];
  return list.map((table, index) => ({ name: String(get(table, ['name']) ?? index), index }));
}

export function number(node: Node | undefined, otherwise: number): number {
  return parse(node as Leaf)?.value ?? otherwise;
}
