import { isRecord, recordIn, recordsIn, textIn, type Json } from '../acp/wire';

const TEXT_KEYS = ['formatted_output', 'aggregated_output', 'output', 'content'] as const;

/** The text of a call that streamed nothing, from its `rawOutput` (rule R10); undefined when there is none. */
export function textOfRawOutput(raw: unknown): string | undefined {
  if (typeof raw === 'string') return raw === '' ? undefined : raw;
  if (!isRecord(raw)) return undefined;
  for (const key of TEXT_KEYS) {
    const blocks = recordsIn(raw, key).map((block) => textIn(block, 'text') ?? textIn(recordIn(block, 'content') ?? {}, 'text'));
    const text = textIn(raw, key) ?? blocks.filter((block) => block !== undefined).join('\n');
    if (text !== '') return text;
  }
  const text = (textIn(raw, 'stdout') ?? '') + (textIn(raw, 'stderr') ?? '');
  return text === '' ? undefined : text;
}

/** The exit code in a `rawOutput` (rule R10); undefined when it has none. */
export function exitOfRawOutput(raw: unknown): number | undefined {
  if (!isRecord(raw)) return undefined;
  const codes = [raw['exit_code'], raw['exitCode'], recordIn(raw, 'metadata')?.['exit']];
  return codes.find((code): code is number => Number.isInteger(code));
}

interface Fence {
  info: string;
  inside: string;
}

/** A text that is one fenced block, taken apart; undefined for any other text. */
export function fenceOf(text: string): Fence | undefined {
  const [, marks, info = '', rest = ''] = /^\s*(`{3,}|~{3,})([^\n`]*)\n([\s\S]*)$/.exec(text) ?? [];
  if (marks === undefined) return undefined;
  const lines = rest.trimEnd().split('\n');
  const closing = lines.pop() ?? '';
  const closes = closing.trim().length >= marks.length && [...closing.trim()].every((mark) => mark === marks[0]);
  return closes ? { info: info.trim(), inside: lines.join('\n') } : undefined;
}

/** What the text blocks of a command's content say: what it printed, and what describes it. */
export interface ContentTexts {
  description: string[];
  output: string[];
}

/**
 * Sorts the text blocks of a call that runs a command. Blocks that are one `console` fence are output, and others then
 * describe it. Without such a block all of them are output, unless a terminal stands among them, which has its own.
 */
export function sortContent(content: readonly Json[]): ContentTexts {
  const texts = content.flatMap((block) => {
    const text = block['type'] === 'content' ? textIn(recordIn(block, 'content') ?? {}, 'text') : undefined;
    return text === undefined || text === '' ? [] : [text];
  });
  const consoles = texts.flatMap((text) => {
    const fence = fenceOf(text);
    return fence?.info === 'console' ? [fence.inside] : [];
  });
  const prose = texts.filter((text) => fenceOf(text)?.info !== 'console');
  if (consoles.length > 0 || content.some((block) => block['type'] === 'terminal')) {
    return { description: prose, output: consoles };
  }
  return { description: [], output: texts };
}
