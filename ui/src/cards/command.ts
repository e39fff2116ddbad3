import { isRecord, listIn, recordIn, textIn } from '../acp/wire';

/** The command in a call's `rawInput`: `command` or `cmd`, a string or an array of words (rule R4). */
export function commandOfRawInput(raw: unknown): string | undefined {
  if (!isRecord(raw)) return undefined;
  for (const key of ['command', 'cmd']) {
    const text = textIn(raw, key);
    if (text !== undefined && text.trim() !== '') return text;
    const words = listIn(raw, key);
    if (words !== undefined && words.length > 0 && words.every((word) => typeof word === 'string')) return shellLine(words);
  }
  return undefined;
}

/** An argument vector as one line. `bash -lc '…'` is how agents wrap a command: the inner text is what was asked for. */
function shellLine(words: string[]): string {
  if (words.length === 3 && /(^|\/)(ba|z|da)?sh$/.test(words[0] ?? '') && /^-l?c$/.test(words[1] ?? '')) return words[2] ?? '';
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** The headline of a command's card: the command itself where it is known, else the title (rule R4). */
export function headline(title: string, rawInput: unknown): string {
  return commandOfRawInput(rawInput) ?? title;
}

/** The description that a call's arguments carry, as the reference agents name it. */
export function descriptionOfRawInput(raw: unknown): string | undefined {
  if (!isRecord(raw)) return undefined;
  const text = textIn(raw, 'description') ?? textIn(recordIn(raw, 'args') ?? {}, 'description');
  return text === undefined || text.trim() === '' ? undefined : text;
}
