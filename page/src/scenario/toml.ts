// A tree of keys as TOML: what controls have changed, in the form that people write.

import type { Node, Tree } from '../engine/answers';

const BARE = /^[A-Za-z0-9_-]+$/;

function value(node: Node): string {
  if (typeof node === 'string') return JSON.stringify(node);
  if (typeof node === 'number') {
    const text = String(node);
    return /[.e]/.test(text) ? text.replace('e+', 'e') : text;
  }
  if (typeof node === 'boolean') return String(node);
  if (Array.isArray(node)) return `[${node.map(value).join(', ')}]`;
  const entries = Object.entries(node).map(([key, entry]) => `${name(key)} = ${value(entry)}`);
  return entries.length ? `{ ${entries.join(', ')} }` : '{}';
}

function name(key: string): string {
  return BARE.test(key) ? key : JSON.stringify(key);
}

function isTables(node: Node): node is Tree[] {
  const table = (entry: Node) => typeof entry === 'object' && !Array.isArray(entry);
  return Array.isArray(node) && node.length > 0 && node.every(table);
}

/** The tree as a scenario file; `head` is what stands above it as a comment. */
export function write(tree: Tree, head = ''): string {
  const parts: string[] = [];
  for (const [key, node] of Object.entries(tree)) {
    if (Array.isArray(node) && node.length === 0) continue; // no table of the kind
    const tables: [string, Tree][] = isTables(node)
      ? node.map((table) => [`[[${name(key)}]]`, table])
      : [[`[${name(key)}]`, node as Tree]];
    for (const [title, table] of tables) {
      const lines = Object.entries(table).map(([inner, entry]) => `${name(inner)} = ${value(entry)}`);
      parts.push([title, ...lines].join('\n'));
    }
  }
  return `${[head, ...parts].filter(Boolean).join('\n\n')}\n`;
}

/** The comment at the top of a scenario file. */
export function head(text: string): string {
  return /^(?:#.*\n)+/.exec(text)?.[0].trimEnd() ?? '';
}
