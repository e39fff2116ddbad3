import type { Json } from '../acp/wire';
import type { Permission } from '../acp/permission.svelte';
import { BoundedText } from './bounded_text';
import { descriptionOfRawInput } from './command';
import { LeftOut } from './left_out';
import { lastLine, plainText } from './plain_text';
import { pill, type Exit, type Pill } from './pill';
import { sortContent } from './raw_output';

export const STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;
export type CallStatus = (typeof STATUSES)[number];

/** One card: what a command printed and how it ended. */
export class Card {
  /** Null for a command of an agent that sends no terminal. */
  terminalId = $state<string | null>(null);
  /** The folder that `terminal_info` named. */
  cwd = $state<string | null>(null);
  exit = $state.raw<Exit | null>(null);
  waiting = $state(false);
  /** Its call was over when it was started: output and exit come later. */
  background = $state(false);
  /** What its command certainly is, in a few words: such a card is drawn small. */
  label = $state<string | null>(null);
  /** What the person should know of how it runs. */
  notice = $state<string | null>(null);
  timedOut = $state(false);
  leftRunning = $state(false);
  /** It alone was stopped, by the person or by the model. */
  stopped = $state(false);
  endedAt = $state<number | null>(null);
  /** Counts changes of the output, for what is derived from it. */
  outputVersion = $state(0);
  /** A `terminal_info` named it. */
  announced = false;
  /** A call's content or `terminal_info` named it; before that it stands where its first output came. */
  placed = false;
  /** Something was printed through the terminal itself, as against a text found elsewhere (rule R10). */
  streamed = false;
  /** The exit was read from `rawOutput`: a `terminal_exit` knows better. */
  exitIsGuess = false;
  readonly output = new BoundedText();
  readonly #markers = new LeftOut();

  constructor(
    terminalId: string | null,
    public call: Call,
  ) {
    this.terminalId = terminalId;
    this.output.listen(({ reset, chunk }) => {
      if (reset) this.#markers.forget();
      this.#markers.hear(chunk);
      this.outputVersion += 1;
    });
  }

  /** How much of the output is missing here: what the agent left out, and what this page did not keep. */
  get leftOut(): number {
    return this.outputVersion > 0 ? this.#markers.bytes + this.output.omitted : 0;
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

  /** Its command goes on though its call is over. */
  get goesOn(): boolean {
    return this.background && this.exit === null && this.endedAt === null;
  }

  get lastLine(): string {
    return this.outputVersion > 0 ? lastLine(this.output.end(4000)) : '';
  }
}

/** One tool call, with the cards that stand in it. */
export class Call {
  title = $state<string | null>(null);
  /** The command of its `rawInput`. */
  given = $state<string | null>(null);
  kind = $state('other');
  status = $state<CallStatus>('pending');
  content = $state.raw<readonly Json[]>([]);
  locations = $state.raw<readonly Json[]>([]);
  rawInput = $state.raw<unknown>(undefined);
  /** The folder of its `rawInput`. */
  inputCwd = $state<string | null>(null);
  /** The last text and exit code that its `rawOutput` had. */
  rawText = $state.raw<string | null>(null);
  rawExit: number | null = null;
  /** Content came with a question only, so that its texts are no output. */
  contentIsAsked = false;
  cards = $state.raw<readonly Card[]>([]);
  permission = $state.raw<Permission | null>(null);
  noResult = $state(false);
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
    return this.cards.length > 0;
  }

  get card(): Card | null {
    return this.cards[0] ?? null;
  }

  /** The headline: the command itself where it is known, else the title (rule R4). */
  get command(): string {
    return this.given ?? this.title ?? '';
  }

  get description(): string {
    const said = sortContent(this.content).description.filter((text) => text !== this.card?.notice);
    if (said.length > 0) return said.join(' ');
    const title = this.title?.includes(this.command) === true ? null : this.title;
    return descriptionOfRawInput(this.rawInput) ?? title ?? '';
  }

  get isOpen(): boolean {
    return !this.noResult && (this.status === 'pending' || this.status === 'in_progress');
  }

  /** Something of it runs or may still run. */
  get isLive(): boolean {
    return this.isOpen || this.cards.some((card) => card.goesOn);
  }

  /** Its command will not go on before somebody types. */
  get waits(): boolean {
    return this.cards.some((card) => card.waiting && this.isRunning(card));
  }

  get asks(): boolean {
    return this.permission?.isOpen === true;
  }

  /** Whether its command runs now, as far as is known. */
  isRunning(card: Card | null): boolean {
    return card?.exit == null && (this.isOpen || card?.goesOn === true) && !this.asks;
  }

  pill(card: Card | null, now: number): Pill {
    const goesOn = card?.goesOn === true;
    const end = card?.endedAt ?? (goesOn ? now : (this.endedAt ?? now));
    return pill({
      asks: this.asks,
      refused: this.permission?.wasRefused === true,
      status: this.status,
      exit: card?.exit ?? null,
      noResult: this.noResult,
      waiting: card?.waiting ?? false,
      goesOn,
      timedOut: card?.timedOut ?? false,
      leftRunning: card?.leftRunning ?? false,
      elapsed: Math.max(0, end - this.startedAt),
    });
  }
}
