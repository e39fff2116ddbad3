import { describe, expect, it } from 'vitest';
import { piecesOf, spelledOut } from './unseen';

describe('characters that would not be seen', () => {
  it.each([
    ['a bidi override', 'a\u202eb', 'a‹U+202E›b'],
    ['bidi embeddings', '\u202a\u202b\u202c\u202d', '‹U+202A›‹U+202B›‹U+202C›‹U+202D›'],
    ['bidi isolates', '\u2066\u2067\u2068\u2069', '‹U+2066›‹U+2067›‹U+2068›‹U+2069›'],
    ['bidi marks', '\u200e\u200f\u061c', '‹U+200E›‹U+200F›‹U+061C›'],
    ['zero width', '\u200b\u200c\u200d\u2060\ufeff', '‹U+200B›‹U+200C›‹U+200D›‹U+2060›‹U+FEFF›'],
    ['controls', '\0\x1b\r\x7f\x85\x9b', '‹U+0000›‹U+001B›‹U+000D›‹U+007F›‹U+0085›‹U+009B›'],
    ['a soft hyphen', 'r\u00adm', 'r‹U+00AD›m'],
    ['line and paragraph separators', '\u2028\u2029', '‹U+2028›‹U+2029›'],
    ['tags beyond the first plane', '\u{e0061}', '‹U+E0061›'],
    ['fillers', '\u3164\uffa0', '‹U+3164›‹U+FFA0›'],
  ])('%s: spelled out', (_name, text, expected) => {
    expect(spelledOut(text)).toBe(expected);
  });

  it.each([
    ['line breaks and tabs', 'if true\n\tthen'],
    ['other scripts', 'echo "שלום, 世界, مرحبا, नमस्ते"'],
    ['an emoji', '✨️ 👍🏽'],
    ['accents that are put on', 'e\u0301'],
    ['nothing', ''],
  ])('%s: as they are', (_name, text) => {
    expect([spelledOut(text), piecesOf(text)]).toEqual([text, [{ text, unseen: false }]]);
  });

  it('are pieces of their own', () => {
    expect(piecesOf('rm \u202etxt.\u2066\u2069')).toEqual([
      { text: 'rm ', unseen: false },
      { text: 'U+202E', unseen: true },
      { text: 'txt.', unseen: false },
      { text: 'U+2066', unseen: true },
      { text: 'U+2069', unseen: true },
    ]);
  });
});
