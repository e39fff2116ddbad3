import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { recordIn, type Json } from '../acp/wire';
import { CardBoard } from './board';
import type { Card } from './call.svelte';

/** A case that the Rust board reads as well; its README says what the fields mean. */
interface Vector {
  name: string;
  rule: string;
  updates: Json[];
  cards: unknown[];
}

const FOLDER = new URL('../../../tests/vectors/terminal-card/', import.meta.url);

const vectors = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Vector);

function play(updates: readonly Json[]): CardBoard {
  const board = new CardBoard();
  updates.forEach((update, index) => {
    if (update['placard'] === 'turn_ended') board.endTurn(index);
    else if (update['placard'] === 'permission') board.applyAsked(recordIn(update, 'toolCall') ?? {}, index);
    else if (update['sessionUpdate'] === 'tool_call' || update['sessionUpdate'] === 'tool_call_update') board.apply(update, index);
  });
  return board;
}

function described(card: Card): unknown {
  const { call } = card;
  const closed = call.status === 'completed' || call.status === 'failed';
  const unknownEnd = card.exit === null ? closed && !call.noResult : card.exit.code === null && card.exit.signal === null;
  return {
    terminal_id: card.terminalId,
    tool_call_id: call.id,
    title: call.title,
    command: call.given,
    cwd: card.cwd ?? call.inputCwd,
    text: card.text,
    exit: card.exit === null ? null : { exit_code: card.exit.code, signal: card.exit.signal },
    status: call.noResult ? 'no_result' : call.status,
    notes: [
      ...(card.terminalId !== null && !card.announced ? ['unannounced'] : []),
      ...(card.text !== '' && !card.streamed ? ['not_streamed'] : []),
      ...(unknownEnd ? ['no_exit_code'] : []),
    ],
  };
}

describe('the shared vectors', () => {
  it('are there', () => {
    expect(vectors.length).toBeGreaterThan(0);
  });

  it.each(vectors.map((vector) => [vector.rule, vector.name, vector] as const))('%s: %s', (_rule, _name, vector) => {
    expect(play(vector.updates).cards.map(described)).toEqual(vector.cards);
  });
});
