import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Shared } from './address';
import { csv, png, save, svg } from './downloads';
import type { Pool } from './engine/pool';
import { useLaboratory } from './laboratory';
import { LESSONS, type Lesson } from './lessons';
import { Answer, Headline } from './view/Answer';
import { Controls } from './view/Controls';
import { LessonList, LessonText } from './view/Lessons';
import { Stability } from './view/Stability';

type Theme = 'light' | 'dark';

function useTheme(): [Theme, () => void] {
  const wanted = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const [theme, setTheme] = useState<Theme>(wanted);
  document.documentElement.dataset.theme = theme;
  return [theme, () => setTheme(theme === 'dark' ? 'light' : 'dark')];
}

type Editor = typeof import('./view/Editor').Editor;

/** The editor is half of the page's script: it is loaded when it is wanted, and after the first answer in any case. */
function useEditor(wanted: boolean): Editor | null {
  const [editor, setEditor] = useState<Editor | null>(null);
  useEffect(() => {
    if (!wanted) return;
    import('./view/Editor').then(
      (all) => setEditor(() => all.Editor),
      () => undefined,
    );
  }, [wanted]);
  return editor;
}

/** Commands for the questions that need more runs than a tab should make. */
const COMMANDS = [
  ['Does it oscillate? Are the windows synchronised?', 'ackclock run scenario.toml --seeds 8 --report report.html'],
  ['Why does it wait so long?', 'ackclock why scenario.toml'],
  ['Which settings keep it stable?', 'ackclock tune scenario.toml --for rtt=20ms..80ms --target 20ms'],
  ['Do all engines agree?', 'ackclock compare scenario.toml'],
] as const;

function Commands({ text }: { text: string }) {
  return (
    <section class="commands" aria-label="On the command line">
      <h2>On the command line</h2>
      <p>These questions take many runs. Save the scenario, then run the command.</p>
      <dl>
        {COMMANDS.map(([question, command]) => (
          <div key={command}>
            <dt>{question}</dt>
            <dd>
              <code>{command}</code>
              <button
                type="button"
                onClick={() => navigator.clipboard?.writeText(command)}
                aria-label={`Copy: ${command}`}
              >
                Copy
              </button>
            </dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => save('scenario.toml', [text], 'application/toml')}>
        Save scenario.toml
      </button>
    </section>
  );
}

export function App({ pool, start }: { pool: Pool; start: Shared | null }) {
  const lab = useLaboratory(pool, start);
  const [theme, turn] = useTheme();
  const [page, setPage] = useState<'laboratory' | 'lessons'>(
    location.hash.startsWith('#lesson') ? 'lessons' : 'laboratory',
  );
  const [writing, setWriting] = useState(false);
  const [copied, setCopied] = useState(false);

  const open = (chosen: Lesson) => {
    lab.setLesson(chosen.key);
    lab.setKept(null);
    lab.setPlace({ link: 0, flows: 0 });
    lab.setText(chosen.scenario);
    setPage('laboratory');
    window.scrollTo(0, 0);
  };
  useEffect(() => {
    const named = /^#lesson=([\w-]+)/.exec(location.hash)?.[1];
    const match = LESSONS.find((lesson) => lesson.key === named);
    if (match) open(match);
  }, []);

  const lesson = LESSONS.find((candidate) => candidate.key === lab.lesson);
  const outcome = lab.packets.value;
  // figures are drawn anew when what they show changes, not with each report of a run's progress
  const Editor = useEditor(writing || outcome !== null);
  const figures = useMemo(
    () => (
      <Answer lab={lab}>
        <Stability lab={lab} pool={pool} />
      </Answer>
    ),
    [
      lab.packets.value,
      lab.packets.busy,
      lab.law,
      lab.course.value,
      lab.course.refusal,
      lab.field.value,
      lab.field.busy,
      lab.field.refusal,
      lab.kept,
      lab.axis,
      lab.place,
      lab.checked,
      lab.catalogue,
      lab.text,
      theme,
      pool,
    ],
  );
  const share = async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <>
      <header class="top">
        <span class="brand">ackclock</span>
        <nav aria-label="Pages">
          <button
            type="button"
            aria-current={page === 'laboratory' ? 'page' : undefined}
            onClick={() => setPage('laboratory')}
          >
            Laboratory
          </button>
          <button
            type="button"
            aria-current={page === 'lessons' ? 'page' : undefined}
            onClick={() => {
              lab.setLesson(null);
              setPage('lessons');
            }}
          >
            Lessons
          </button>
        </nav>
        <button type="button" class="plain" onClick={turn}>
          {theme === 'dark' ? 'Light' : 'Dark'}
        </button>
      </header>
      {page === 'lessons' ? (
        <LessonList open={open} />
      ) : (
        <main class="laboratory" id="main">
          <div class="answer">
            {lesson && (
              <LessonText
                lesson={lesson}
                lab={lab}
                leave={() => {
                  lab.setLesson(null);
                  setPage('lessons');
                }}
              />
            )}
            <Headline lab={lab} />
          </div>
          <aside>
            <Controls lab={lab} />
            <section class="actions" aria-label="Actions">
              <button type="button" onClick={lab.kept ? () => lab.setKept(null) : lab.keep} disabled={!outcome}>
                {lab.kept ? 'Forget A' : 'Keep as A'}
              </button>
              <button type="button" onClick={share}>
                {copied ? 'Copied' : 'Copy link'}
              </button>
              <button type="button" onClick={() => setWriting(!writing)} aria-expanded={writing}>
                Scenario as text
              </button>
              <button type="button" onClick={() => save('scenario.toml', [lab.text], 'application/toml')}>
                TOML
              </button>
              <button
                type="button"
                disabled={!outcome}
                onClick={() => outcome && save('traces.csv', [csv(outcome)], 'text/csv')}
              >
                CSV
              </button>
              <button
                type="button"
                disabled={!outcome}
                onClick={() => outcome && save('queue.svg', [svg(outcome, lab.place.link)], 'image/svg+xml')}
              >
                SVG
              </button>
              <button type="button" disabled={!outcome} onClick={png}>
                PNG
              </button>
            </section>
          </aside>
          <div class="results">
            {writing && Editor && (
              <Editor text={lab.text} diagnostics={lab.diagnostics} catalogue={lab.catalogue} change={lab.setText} />
            )}
            {figures}
            <Commands text={lab.text} />
          </div>
        </main>
      )}
    </>
  );
}
