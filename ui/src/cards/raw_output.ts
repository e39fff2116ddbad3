import { isRecord, numberIn, recordIn, textIn, type Json } from '../acp/wire';

const TEXT_KEYS = ['formatted_output', 'aggregated_output', 'output', 'content'] as const;

/** The text of a call that streamed nothing, from its `rawOutput` (rule R10); undefined when there is none. */
export function textOfRawOutput(raw: unknown): string | undefined {
  if (typeof raw === 'string') return raw;
  if (!isRecord(raw)) return undefined;
  for (const key of TEXT_KEYS) {
    const text = textIn(raw, key);
    if (text !== undefined) return text;
  }
  const streams = [textIn(raw, 'stdout'), textIn(raw, 'stderr')].filter((text) => text !== undefined);
  return streams.length === 0 ? undefined : streams.join('');
}

/** The exit code in a `rawOutput` (rule R10); undefined when it has none. */
export function exitOfRawOutput(raw: unknown): number | undefined {
  if (!isRecord(raw)) return undefined;
  return numberIn(raw, 'exit_code') ?? numberIn(raw, 'exitCode') ?? numberIn(recordIn(raw, 'metadata') ?? {}, 'exit');
}

const FENCE = /^\s*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?\1[`~]*\s*$/;

/** The inside of a text that is one fenced block; undefined for any other text. */
export function insideOfFence(text: string): string | undefined {
  return FENCE.exec(text)?.[2];
}

/** What the text blocks of a call's content say: output (fenced, or after the terminal block) and description. */
export interface ContentTexts {
  description: string[];
  output: string[];
}

/**
 * Sorts the text blocks of a call that runs a command. With a terminal block, what stands before it describes and
 * what follows is output. Without one, a fenced block is output and makes the others descriptions; with no fence all is output.
 */
export function sortContent(content: readonly Json[]): ContentTexts {
  const texts: { text: string; index: number }[] = [];
  content.forEach((block, index) => {
    if (block['type'] !== 'content') return;
    const text = textIn(recordIn(block, 'content') ?? {}, 'text');
    if (text !== undefined && text !== '') texts.push({ text, index });
  });
  const terminalAt = content.findIndex((block) => block['type'] === 'terminal');
  const result: ContentTexts = { description: [], output: [] };
  if (terminalAt >= 0) {
    for (const { text, index } of texts) {
      if (index < terminalAt) result.description.push(text);
      else result.output.push(insideOfFence(text) ?? text);
    }
    return result;
  }
  const anyFence = texts.some(({ text }) => insideOfFence(text) !== undefined);
  for (const { text } of texts) {
    const inside = insideOfFence(text);
    if (inside !== undefined) result.output.push(inside);
    else if (anyFence) result.description.push(text);
    else result.output.push(text);
  }
  return result;
}
