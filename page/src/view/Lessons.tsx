// Lessons: a text, a scenario of its own, a task, and a check that it was done.

import { useMemo } from 'preact/hooks';
import type { Laboratory } from '../laboratory';
import { facts, judge, LESSONS, type Lesson } from '../lessons';

export function LessonList({ open }: { open(lesson: Lesson): void }) {
  return (
    <main class="lessons" id="main">
      <h1>Lessons</h1>
      <p class="lead">Each takes about five minutes and has a live scenario, a task, and a check that it was done.</p>
      <ol class="lessonlist">
        {LESSONS.map((lesson) => (
          <li key={lesson.key}>
            <button type="button" onClick={() => open(lesson)}>
              <strong>{lesson.title}</strong>
              <span>{lesson.summary}</span>
            </button>
          </li>
        ))}
      </ol>
    </main>
  );
}

export function LessonText({ lesson, lab, leave }: { lesson: Lesson; lab: Laboratory; leave(): void }) {
  const ready = lab.shown === lab.text && !lab.law.busy;
  const conditions = useMemo(
    () => (ready ? judge(lesson, facts(lab)) : []),
    [ready, lesson, lab.packets.value, lab.law.value],
  );
  const waits = lab.packets.busy || (lab.packets.refusal === null && lab.diagnostics.length === 0);
  const done = conditions.length > 0 && conditions.every((condition) => condition.met);
  return (
    <section class="lesson" aria-label="Lesson">
      <button type="button" class="plain" onClick={leave}>
        ← all lessons
      </button>
      {/* made from our own Markdown when the page was built */}
      <div class="prose" dangerouslySetInnerHTML={{ __html: lesson.html }} />
      <div class={`task ${done ? 'done' : ''}`} role="status">
        <strong>
          {done ? 'Done.' : ready ? 'Not yet.' : waits ? 'Being checked.' : 'Not checked: the scenario did not run.'}
        </strong>
        <ul>
          {conditions.map((condition) => (
            <li key={condition.text} class={condition.met ? 'met' : ''}>
              {condition.met ? '✓' : '○'} {condition.text}
              {condition.now && <span class="quiet"> (now {condition.now})</span>}
            </li>
          ))}
        </ul>
        <button type="button" onClick={() => lab.setText(lesson.scenario)}>
          Begin again
        </button>
      </div>
      <details>
        <summary>For teachers</summary>
        <div class="prose" dangerouslySetInnerHTML={{ __html: lesson.teachers }} />
      </details>
    </section>
  );
}
