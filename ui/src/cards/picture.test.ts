import { describe, expect, it } from 'vitest';
import { LONGEST, pictureOf, picturesOf } from './picture';

const block = (mimeType: string, data: string): Record<string, unknown> => ({ type: 'image', mimeType, data });
const bytes = (...codes: number[]): string => btoa(String.fromCharCode(...codes));

describe('a picture', () => {
  const size = (mime: string, data: string): unknown => pictureOf(block(mime, data))?.size;

  it('tells its size where its bytes do', () => {
    const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 1, 0, 2, 0, 1, 1, 0x11, 0];
    expect([
      size('image/gif', btoa('GIF89a\x05\x01\x03\x00')),
      size('image/jpeg', bytes(...jpeg)),
      size('image/png', btoa('short')),
      size('image/jpeg', bytes(0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0)),
      size('image/svg+xml', btoa('<svg/>')),
    ]).toEqual([{ width: 261, height: 3 }, { width: 512, height: 256 }, null, null, null]);
  });

  it('is drawn from bytes of known kinds only', () => {
    const drawn = (mime: string, data = 'AAAA'): boolean => pictureOf(block(mime, data)) !== null;
    expect([
      ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml'].map((mime) => drawn(mime)),
      ['text/html', 'image/png,x', 'image/tiff', ''].map((mime) => drawn(mime)),
      [drawn('image/png', ''), drawn('image/png', 'a b"'), drawn('image/png', 'A'.repeat(LONGEST + 4))],
    ]).toEqual([[true, true, true, true, true], [false, false, false, false], [false, false, false]]);
  });

  it('is found among other content', () => {
    const content = [
      { type: 'terminal', terminalId: 't' },
      { type: 'content', content: block('image/gif', 'AAAA') },
      { type: 'content', content: { type: 'text', text: 'x' } },
      { type: 'content', content: block('image/gif', '?') },
    ];
    expect(picturesOf(content).map(({ address }) => address)).toEqual(['data:image/gif;base64,AAAA']);
  });
});
