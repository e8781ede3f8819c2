// The scenario's text, with what the keys mean and what is wrong. It lives in a shadow root: there its
// style sheets are objects, which a content security policy without inline styles allows.

import { autocompletion, type CompletionContext } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { toml } from '@codemirror/legacy-modes/mode/toml';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';
import type { Catalogue } from '../engine/answers';
import type { Diagnostic } from '../engine/wasm';

interface Props {
  text: string;
  diagnostics: Diagnostic[];
  catalogue: Catalogue | null;
  change(text: string): void;
}

/** What stands after a name: keys of scenarios, algorithms, their parameters. */
function meanings(catalogue: Catalogue): Map<string, { detail: string; info: string }> {
  const names = new Map<string, { detail: string; info: string }>();
  for (const group of [catalogue.congestion, catalogue.aqm, catalogue.scheduler, catalogue.loss]) {
    for (const algorithm of group) {
      names.set(algorithm.kind, { detail: algorithm.title, info: algorithm.summary });
      for (const spec of algorithm.parameters) {
        names.set(spec.name, { detail: `${algorithm.kind}: ${spec.allowed}`, info: spec.doc });
      }
    }
  }
  for (const key of catalogue.keys) names.set(key.name, { detail: `[${key.table}] ${key.allowed}`, info: key.doc });
  return names;
}

/** What is typed over a selection: left to itself the browser gives it the style of what was there, inline,
 * which the content security policy forbids. */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const plain = event.inputType === 'insertText' && event.data !== null && !view.composing;
  if (!plain || view.state.selection.ranges.every((range) => range.empty)) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data as string), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

const THEME = EditorView.theme({
  '&': { height: '22rem', fontSize: '13px', color: 'var(--ink)', backgroundColor: 'var(--paper)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-scroller': { overflow: 'auto', fontFamily: 'ui-monospace, Menlo, Consolas, monospace' },
  '.cm-gutters': { backgroundColor: 'var(--paper)', color: 'var(--quiet)', border: 'none' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    maxWidth: '32rem',
  },
  '.cm-meaning': { padding: '6px 10px' },
});
const COLORS = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--quiet)' },
  { tag: tags.string, color: 'var(--text-string)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--text-number)' },
]);

export function Editor({ text, diagnostics, catalogue, change }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  /** What was typed and has not come back as `text`: it may come after more was typed. */
  const typed = useRef<string[]>([]);
  const now = useRef({ change, names: new Map<string, { detail: string; info: string }>() });
  now.current.change = change;

  useEffect(() => {
    if (catalogue) now.current.names = meanings(catalogue);
  }, [catalogue]);

  useEffect(() => {
    const root = host.current;
    if (!root) return;
    const shadow = root.shadowRoot ?? root.attachShadow({ mode: 'open' });
    const complete = (context: CompletionContext) => {
      const word = context.matchBefore(/[\w-]+/);
      if (!word && !context.explicit) return null;
      const list = [...now.current.names].map(([label, { detail, info }]) => ({
        label,
        detail: detail.slice(0, 60),
        info,
      }));
      return { from: word?.from ?? context.pos, options: list };
    };
    const hover = hoverTooltip((editor, pos) => {
      const line = editor.state.doc.lineAt(pos);
      for (const word of line.text.matchAll(/[\w-]+/g)) {
        const [from, to] = [line.from + word.index, line.from + word.index + word[0].length];
        const known = now.current.names.get(word[0]);
        if (from > pos || to < pos || !known) continue;
        const create = () => {
          const dom = document.createElement('div');
          dom.className = 'cm-meaning';
          dom.textContent = `${known.info} (${known.detail})`;
          return { dom };
        };
        return { pos: from, end: to, create };
      }
      return null;
    });
    const editor = new EditorView({
      root: shadow,
      parent: shadow,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          StreamLanguage.define(toml),
          syntaxHighlighting(COLORS),
          autocompletion({ override: [complete] }),
          hover,
          lintGutter(),
          THEME,
          EditorView.domEventHandlers({ beforeinput: replaceSelected }),
          EditorView.contentAttributes.of({ 'aria-label': 'Scenario as text (TOML)', tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && update.transactions.some((transaction) => !transaction.annotation(FROM_OUTSIDE))) {
              const next = update.state.doc.toString();
              typed.current.push(next);
              now.current.change(next);
            }
          }),
        ],
      }),
    });
    view.current = editor;
    root.scrollIntoView({ block: 'nearest' });
    return () => editor.destroy();
    // the editor is made once; later texts come as changes below
  }, []);

  useEffect(() => {
    const editor = view.current;
    const own = typed.current.lastIndexOf(text);
    typed.current = typed.current.slice(own + 1);
    if (!editor || own >= 0 || editor.state.doc.toString() === text) return;
    typed.current = [];
    const changes = { from: 0, to: editor.state.doc.length, insert: text };
    editor.dispatch({ changes, annotations: FROM_OUTSIDE.of(true) });
  }, [text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const marks = diagnostics.map((diagnostic) => {
      const line = doc.line(Math.min(Math.max(diagnostic.line ?? 1, 1), doc.lines));
      const from = Math.min(line.from + Math.max((diagnostic.column ?? 1) - 1, 0), line.to);
      return { from, to: line.to, severity: 'error' as const, message: diagnostic.text };
    });
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [diagnostics, text]);

  return <div class="editor" ref={host} />;
}

import { Annotation } from '@codemirror/state';

const FROM_OUTSIDE = Annotation.define<boolean>();
