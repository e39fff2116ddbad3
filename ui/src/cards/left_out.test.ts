import { describe, expect, it } from 'vitest';
import { LeftOut } from './left_out';

const MARKERS = 'a\r\n\x1b[0m[1717375 bytes left out]\r\nb\x1b[0m\r\n[1 byte left out; see /tmp/a b[1].log]\r\nc';

function heard(chunks: readonly string[]): number {
  const leftOut = new LeftOut();
  for (const chunk of chunks) leftOut.hear(chunk);
  return leftOut.bytes;
}

describe('what the markers of the agent count', () => {
  it('is added up', () => expect(heard([MARKERS])).toBe(1717376));

  it('is the same however the output is cut into chunks', () => {
    const sums = Array.from(MARKERS, (_, at) => heard([MARKERS.slice(0, at), MARKERS.slice(at)]));
    expect([new Set(sums), heard([...MARKERS])]).toEqual([new Set([1717376]), 1717376]);
  });

  it('is nothing for output that only reads like one', () => {
    expect(heard(['[5 bytes left out]\r\n', '\x1b[0m[5 bytes left out] of 7\r\n', '\x1b[0m[five bytes left out]\r\n'])).toBe(0);
  });
});
