import { marked } from 'marked';

/**
 * Splits growing markdown into its top-level blocks. Blocks before the last are final: only the last is read again when
 * text is added, so the cost of streaming is that of the last block, and what is drawn above it stays untouched.
 */
export class BlockSplitter {
  #text = '';
  #finished: string[] = [];
  #from = 0;

  blocks(text: string): string[] {
    if (!text.startsWith(this.#text)) {
      this.#finished = [];
      this.#from = 0;
    }
    this.#text = text;
    const open = marked
      .lexer(text.slice(this.#from))
      .map((token) => token.raw);
    // Blank lines belong to what stands before them; they are drawn by spacing.
    let last = open.length - 1;
    while (last > 0 && open[last]?.trim() === '') last -= 1;
    for (let index = 0; index < last; index += 1) {
      const raw = open[index] ?? '';
      this.#from += raw.length;
      if (raw.trim() !== '') this.#finished.push(raw);
    }
    const tail = open[last] ?? '';
    return tail.trim() === '' ? [...this.#finished] : [...this.#finished, tail];
  }
}
