import { recordIn, textIn, type Json } from '../acp/wire';

/** A picture of an agent, ready to be drawn. */
export interface Picture {
  /** A `data:` address of its own bytes: nothing is loaded from elsewhere. */
  address: string;
  /** Its size in pixels where its bytes tell it, so that its place is kept before it is drawn. */
  size: { width: number; height: number } | null;
}

/** What an `<img>` draws without running anything: within one an SVG has neither scripts nor loads. */
const DRAWN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml'];
/** The longest base64 text that is drawn: some 8 MiB of bytes. */
export const LONGEST = 11 * 1024 * 1024;
/** The sizes stand near the beginning; of a JPEG they may stand behind a preview. */
const LOOKED_AT = 96 * 1024;

/** The pictures in a call's content. What is no picture that can be drawn is passed over. */
export function picturesOf(content: readonly Json[]): Picture[] {
  return content.flatMap((block) => {
    const inside = block['type'] === 'content' ? recordIn(block, 'content') : undefined;
    const picture = inside === undefined ? null : pictureOf(inside);
    return picture === null ? [] : [picture];
  });
}

/** The picture of a content block; null where it is none that can be drawn. */
export function pictureOf(block: Json): Picture | null {
  if (block['type'] !== 'image') return null;
  const mime = textIn(block, 'mimeType') ?? '';
  const data = textIn(block, 'data') ?? '';
  if (!DRAWN.includes(mime) || data === '' || data.length > LONGEST || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return null;
  return { address: `data:${mime};base64,${data}`, size: sizeOf(mime, beginning(data)) };
}

function beginning(base64: string): Uint8Array {
  const whole = base64.slice(0, LOOKED_AT - (LOOKED_AT % 4));
  try {
    return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function sizeOf(mime: string, bytes: Uint8Array): Picture['size'] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = (width: number, height: number): Picture['size'] => (width > 0 && height > 0 ? { width, height } : null);
  if (mime === 'image/png' && view.byteLength >= 24) return found(view.getUint32(16), view.getUint32(20));
  if (mime === 'image/gif' && view.byteLength >= 10) return found(view.getUint16(6, true), view.getUint16(8, true));
  if (mime === 'image/jpeg') return jpegSize(view, found);
  return null;
}

/** Goes from marker to marker to the frame header, which all but three of the markers C0 to CF are. */
function jpegSize(view: DataView, found: (width: number, height: number) => Picture['size']): Picture['size'] {
  let at = 2;
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return found(view.getUint16(at + 7), view.getUint16(at + 5));
    }
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}
