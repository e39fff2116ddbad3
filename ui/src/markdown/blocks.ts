import { marked, type Links } from 'marked';

/** A top-level block of markdown, and those definitions of the whole text (`[1]: https://…`) that it may refer to. */
export interface Block {
  readonly raw: string;
  readonly definitions: Links;
}

interface FinishedBlock {
  block: Block;
  labels: readonly string[];
}

/** What stands in brackets, as the parser compares labels. */
function labelsOf(raw: string): string[] {
  const bracketed = raw.matchAll(/\[((?:\\.|[^[\]\\])+)\]/g);
  return [...new Set([...bracketed].map(([, label = '']) => label.trim().replace(/\s+/g, ' ').toLowerCase()))];
}

function chosen(labels: readonly string[], from: Links): Links {
  return Object.fromEntries(labels.flatMap((label) => (Object.hasOwn(from, label) ? [[label, from[label]]] : []))) as Links;
}

function sameDefinitions(a: Links, b: Links): boolean {
  const labels = Object.keys(a);
  return (
    labels.length === Object.keys(b).length &&
    labels.every((label) => a[label]?.href === b[label]?.href && a[label]?.title === b[label]?.title)
  );
}

/**
 * Splits growing markdown into its top-level blocks. Blocks before the last are final: only the last is read again when
 * text is added, so the cost of streaming is that of the last block, and what is drawn above it stays untouched. A
 * definition that comes later makes only those blocks new that refer to it.
 */
export class BlockSplitter {
  #text = '';
  #finished: FinishedBlock[] = [];
  /** Of the finished blocks. The first definition of a label counts. */
  #definitions: Links = {};
  #from = 0;

  blocks(text: string): Block[] {
    if (!text.startsWith(this.#text)) {
      this.#finished = [];
      this.#definitions = {};
      this.#from = 0;
    }
    this.#text = text;
    const open = marked.lexer(text.slice(this.#from));
    // Blank lines belong to what stands before them; they are drawn by spacing.
    let last = open.length - 1;
    while (last > 0 && open[last]?.raw.trim() === '') last -= 1;
    for (const token of open.slice(0, Math.max(0, last))) {
      this.#from += token.raw.length;
      // Definitions within a quotation or a list count as well.
      if (token.type !== 'space') this.#definitions = { ...marked.lexer(token.raw).links, ...this.#definitions };
      if (token.type !== 'space' && token.type !== 'def') {
        this.#finished.push({ block: { raw: token.raw, definitions: {} }, labels: labelsOf(token.raw) });
      }
    }

    const definitions: Links = { ...open.links, ...this.#definitions };
    for (const finished of this.#finished) {
      const current = chosen(finished.labels, definitions);
      if (!sameDefinitions(current, finished.block.definitions)) {
        finished.block = { raw: finished.block.raw, definitions: current };
      }
    }
    const blocks = this.#finished.map(({ block }) => block);
    const tail = open[last];
    if (tail === undefined || tail.type === 'space' || tail.type === 'def' || tail.raw.trim() === '') return blocks;
    return [...blocks, { raw: tail.raw, definitions: chosen(labelsOf(tail.raw), definitions) }];
  }
}
