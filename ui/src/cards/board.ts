import { isRecord, listIn, recordIn, textIn, type Json } from '../acp/wire';
import { Call, Card, STATUSES, type CallStatus } from './call.svelte';
import { commandOfRawInput } from './command';
import { exitOfRawOutput, sortContent, textOfRawOutput } from './raw_output';

/** What an update did to the board. */
export interface Applied {
  call: Call;
  /** The call was not on the board before. */
  isNew: boolean;
}

/** A text that says something: an empty one changes nothing. */
function wordsIn(source: Json, key: string): string | undefined {
  const text = textIn(source, key);
  return text === '' ? undefined : text;
}

function idIn(source: Json): string | undefined {
  return wordsIn(source, 'terminal_id') ?? wordsIn(source, 'terminalId');
}

function statusIn(source: Json): CallStatus | undefined {
  return STATUSES.find((known) => known === source['status']);
}

function integerIn(source: Json, ...keys: string[]): number | null {
  return keys.map((key) => source[key]).find((value): value is number => Number.isInteger(value)) ?? null;
}

/**
 * The state of every tool call and terminal card of one session, folded from updates. It reads what any agent sends:
 * the rules R1 to R18 of the convention are here, in the way that tests/vectors/README.md lays down for every board.
 */
export class CardBoard {
  readonly calls = new Map<string, Call>();
  /** Every card, in the order in which they appeared. */
  readonly cards: Card[] = [];
  #byTerminal = new Map<string, Card>();

  /** Applies a `tool_call` or `tool_call_update`. Null for one that names no call. */
  apply(update: Json, now: number): Applied | null {
    return this.#fold(update, now, false);
  }

  /** Takes what `session/request_permission` says about its call: perhaps all that is ever said of it (rule R16). */
  applyAsked(toolCall: Json, now: number): Applied | null {
    return this.#fold(toolCall, now, true);
  }

  /** The card of a terminal. */
  card(terminalId: string): Card | undefined {
    return this.#byTerminal.get(terminalId);
  }

  /** `_placard/terminal_state`: what our own agent knows beyond the convention. */
  terminalState(terminalId: string, state: string): void {
    const card = this.#byTerminal.get(terminalId);
    if (card === undefined || card.exit !== null) return;
    card.waiting = state === 'waiting';
  }

  /** The turn is over: what has no result will, as far as is known, get none (rule R9). */
  endTurn(now: number): void {
    for (const call of this.calls.values()) {
      if (!call.isOpen) continue;
      call.noResult = true;
      call.endedAt ??= now;
    }
  }

  /** The agent is gone, and with it what it left running. */
  endAll(now: number): void {
    this.endTurn(now);
    for (const card of this.cards) {
      if (!card.goesOn) continue;
      card.waiting = false;
      card.endedAt = now;
    }
  }

  #fold(update: Json, now: number, asked: boolean): Applied | null {
    const id = wordsIn(update, 'toolCallId');
    if (id === undefined) return null;
    const known = this.calls.get(id);
    const call = known ?? new Call(id, now);
    this.calls.set(id, call);
    this.#fields(call, update, now, asked);
    const meta = recordIn(update, '_meta');
    if (meta !== undefined) this.#terminals(call, meta, now);
    if (call.cards.length === 0 && call.kind === 'execute') this.#newCard(null, call);
    this.#fallBack(call, now);
    return { call, isNew: known === undefined };
  }

  #fields(call: Call, update: Json, now: number, asked: boolean): void {
    call.title = wordsIn(update, 'title') ?? call.title;
    call.kind = wordsIn(update, 'kind') ?? call.kind;
    const rawInput = recordIn(update, 'rawInput');
    if (rawInput !== undefined) {
      call.rawInput = rawInput;
      call.given = commandOfRawInput(rawInput) ?? call.given;
      call.inputCwd = wordsIn(rawInput, 'cwd') ?? call.inputCwd;
    }
    call.rawText = textOfRawOutput(update['rawOutput']) ?? call.rawText;
    call.rawExit = exitOfRawOutput(update['rawOutput']) ?? call.rawExit;
    call.locations = listIn(update, 'locations')?.filter(isRecord) ?? call.locations;
    const content = listIn(update, 'content')?.filter(isRecord);
    if (content !== undefined) {
      // A question repeats the content as it stands, or less of it: it takes nothing away.
      if (!asked || call.content.length === 0) {
        call.content = content;
        call.contentIsAsked = asked;
      }
      for (const block of content) {
        const terminalId = block['type'] === 'terminal' ? idIn(block) : undefined;
        if (terminalId !== undefined) this.#place(call, terminalId);
      }
    }
    const status = statusIn(update);
    if (status !== undefined) this.#setStatus(call, status, now);
  }

  #setStatus(call: Call, status: CallStatus, now: number): void {
    // The clock starts when the work does: an announced call may wait long for its permission.
    if (status === 'in_progress' && call.status === 'pending' && call.card?.hasOutput !== true) call.startedAt = now;
    call.status = status;
    call.noResult = false;
    call.endedAt = status === 'completed' || status === 'failed' ? (call.endedAt ?? now) : null;
  }

  #newCard(terminalId: string | null, call: Call): Card {
    const card = new Card(terminalId, call);
    this.cards.push(card);
    call.cards = [...call.cards, card];
    if (terminalId !== null) this.#byTerminal.set(terminalId, card);
    return card;
  }

  /** The card of `terminalId`, made in `call` where there is none (rules R2, R3 and R13). */
  #obtain(call: Call, terminalId: string): Card {
    const known = this.#byTerminal.get(terminalId);
    if (known !== undefined) return known;
    const nameless = call.cards.find((card) => card.terminalId === null);
    if (nameless === undefined) return this.#newCard(terminalId, call);
    nameless.terminalId = terminalId;
    this.#byTerminal.set(terminalId, nameless);
    return nameless;
  }

  /** Says that the card of `terminalId` stands in `call`; the first call to say so has it. */
  #place(call: Call, terminalId: string): Card {
    const card = this.#obtain(call, terminalId);
    if (!card.placed && card.call !== call) {
      const from = card.call;
      from.cards = from.cards.filter((other) => other !== card);
      card.call = call;
      call.cards = [...call.cards, card];
    }
    card.placed = true;
    return card;
  }

  /** The card that an item without an id is meant for: the call's only one (rule R14). */
  #only(call: Call): Card | undefined {
    if (call.cards.length > 1) return undefined;
    return call.card ?? this.#newCard(null, call);
  }

  #meant(call: Call, item: Json): Card | undefined {
    const id = idIn(item);
    return id === undefined ? this.#only(call) : this.#obtain(call, id);
  }

  #terminals(call: Call, meta: Json, now: number): void {
    const info = recordIn(meta, 'terminal_info');
    if (info !== undefined) {
      const id = idIn(info);
      const card = id === undefined ? this.#only(call) : this.#place(call, id);
      if (card !== undefined) {
        card.announced = true;
        card.cwd = wordsIn(info, 'cwd') ?? card.cwd;
      }
    }
    const output = ['terminal_output_delta', 'terminal_output']
      .map((key) => recordIn(meta, key))
      .find((candidate) => candidate !== undefined && textIn(candidate, 'data') !== undefined);
    if (output !== undefined) {
      const card = this.#meant(call, output);
      if (card !== undefined) this.#print(card, textIn(output, 'data') ?? '');
    }
    const exit = recordIn(meta, 'terminal_exit');
    if (exit !== undefined) {
      const card = this.#meant(call, exit);
      if (card !== undefined && (card.exit === null || card.exitIsGuess)) {
        card.exitIsGuess = false;
        card.exit = { code: integerIn(exit, 'exit_code', 'exitCode'), signal: wordsIn(exit, 'signal') ?? null };
        card.endedAt = now;
        card.waiting = false;
      }
    }
    const ours = recordIn(meta, 'placard');
    if (ours !== undefined && call.card !== null) {
      if (ours['timed_out'] === true) call.card.timedOut = true;
      if (ours['stopped'] === true) call.card.stopped = true;
      if (ours['left_running'] === true) call.card.leftRunning = true;
      if (ours['background'] === true) call.card.background = true;
      call.card.label = wordsIn(ours, 'label') ?? call.card.label;
      call.card.notice = wordsIn(ours, 'notice') ?? call.card.notice;
    }
  }

  #print(card: Card, data: string): void {
    if (data === '') return;
    if (card.streamed) {
      card.output.append(data);
      return;
    }
    card.streamed = true;
    // A text from elsewhere gives way to the terminal's own output (rule R11).
    card.output.replace(data);
  }

  /** Nothing was streamed: text and exit come from `rawOutput` or the content, if they have any (rules R10 and R11). */
  #fallBack(call: Call, now: number): void {
    const [card] = call.cards;
    if (card === undefined || call.cards.length > 1) return;
    if (!card.streamed) {
      const told = call.contentIsAsked ? [] : sortContent(call.content).output;
      card.output.replace(call.rawText ?? told.join('\n'));
    }
    if (call.rawExit !== null && (card.exit === null || card.exitIsGuess)) {
      card.exitIsGuess = true;
      card.exit = { code: call.rawExit, signal: null };
      card.endedAt ??= now;
    }
  }
}
