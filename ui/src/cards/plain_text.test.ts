import { describe, expect, it } from 'vitest';
import { lastLine, plainText } from './plain_text';

describe('plain text of terminal output', () => {
  it.each([
    ['colours go', '\x1b[31mred\x1b[0m\r\nok\r\n', 'red\nok\n'],
    ['overwritten progress is as it ended', '10%\r20%\r100%\r\nDone\r\n', '100%\nDone\n'],
    ['a shorter overwrite leaves the rest', 'abcdef\rxy\n', 'xycdef\n'],
    ['LF alone and CR LF are both line ends', 'a\nb\r\nc', 'a\nb\nc'],
    ['titles, links and the clipboard sequence go', '\x1b]0;t\x07\x1b]52;c;QQ==\x07\x1b]8;;http://x\x1b\\X\x1b]8;;\x1b\\', 'X'],
    ['an escape sequence that is not complete is left out', 'a\x1b[3', 'a'],
    ['a device query shows nothing', 'a\x1b[6nb', 'ab'],
    ['backspaces step back', 'ab\b\bX', 'Xb'],
    ['a line that is erased before it is written again', 'compiling a_long_name\r\x1b[Kdone\x1b[K\n', 'done\n'],
    ['a whole line erased keeps its column', 'abc\x1b[2Kd', '   d'],
    ['tabs stay', 'a\tb', 'a\tb'],
    ['wide and joined characters stay', '漢字 👨‍👩‍👧', '漢字 👨‍👩‍👧'],
  ])('%s', (_name, raw, plain) => {
    expect(plainText(raw)).toBe(plain);
  });

  it('gives the last line that says something', () => {
    expect(lastLine('one\r\n\x1b[32mtwo\x1b[0m\r\n\r\n')).toBe('two');
  });
});
