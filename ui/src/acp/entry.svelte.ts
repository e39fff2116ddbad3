import type { Call } from '../cards/call.svelte';

/** What a person wrote, as one bubble. */
export interface UserEntry {
  kind: 'user';
  key: number;
  text: string;
}

/** Text of the agent that grows while it streams: an answer, or its thinking. */
export class SpokenEntry {
  text = $state('');

  constructor(
    readonly key: number,
    readonly kind: 'assistant' | 'thought',
    readonly messageId: string | null,
  ) {}
}

export interface CallEntry {
  kind: 'call';
  key: number;
  call: Call;
}

/** The agent's plan; a newer one takes its place. */
export class PlanEntry {
  readonly kind = 'plan';
  steps = $state.raw<readonly { text: string; status: string }[]>([]);

  constructor(readonly key: number) {}
}

/** How a turn ended when it did not simply end, or why it failed; `retryText` is the prompt that got no answer. */
export interface OutcomeEntry {
  kind: 'outcome';
  key: number;
  failed: boolean;
  words: string;
  retryText: string | null;
}

export type Entry = UserEntry | SpokenEntry | CallEntry | PlanEntry | OutcomeEntry;

const STOP_WORDS: Record<string, string> = {
  max_tokens: 'The answer was cut off: the model reached its limit of tokens.',
  max_turn_requests: 'The turn ended: it reached the limit of steps.',
  refusal: 'The model refused to go on.',
  cancelled: 'Stopped.',
};

/** A stop reason in words; null for the ordinary one, which needs none. */
export function stopWords(reason: string): string | null {
  if (reason === 'end_turn') return null;
  return STOP_WORDS[reason] ?? `The turn ended: ${reason}.`;
}
