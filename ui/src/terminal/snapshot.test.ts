// @vitest-environment jsdom
import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes';
import { Terminal, type IBuffer, type IBufferCell, type ITerminalAddon } from '@xterm/headless';
import { describe, expect, it } from 'vitest';

/** A case that the Rust screen reads as well; tests/vectors/README.md says what the fields mean. */
interface Vector {
  name: string;
  differs?: string;
  rows: number;
  columns: number;
  scrollback: number;
  input: string;
  snapshot: string;
  text: string[];
  cursor: { row: number; column: number };
}

// Not from the file system: the module has no address there when it runs as in a browser.
const vectors = Object.values(import.meta.glob<Vector>('../../../tests/vectors/screen/*.json', { eager: true, import: 'default' })).map(
  (vector) => [vector.name, vector] as const,
);
const alike = vectors.filter(([, vector]) => vector.differs === undefined);
const differing = vectors.filter(([, vector]) => vector.differs !== undefined);

/** Output that may come next: pen, edge, margins, saved place, the other screen and the character sets have a say in it. */
const CONTINUATIONS = [
  'on 日\r\nnext\r\n',
  '\x1bMup\x1b[Ghome\x1b[K\x1b[20;20Hfar\x1b[X',
  '\x1b8saved',
  '\x1b[?1049lunder\r\n\r\n\r\n\r\n\r\n\r\n\r\nend',
  '\x1b[?1049hfull\x1b[?1049lback',
  '\x0eother set',
];

/** The modes that a snapshot may set and, last, the margins, in the form in which a terminal can be asked for them. */
const QUESTIONS = [
  ...[4, 20].map((mode) => `\x1b[${mode}$p`),
  ...[1, 6, 7, 25, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1049, 2004].map((mode) => `\x1b[?${mode}$p`),
  '\x1bP$qr\x1b\\',
].join('');

/** What xterm.js 6.0 knows of a cell's underline and link, and does not publish. */
interface UnpublishedCell {
  extended: { urlId: number };
  getUnderlineStyle(): number;
  getUnderlineColorMode(): number;
  getUnderlineColor(): number;
}
interface UnpublishedTerminal {
  _core: { _oscLinkService: { getLinkData(id: number): { uri: string } | undefined } };
}

function write(terminal: Terminal, text: string): Promise<void> {
  return new Promise((resolve) => terminal.write(text, resolve));
}

/** A terminal with characters as wide as on the page, after `texts`. */
async function terminalWith(vector: Vector, ...texts: string[]): Promise<Terminal> {
  const { rows, columns: cols, scrollback } = vector;
  const terminal = new Terminal({ allowProposedApi: true, rows, cols, scrollback, logLevel: 'off' });
  // It is made for a terminal with a display, and needs nothing of one.
  terminal.loadAddon(new UnicodeGraphemesAddon() as unknown as ITerminalAddon);
  for (const text of texts) await write(terminal, text);
  return terminal;
}

/** The character of a cell. A place that was passed over or erased is not told from a printed blank. */
function character(cell: IBufferCell): string {
  return cell.getChars() === '' && cell.getWidth() === 1 ? ' ' : cell.getChars();
}

function describeCell(cell: IBufferCell, link: (id: number) => string): string {
  // Nothing is drawn by the second half of a wide character.
  if (cell.getWidth() === 0) return '';
  const more = cell as unknown as UnpublishedCell;
  return [
    `${character(cell)} ${cell.getWidth()}`,
    cell.isFgDefault() ? '' : `fg ${cell.getFgColorMode()} ${cell.getFgColor()}`,
    cell.isBgDefault() ? '' : `bg ${cell.getBgColorMode()} ${cell.getBgColor()}`,
    cell.isBold() ? 'bold' : '',
    cell.isDim() ? 'dim' : '',
    cell.isItalic() ? 'italic' : '',
    cell.isUnderline() ? `underline ${more.getUnderlineStyle()} ${more.getUnderlineColorMode()} ${more.getUnderlineColor()}` : '',
    cell.isInverse() ? 'inverse' : '',
    cell.isInvisible() ? 'hidden' : '',
    cell.isStrikethrough() ? 'struck' : '',
    link(more.extended.urlId),
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** Scrollback, screen and cursor. */
function describeBuffer(terminal: Terminal, buffer: IBuffer): unknown {
  // Every terminal numbers its links in its own way; which cells share one must be the same.
  const links: number[] = [];
  const link = (id: number): string => {
    if (id === 0) return '';
    if (!links.includes(id)) links.push(id);
    return `link ${links.indexOf(id)} ${(terminal as unknown as UnpublishedTerminal)._core._oscLinkService.getLinkData(id)?.uri}`;
  };
  const rows = Array.from({ length: buffer.length }, (_row, row) => ({
    goesOn: buffer.getLine(row + 1)?.isWrapped === true,
    cells: Array.from({ length: terminal.cols }, (_cell, column) => {
      const cell = buffer.getLine(row)?.getCell(column);
      return cell === undefined ? 'no cell' : describeCell(cell, link);
    }),
  }));
  return { rows, cursor: { row: buffer.cursorY, column: buffer.cursorX } };
}

/** The whole state, as far as it can be seen or asked for. */
async function describeTerminal(terminal: Terminal): Promise<unknown> {
  const { active, normal, alternate } = terminal.buffer;
  let answers = '';
  const listener = terminal.onData((data) => (answers += data));
  await write(terminal, QUESTIONS);
  listener.dispose();
  return {
    active: active.type,
    normal: describeBuffer(terminal, normal),
    // What a program that ended left on the other screen is gone when the next one begins.
    alternate: active.type === 'alternate' ? describeBuffer(terminal, alternate) : null,
    modes: terminal.modes,
    answers,
  };
}

/** The lines of the screen in the form of a vector's `text`. */
function screenText(terminal: Terminal): string[] {
  const { active } = terminal.buffer;
  let text = '';
  for (let row = active.baseY; row < active.length; row += 1) {
    const next = active.getLine(row + 1);
    const goesOn = next?.isWrapped === true;
    for (let column = 0; column < terminal.cols; column += 1) {
      const cell = active.getLine(row)?.getCell(column);
      // A wide character that had no room at the end of the row begins the next one.
      const gap = goesOn && column === terminal.cols - 1 && cell?.getChars() === '' && next.getCell(0)?.getWidth() === 2;
      if (cell !== undefined && !gap) text += character(cell);
    }
    if (!goesOn) text = `${text.replace(/ +$/, '')}\n`;
  }
  const lines = text.replace(/\n+$/, '');
  return lines === '' ? [] : lines.split('\n');
}

describe('the snapshot of a headless screen, in xterm.js', () => {
  it('has vectors', () => {
    expect(alike.length).toBeGreaterThan(20);
  });

  it.each(alike)('makes the terminal that the output itself makes: %s', async (_name, vector) => {
    const [output, snapshot] = [await terminalWith(vector, vector.input), await terminalWith(vector, vector.snapshot)];
    expect(await describeTerminal(snapshot)).toEqual(await describeTerminal(output));
  });

  it.each(alike)('goes on as the output itself does: %s', async (_name, vector) => {
    for (const next of CONTINUATIONS) {
      const [output, snapshot] = [await terminalWith(vector, vector.input, next), await terminalWith(vector, vector.snapshot, next)];
      expect(await describeTerminal(snapshot), JSON.stringify(next)).toEqual(await describeTerminal(output));
    }
  });

  it.each(vectors)("has the screen's text and cursor: %s", async (_name, vector) => {
    const terminal = await terminalWith(vector, vector.snapshot);
    const { cursorY, cursorX } = terminal.buffer.active;
    expect(screenText(terminal)).toEqual(vector.text);
    // xterm.js counts the place past the edge as a column.
    expect({ row: cursorY, column: Math.min(cursorX, vector.columns - 1) }).toEqual(vector.cursor);
  });

  it.each(differing)('still differs from the output itself: %s', async (_name, vector) => {
    const [output, snapshot] = [await terminalWith(vector, vector.input), await terminalWith(vector, vector.snapshot)];
    expect(await describeTerminal(snapshot)).not.toEqual(await describeTerminal(output));
  });
});
