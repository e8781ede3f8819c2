// The engines, compiled to WebAssembly: a question in JSON, an answer in JSON.

interface Exports {
  memory: WebAssembly.Memory;
  ackclock_request(length: number): number;
  ackclock_answer(): number;
  ackclock_length(): number;
  ackclock_panic(): number;
}

/** Where and what is wrong in a scenario. Lines and columns count from 1. */
export interface Diagnostic {
  line: number | null;
  column: number | null;
  key: string;
  problem: string;
  found: string | null;
  suggestion: string | null;
  allowed: string | null;
  text: string;
}

/** A question that has no answer; `kind` is for programs, the message for people. */
export class Refusal extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly diagnostics: Diagnostic[] = [],
  ) {
    super(message);
  }
}

export type Question = { ask: string } & Record<string, unknown>;

export class Engine {
  private readonly calls: Exports;
  private broken = '';

  private constructor(instance: WebAssembly.Instance) {
    this.calls = instance.exports as unknown as Exports;
  }

  static async start(module: WebAssembly.Module): Promise<Engine> {
    return new Engine(await WebAssembly.instantiate(module, {}));
  }

  /** The answer as text, with every digit: `{"ok": ...}` or `{"error": ...}`. */
  text(question: string): string {
    if (this.broken) throw new Refusal('broken', this.broken);
    const bytes = new TextEncoder().encode(question);
    try {
      const place = this.calls.ackclock_request(bytes.length);
      new Uint8Array(this.calls.memory.buffer, place, bytes.length).set(bytes);
      return this.read(this.calls.ackclock_answer());
    } catch (error) {
      // after a trap the memory is as it was then: this engine cannot go on
      this.broken = this.why(error);
      throw new Refusal('broken', this.broken);
    }
  }

  ask<T>(question: Question): T {
    const answer = JSON.parse(this.text(JSON.stringify(question)));
    if ('ok' in answer) return answer.ok as T;
    const { kind, message, diagnostics } = answer.error;
    throw new Refusal(kind, message, diagnostics);
  }

  private read(place: number): string {
    const bytes = new Uint8Array(this.calls.memory.buffer, place, this.calls.ackclock_length());
    return new TextDecoder().decode(bytes);
  }

  private why(error: unknown): string {
    const said = this.read(this.calls.ackclock_panic());
    if (said) return `the engine failed, which is a bug of ackclock: ${said}`;
    return `the engine stopped (${error}); it may have run out of the tab's memory`;
  }
}
