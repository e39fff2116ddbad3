import type { Json } from '../acp/wire';
import type { Permission } from '../acp/permission.svelte';
import { BoundedText } from './bounded_text';
import { descriptionOfRawInput, headline } from './command';
import { lastLine, plainText } from './plain_text';
import { pill, type Exit, type Pill } from './pill';
import { sortContent } from './raw_output';

export const STATUSES = ['pending', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type CallStatus = (typeof STATUSES)[number];

/** One terminal of the convention: what a command printed and how it ended. */
export class Card {
  cwd = $state<string | null>(null);
  exit = $state.raw<Exit | null>(null);
  /** The exit was read from `rawOutput`: a `terminal_exit` knows better. */
  exitIsGuess = false;
  waiting = $state(false);
  timedOut = $state(false);
  leftRunning = $state(false);
  /** The terminal printed through the convention's own keys, as against a text found elsewhere (rule R10). */
  streamed = $state(false);
  endedAt = $state<number | null>(null);
  /** Counts changes of the output, for what is derived from it. */
  outputVersion = $state(0);
  /** Content named the terminal before anybody announced it (rule R3). */
  announced = false;
  readonly output = new BoundedText();

  constructor(readonly terminalId: string) {
    this.output.listen(() => {
      this.outputVersion += 1;
    });
  }

  get text(): string {
    return this.output.text();
  }

  get plain(): string {
    return plainText(this.output.text());
  }

  get hasOutput(): boolean {
    return this.outputVersion > 0 && this.output.length > 0;
  }

  get lastLine(): string {
    return this.outputVersion > 0 ? lastLine(this.output.end(4000)) : '';
  }
}

/** One tool call, with the terminals that stand in it. */
export class Call {
  title = $state('');
  kind = $state('other');
  status = $state<CallStatus>('pending');
  content = $state.raw<Json[]>([]);
  locations = $state.raw<Json[]>([]);
  rawInput = $state.raw<unknown>(undefined);
  rawOutput = $state.raw<unknown>(undefined);
  cards = $state.raw<readonly Card[]>([]);
  permission = $state.raw<Permission | null>(null);
  noResult = $state(false);
  /** For an agent that has no cards: what its command printed stands in a card that no terminal id names. */
  standIn = $state.raw<Card | null>(null);
  startedAt = $state(0);
  endedAt = $state<number | null>(null);

  constructor(
    readonly id: string,
    startedAt: number,
  ) {
    this.startedAt = startedAt;
  }

  /** Whether the call is drawn as a command's card. */
  get isCommand(): boolean {
    return this.cards.length > 0 || this.kind === 'execute';
  }

  get card(): Card | null {
    return this.cards[0] ?? this.standIn;
  }

  get command(): string {
    return headline(this.title, this.rawInput);
  }

  get description(): string {
    const said = sortContent(this.content).description;
    if (said.length > 0) return said.join(' ');
    return descriptionOfRawInput(this.rawInput) ?? (this.title !== '' && this.title !== this.command ? this.title : '');
  }

  get isOpen(): boolean {
    return !this.noResult && (this.status === 'pending' || this.status === 'in_progress');
  }

  get asks(): boolean {
    return this.permission?.isOpen === true;
  }

  /** Whether its command runs now, as far as is known. */
  isRunning(card: Card | null): boolean {
    return card?.exit == null && this.isOpen && !this.asks;
  }

  pill(card: Card | null, now: number): Pill {
    const end = card?.endedAt ?? this.endedAt ?? now;
    return pill({
      asks: this.asks,
      refused: this.permission?.wasRefused === true,
      status: this.status,
      exit: card?.exit ?? null,
      noResult: this.noResult,
      waiting: card?.waiting ?? false,
      timedOut: card?.timedOut ?? false,
      leftRunning: card?.leftRunning ?? false,
      elapsed: Math.max(0, end - this.startedAt),
    });
  }
}
