import { isRecord, listIn, textIn } from '../acp/wire';

/** The command in a call's `rawInput`: `command`, else `cmd`, a string or an array of words (rule R4). */
export function commandOfRawInput(raw: unknown): string | undefined {
  if (!isRecord(raw)) return undefined;
  for (const key of ['command', 'cmd']) {
    const command = textIn(raw, key) ?? joined(listIn(raw, key));
    if (command !== undefined && command !== '') return command;
  }
  return undefined;
}

/** An argument vector as one line. `bash -lc '…'` is how agents wrap a command: the script is what was asked for. */
function joined(words: unknown[] | undefined): string | undefined {
  if (words === undefined || !words.every((word) => typeof word === 'string')) return undefined;
  const [shell, flag, script] = words;
  if (words.length === 3 && shell !== undefined && (flag === '-c' || flag === '-lc')) return script;
  return words.join(' ');
}

/** The description that a call's arguments carry, as the reference agents name it. */
export function descriptionOfRawInput(raw: unknown): string | undefined {
  const text = isRecord(raw) ? textIn(raw, 'description') : undefined;
  return text === undefined || text.trim() === '' ? undefined : text;
}
