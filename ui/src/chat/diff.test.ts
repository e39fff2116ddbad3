import { expect, it } from 'vitest';
import { lineDiff } from './diff';

function signed(before: string, after: string): string[] {
  return lineDiff(before, after).map(({ sign, text }) => sign + text);
}

it.each([
  ['one line of many', 'a\nb\nc\nd\ne\nf\n', 'a\nb\nc\nX\ne\nf\n', [' a', ' b', ' c', '-d', '+X', ' e', ' f']],
  ['two places', 'a\nb\nc\n', 'X\nb\nY\n', ['-a', '+X', ' b', '-c', '+Y']],
  ['a new file', '', 'a\nb', ['+a', '+b']],
  ['an emptied file', 'a\n', '', ['-a']],
  ['far context is left out', '1\n2\n3\n4\n5\n', '1\n2\n3\n4\n5\n6\n', [' 3', ' 4', ' 5', '+6']],
])('%s', (_name, before, after, lines) => {
  expect(signed(before, after)).toEqual(lines);
});

it('a change too large to compare is shown as replaced, quickly', () => {
  const old = Array.from({ length: 3000 }, (_, index) => `old ${index}`).join('\n');
  const fresh = Array.from({ length: 3000 }, (_, index) => `new ${index}`).join('\n');
  expect(lineDiff(old, fresh).length).toBe(6000);
});
