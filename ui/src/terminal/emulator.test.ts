// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { isWebAddress, showOnlyTerminal } from './emulator';
import { LIGHT } from './palette';

function lines(chunks: string[]): Promise<string[]> {
  const terminal = showOnlyTerminal(LIGHT, 20, 6);
  for (const chunk of chunks.slice(0, -1)) terminal.write(chunk);
  return new Promise((resolve) => {
    terminal.write(chunks.at(-1) ?? '', () => {
      const buffer = terminal.buffer.active;
      const rows = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row)?.translateToString(true) ?? '');
      terminal.dispose();
      resolve(rows.filter((row, index) => row !== '' || rows.slice(index).some((later) => later !== '')));
    });
  });
}

describe('a terminal that only shows', () => {
  it.each([
    ['LF without CR makes no staircase', ['one\ntwo\n'], ['one', 'two']],
    ['CR and LF in different chunks make one line', ['one\r', '\ntwo'], ['one', 'two']],
    ['an escape sequence split between chunks', ['\x1b[3', '1mred\x1b', '[0m!'], ['red!']],
    ['a character split between chunks', ['a\ud83d', '\ude00b'], ['a😀b']],
    ['progress overwrites', ['10%\r20%\r100%\r\nDone'], ['100%', 'Done']],
    ['titles, palette and clipboard leave no trace', ['\x1b]0;t\x07\x1b]4;1;red\x07\x1b]52;c;QQ==\x07x'], ['x']],
  ])('R18, R19: %s', async (_name, chunks, expected) => {
    expect(await lines(chunks)).toEqual(expected);
  });

  it('R19: a title or bell of the output reaches nobody, and a colour query gets no answer', async () => {
    const terminal = showOnlyTerminal(LIGHT, 20, 6);
    const heard: string[] = [];
    terminal.onTitleChange((title) => heard.push(`title ${title}`));
    terminal.onData((data) => {
      if (data.includes(']')) heard.push(`answer ${data}`);
    });
    await new Promise<void>((resolve) => terminal.write('\x1b]2;gotcha\x07\x1b]11;?\x07\x1b]10;?\x07\x1b]52;c;?\x07', resolve));
    terminal.dispose();
    expect(heard).toEqual([]);
  });

  it.each([
    ['https://example.org/x', true],
    ['http://example.org', true],
    ['javascript:alert(1)', false],
    ['file:///etc/passwd', false],
    ['data:text/html,x', false],
    ['not an address', false],
  ])('may follow %s: %s', (uri, may) => {
    expect(isWebAddress(uri)).toBe(may);
  });
});
