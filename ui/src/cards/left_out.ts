/**
 * The marker line by which Placard's agent says what it left out of an output, as its bridge writes it: a reset, a line of
 * its own, the bytes, and perhaps the file that holds more.
 */
const MARKER = /\x1b\[0m(?:\r\n)?\[(\d+) bytes? left out(?:; see [^\r\n]*)?\]\r\n/g;
/** No marker is longer: a longer file name is left out of it. */
const LONGEST = 700;

/** Adds up what the markers in a stream of chunks count, also of a marker that two chunks share. */
export class LeftOut {
  #bytes = 0;
  /** The end of what was heard, if a marker may have begun there. */
  #open = '';

  get bytes(): number {
    return this.#bytes;
  }

  hear(chunk: string): void {
    const text = this.#open + chunk;
    let after = 0;
    for (const match of text.matchAll(MARKER)) {
      this.#bytes += Number(match[1]);
      after = match.index + match[0].length;
    }
    const begun = text.lastIndexOf('\x1b');
    this.#open = begun >= after && text.length - begun <= LONGEST ? text.slice(begun) : '';
  }

  forget(): void {
    this.#bytes = 0;
    this.#open = '';
  }
}
