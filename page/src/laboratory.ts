// The state of the page: a scenario, and what the engines say of it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { decode, encode, type Shared } from './address';
import type { Catalogue, Checked, Field, Outcome, Progress, Stability, Trajectory } from './engine/answers';
import { isStopped, type Pool } from './engine/pool';
import { type Diagnostic, Refusal } from './engine/wasm';
import * as jobs from './jobs';
import { FIRST } from './scenario/gallery';

/** An answer on its way: the last one stays on the screen until the next is there. */
export interface Pending<T> {
  value: T | null;
  /** Why there is none. */
  refusal: string | null;
  busy: boolean;
  progress: Progress | null;
}

const NONE = { value: null, refusal: null, busy: false, progress: null };

export interface StoredRun {
  text: string;
  name: string;
  outcome: Outcome;
}

/** Packets rest until controls have, ms. */
const REST = 180;
/** The equations leave the processors to a visitor's first run for so long, ms. */
const HEAD_START = 1000;
/** Equations run so long where the packets end when all is done, s. */
export const LONGEST = 60;
/** Time limit of the mean field, ms. */
const FIELD_LIMIT_MS = 20_000;

const said = (error: unknown) => (error instanceof Error ? error.message : String(error));

export function useLaboratory(pool: Pool, start: Shared | null) {
  const [text, setText] = useState(start?.t ?? FIRST);
  const [place, setPlace] = useState({ link: start?.l ?? 0, flows: start?.c ?? 0 });
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  const [diagnostics, setDiagnostics] = useState<Diagnostic[]>([]);
  const [packets, setPackets] = useState<Pending<Outcome>>(NONE);
  const [law, setLaw] = useState<Pending<Stability>>(NONE);
  const [course, setCourse] = useState<Pending<Trajectory>>(NONE);
  const [field, setField] = useState<Pending<Field>>(NONE);
  const [kept, setKept] = useState<StoredRun | null>(null);
  /** Key of the lesson above the answer, and of the chart's second axis. */
  const [lesson, setLesson] = useState(start?.n ?? null);
  const [axis, setAxis] = useState(start?.x ?? 'count');
  /** The scenario that the packets on the screen are of. */
  const [shown, setShown] = useState('');
  const stop = useRef<AbortController | null>(null);
  const keptText = useRef(start?.a ?? null);
  const first = useRef(true);

  useEffect(() => {
    pool.ask<Catalogue>({ ask: 'catalogue' }).then(setCatalogue, () => undefined);
  }, [pool]);

  useEffect(() => {
    stop.current?.abort();
    const control = new AbortController();
    stop.current = control;
    const { signal } = control;
    let timer = 0;
    const take = <T>(set: (next: (old: Pending<T>) => Pending<T>) => void) => ({
      begin: () => set((old) => ({ ...old, busy: true, progress: null })),
      progress: (progress: Progress) => !signal.aborted && set((old) => ({ ...old, progress })),
      done: (value: T) => !signal.aborted && set(() => ({ ...NONE, value })),
      failed: (error: unknown) => !signal.aborted && set(() => ({ ...NONE, refusal: said(error) })),
    });
    const [onPackets, onLaw, onCourse, onField] = [take(setPackets), take(setLaw), take(setCourse), take(setField)];

    const all = async () => {
      const answer = await jobs.check(pool, text);
      if (signal.aborted) return;
      setChecked(answer);
      setDiagnostics([]);
      onLaw.begin();
      onCourse.begin();
      onPackets.begin();
      onField.begin();
      const runPackets = async () => {
        try {
          const outcome = await jobs.runPackets(pool, text, signal, onPackets.progress);
          onPackets.done(outcome);
          if (!signal.aborted) setShown(text);
        } catch (error) {
          onPackets.failed(error);
        }
      };
      // a visitor's first answer does not wait for controls to rest, and the equations wait for it
      const early = first.current ? runPackets() : null;
      first.current = false;
      if (early) await Promise.race([early, new Promise((done) => setTimeout(done, HEAD_START))]);
      if (signal.aborted) return;
      // not stopped when the next one begins: they are shorter than a new worker takes
      const average = Promise.allSettled([
        jobs.stability(pool, text).then(onLaw.done, onLaw.failed),
        jobs.trajectory(pool, text, answer.duration ?? LONGEST).then(onCourse.done, onCourse.failed),
      ]);
      const rest = async () => {
        await (early ?? runPackets());
        await average;
        if (signal.aborted) return;
        const limited = new AbortController();
        const late = setTimeout(() => limited.abort(), FIELD_LIMIT_MS);
        signal.addEventListener('abort', () => limited.abort());
        await jobs.meanField(pool, answer, limited.signal, onField.progress).then(onField.done, (error) => {
          onField.failed(isStopped(error) ? new Error(`it takes longer than ${FIELD_LIMIT_MS / 1000} s here`) : error);
        });
        clearTimeout(late);
      };
      timer = window.setTimeout(rest, REST);
    };
    all().catch((error) => {
      if (signal.aborted) return;
      setDiagnostics(error instanceof Refusal ? error.diagnostics : []);
      // what ran for the text before was stopped, and its answer stays
      const rest = <T>(old: Pending<T>) => ({ ...old, busy: false, progress: null });
      setPackets(rest);
      setLaw(rest);
      setCourse(rest);
      setField(rest);
      if (!(error instanceof Refusal) || error.diagnostics.length === 0) {
        setPackets({ ...NONE, refusal: said(error) });
      }
    });
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [pool, text]);

  // A of an address is run anew
  useEffect(() => {
    const other = keptText.current;
    if (!other) return;
    keptText.current = null;
    const run = async () => {
      const answer = await jobs.check(pool, other);
      const outcome = await jobs.runPackets(pool, other, new AbortController().signal, () => undefined);
      setKept({ text: other, name: answer.name, outcome });
    };
    run().catch(() => undefined);
  }, [pool]);

  useEffect(() => {
    const state: Shared = { t: text, l: place.link, c: place.flows };
    if (kept) state.a = kept.text;
    if (lesson) state.n = lesson;
    if (axis !== 'count') state.x = axis;
    let current = true;
    const timer = setTimeout(async () => {
      const hash = await encode(state);
      if (current) history.replaceState(null, '', `#s=${hash}`);
    }, 250);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text, place, kept, lesson, axis]);

  const cancel = () => {
    stop.current?.abort();
    const halt = <T>(old: Pending<T>) => (old.busy ? { ...NONE, refusal: 'stopped' } : old);
    setPackets(halt);
    setField(halt);
    setLaw(halt);
    setCourse(halt);
  };
  const holds = (other: string) =>
    pool.ask({ ask: 'check', text: other }).then(
      () => true,
      () => false,
    );
  const keep = () => {
    if (packets.value && checked) setKept({ text: shown, name: checked.name, outcome: packets.value });
  };
  return {
    text,
    setText,
    place,
    setPlace,
    catalogue,
    checked,
    diagnostics,
    packets,
    law,
    course,
    field,
    kept,
    setKept,
    lesson,
    setLesson,
    axis,
    setAxis,
    keep,
    holds,
    cancel,
    shown,
  };
}

export type Laboratory = ReturnType<typeof useLaboratory>;

export async function fromAddress(): Promise<Shared | null> {
  const match = /#s=([\w-]+)/.exec(location.hash);
  return match ? decode(match[1] as string) : null;
}
