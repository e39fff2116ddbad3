import { isRecord, listIn, numberIn, recordIn, textIn, type Json } from '../acp/wire';
import { Call, Card, STATUSES, type CallStatus } from './call.svelte';
import { exitOfRawOutput, sortContent, textOfRawOutput } from './raw_output';

/** What an update did to the board. */
export interface Applied {
  call: Call;
  /** The call was not on the board before. */
  isNew: boolean;
}

function idIn(source: Json): string | undefined {
  return textIn(source, 'terminal_id') ?? textIn(source, 'terminalId');
}

function statusIn(source: Json): CallStatus | undefined {
  const status = source['status'];
  return STATUSES.find((known) => known === status);
}

/**
 * The state of every tool call and terminal card of one session, folded from updates. It reads what any agent sends:
 * the rules R1 to R18 of the convention are here, and each item that is not understood costs only itself.
 */
export class CardBoard {
  readonly calls = new Map<string, Call>();
  readonly cards = new Map<string, Card>();
  #owners = new Map<string, Call>();

  /** Applies a `tool_call` or `tool_call_update`. Null for one that names no call. */
  apply(update: Json, now: number): Applied | null {
    const id = textIn(update, 'toolCallId');
    if (id === undefined) return null;
    const known = this.calls.get(id);
    const call = known ?? new Call(id, now);
    this.calls.set(id, call);
    this.#fields(call, update, now);
    this.#terminals(call, update, now);
    this.#fallback(call, now);
    return { call, isNew: known === undefined };
  }

  /** `_placard/terminal_state`: what our own agent knows beyond the convention. */
  terminalState(terminalId: string, state: string): void {
    const card = this.cards.get(terminalId);
    if (card === undefined) return;
    card.waiting = state === 'waiting';
    card.leftRunning = state === 'left_running' || (state === 'running' && this.#owners.get(terminalId)?.isOpen === false);
  }

  /** The turn is over: what has no result will, as far as is known, get none (rule R9). */
  endTurn(now: number): void {
    for (const call of this.calls.values()) {
      if (!call.isOpen) continue;
      call.noResult = true;
      call.endedAt ??= now;
    }
  }

  ownerOf(terminalId: string): Call | undefined {
    return this.#owners.get(terminalId);
  }

  #fields(call: Call, update: Json, now: number): void {
    const title = textIn(update, 'title');
    if (title !== undefined) call.title = title;
    const kind = textIn(update, 'kind');
    if (kind !== undefined) call.kind = kind;
    if ('rawInput' in update) call.rawInput = update['rawInput'];
    if ('rawOutput' in update) call.rawOutput = update['rawOutput'];
    const locations = listIn(update, 'locations');
    if (locations !== undefined) call.locations = locations.filter(isRecord);
    const content = listIn(update, 'content');
    if (content !== undefined) {
      call.content = content.filter(isRecord);
      for (const block of call.content) {
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
    if (status === 'pending' || status === 'in_progress') return;
    call.noResult = false;
    call.endedAt ??= now;
  }

  /** The card of `terminalId`, standing in `call`. */
  #place(call: Call, terminalId: string): Card {
    let card = this.cards.get(terminalId);
    if (card === undefined) {
      card = new Card(terminalId);
      this.cards.set(terminalId, card);
    }
    const owner = this.#owners.get(terminalId);
    if (owner === call) return card;
    if (owner !== undefined) {
      // What came early was kept at the call that carried it (rule R2); who announces the card owns it.
      if (card.announced) return card;
      owner.cards = owner.cards.filter((other) => other !== card);
    }
    this.#owners.set(terminalId, call);
    call.cards = [...call.cards, card];
    return card;
  }

  /** The card that an output or exit is meant for: the named one, or the call's only one (rule R14). */
  #meant(call: Call, item: Json): Card | undefined {
    const id = idIn(item);
    if (id === undefined) return call.cards.length === 1 ? call.cards[0] : undefined;
    // Output of a terminal that nobody announced makes one for its call (rules R2 and R13).
    return this.cards.get(id) ?? this.#place(call, id);
  }

  #terminals(call: Call, update: Json, now: number): void {
    const meta = recordIn(update, '_meta');
    if (meta === undefined) return;
    const info = recordIn(meta, 'terminal_info');
    const infoId = info === undefined ? undefined : idIn(info);
    if (info !== undefined && infoId !== undefined) {
      const card = this.#place(call, infoId);
      card.announced = true;
      const cwd = textIn(info, 'cwd');
      if (cwd !== undefined) card.cwd = cwd;
    }
    const output = recordIn(meta, 'terminal_output_delta') ?? recordIn(meta, 'terminal_output');
    const data = output === undefined ? undefined : textIn(output, 'data');
    if (output !== undefined && data !== undefined) {
      const card = this.#meant(call, output);
      if (card !== undefined) this.#print(card, data);
    }
    const exit = recordIn(meta, 'terminal_exit');
    if (exit !== undefined) {
      const card = this.#meant(call, exit);
      if (card !== undefined && (card.exit === null || card.exitIsGuess)) {
        card.exitIsGuess = false;
        card.exit = {
          code: numberIn(exit, 'exit_code') ?? numberIn(exit, 'exitCode') ?? null,
          signal: textIn(exit, 'signal') ?? null,
        };
        card.endedAt = now;
        card.waiting = false;
      }
    }
    const ours = recordIn(meta, 'placard');
    if (ours !== undefined && call.card !== null) {
      if (ours['timed_out'] === true) call.card.timedOut = true;
      if (ours['left_running'] === true) call.card.leftRunning = true;
    }
  }

  #print(card: Card, data: string): void {
    if (data === '') return;
    if (!card.streamed) {
      card.streamed = true;
      // A text from elsewhere gives way to the terminal's own output (rule R11).
      if (card.output.length > 0) {
        card.output.replace(data);
        return;
      }
    }
    card.output.append(data);
  }

  /** Nothing streamed: the text and the exit come from `rawOutput` or the content, if they have any (rules R10 and R11). */
  #fallback(call: Call, now: number): void {
    if (call.cards.length > 1 || !call.isCommand) return;
    if (call.cards.length === 1) call.standIn = null;
    else call.standIn ??= new Card('');
    const card = call.card;
    if (card === null || card.streamed) return;
    const text = textOfRawOutput(call.rawOutput) ?? sortContent(call.content).output.join('\n');
    if (text !== '') card.output.replace(text);
    const code = exitOfRawOutput(call.rawOutput);
    if (code !== undefined && card.exit === null) {
      card.exitIsGuess = true;
      card.exit = { code, signal: null };
      card.endedAt ??= now;
    }
  }
}
