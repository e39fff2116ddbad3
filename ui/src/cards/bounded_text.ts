/** How much of one card's output is kept, in UTF-16 units: the first half as it came, then the newest half. */
export const KEPT = 1024 * 1024;
const HEAD = KEPT / 2;
const TAIL = KEPT / 2;

/** One thing that happened to a text: `reset` means what was there before no longer counts. */
export interface TextChange {
  reset: boolean;
  chunk: string;
}

/** A size in the words of the cut marker. */
export function sizeWords(units: number): string {
  if (units < 1000) return `${units} B`;
  if (units < 1_000_000) return `${(units / 1000).toFixed(units < 10_000 ? 1 : 0)} kB`;
  return `${(units / 1_000_000).toFixed(1)} MB`;
}

/**
 * The output of one command, bounded: head and tail are kept, what lies between is counted and said where it was cut.
 * Chunks are joined only when the text is asked for, so that appending costs the chunk and not the whole.
 */
export class BoundedText {
  #head: string[] = [];
  #headLength = 0;
  #tail: string[] = [];
  #tailLength = 0;
  #omitted = 0;
  #listeners = new Set<(change: TextChange) => void>();

  constructor(
    private readonly headLimit = HEAD,
    private readonly tailLimit = TAIL,
  ) {}

  /** Units that were dropped between head and tail. */
  get omitted(): number {
    return this.#omitted;
  }

  /** Units kept. */
  get length(): number {
    return this.#headLength + this.#tailLength;
  }

  append(chunk: string): void {
    if (chunk === '') return;
    this.#keep(chunk);
    for (const listener of this.#listeners) listener({ reset: false, chunk });
  }

  /** Puts `text` in place of what was there. A text that merely grew is appended, so that nothing flickers. */
  replace(text: string): void {
    const before = this.#omitted === 0 ? this.text() : null;
    if (before === text) return;
    if (before !== null && text.startsWith(before)) {
      this.append(text.slice(before.length));
      return;
    }
    this.#head = [];
    this.#tail = [];
    this.#headLength = this.#tailLength = this.#omitted = 0;
    this.#keep(text);
    for (const listener of this.#listeners) listener({ reset: true, chunk: this.text() });
  }

  /** The whole text as kept, with a marker line at the cut. */
  text(): string {
    if (this.#head.length > 1) this.#head = [this.#head.join('')];
    if (this.#tail.length > 1) this.#tail = [this.#tail.join('')];
    const head = this.#head[0] ?? '';
    const tail = this.#tail[0] ?? '';
    if (this.#omitted === 0) return head + tail;
    // The reset keeps a colour of the head from running on into the tail.
    return `${head}\x1b[0m\r\n… ${sizeWords(this.#omitted)} left out here …\r\n${tail}`;
  }

  /** The last `units` of the text. */
  end(units: number): string {
    const kept: string[] = [];
    let length = 0;
    for (const part of [this.#tail, this.#head]) {
      for (let index = part.length - 1; index >= 0 && length < units; index -= 1) {
        const chunk = part[index] ?? '';
        kept.unshift(chunk);
        length += chunk.length;
      }
    }
    return kept.join('').slice(-units);
  }

  listen(listener: (change: TextChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #keep(text: string): void {
    let rest = text;
    const room = this.headLimit - this.#headLength;
    if (room > 0 && this.#tailLength === 0 && this.#omitted === 0) {
      const part = rest.slice(0, splitPoint(rest, room));
      this.#head.push(part);
      this.#headLength += part.length;
      rest = rest.slice(part.length);
    }
    if (rest === '') return;
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    // Trimmed at twice the limit at the latest, so that the cost stays linear in what was appended.
    if (this.#tailLength > this.tailLimit * 2 || this.#tail.length > 4096) this.#trim();
  }

  #trim(): void {
    const whole = this.#tail.join('');
    let from = Math.max(0, whole.length - this.tailLimit);
    if (from > 0) {
      // Whole lines where there are any: a cut inside an escape sequence would show its rest as text.
      const lineEnd = whole.indexOf('\n', from);
      if (lineEnd >= 0 && lineEnd + 1 < whole.length) from = lineEnd + 1;
      else from = splitPoint(whole, from);
    }
    this.#omitted += from;
    this.#tail = [whole.slice(from)];
    this.#tailLength = whole.length - from;
  }
}

/** The place at or before `at` that does not split a surrogate pair. */
function splitPoint(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xd800 && unit <= 0xdbff && at > 0 ? at - 1 : at;
}
