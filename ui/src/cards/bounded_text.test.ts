import { describe, expect, it } from 'vitest';
import { BoundedText, sizeWords, type TextChange } from './bounded_text';

describe('bounded output', () => {
  it('keeps what fits as it came', () => {
    const text = new BoundedText(10, 10);
    text.append('caf');
    text.append('é\r\n');
    expect([text.text(), text.omitted, text.end(3)]).toEqual(['café\r\n', 0, 'é\r\n']);
  });

  it('keeps head and tail of an endless output, in whole lines, and says what is missing where it is', () => {
    const text = new BoundedText(6, 12);
    for (let line = 0; line < 100; line += 1) text.append(`y${line % 10}\n`);
    const kept = text.text();
    expect(kept.startsWith('y0\ny1\n\x1b[0m\r\n… ')).toBe(true);
    expect(kept.endsWith('y8\ny9\n')).toBe(true);
    expect(text.length + text.omitted).toBe(300);
    expect(text.length).toBeLessThanOrEqual(6 + 24);
  });

  it('bounds one line of ten million characters', () => {
    const text = new BoundedText();
    for (let chunk = 0; chunk < 160; chunk += 1) text.append('x'.repeat(65_536));
    expect(text.length).toBeLessThanOrEqual(1024 * 1024 * 1.5);
    expect(text.length + text.omitted).toBe(160 * 65_536);
    expect(text.text()).toContain('left out here');
  });

  it('splits no surrogate pair at the end of the head', () => {
    const text = new BoundedText(3, 100);
    text.append('ab😀cd');
    expect(text.text()).toBe('ab😀cd');
  });

  it('tells its listeners what is new, and appends a replacement that only grew', () => {
    const text = new BoundedText();
    const heard: TextChange[] = [];
    text.listen((change) => heard.push(change));
    text.replace('1\n');
    text.replace('1\n2\n');
    text.replace('1\n2\n');
    text.replace('other');
    expect(heard).toEqual([
      { reset: false, chunk: '1\n' },
      { reset: false, chunk: '2\n' },
      { reset: true, chunk: 'other' },
    ]);
  });

  it.each([
    [999, '999 B'],
    [3400, '3.4 kB'],
    [340_000, '340 kB'],
    [3_400_000, '3.4 MB'],
  ])('writes %d units as %s', (units, words) => {
    expect(sizeWords(units)).toBe(words);
  });
});
