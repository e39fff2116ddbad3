/**
 * Characters that are not seen, and those that only turn others around: with them a text can read as something other
 * than what it is. Line break and tab are no disguise, and the two variation selectors only choose how an emoji looks.
 */
const UNSEEN = /(?![\n\t\ufe0e\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u;
const EVERY_UNSEEN = new RegExp(UNSEEN, 'gu');

/** A part of a text: as it is, or the name of one character that would not be seen. */
export interface Piece {
  text: string;
  unseen: boolean;
}

function named(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

export function piecesOf(text: string): Piece[] {
  if (!UNSEEN.test(text)) return [{ text, unseen: false }];
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(EVERY_UNSEEN)) {
    if (index > from) pieces.push({ text: text.slice(from, index), unseen: false });
    pieces.push({ text: named(character), unseen: true });
    from = index + character.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), unseen: false });
  return pieces;
}

/** The same for where only plain text can stand. */
export function spelledOut(text: string): string {
  return UNSEEN.test(text) ? text.replace(EVERY_UNSEEN, (character) => `‹${named(character)}›`) : text;
}
