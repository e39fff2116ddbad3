import { CardBoard, type Applied } from '../cards/board';
import type { Call } from '../cards/call.svelte';
import { PlanEntry, SpokenEntry, stopWords, type Entry } from './entry.svelte';
import { Permission } from './permission.svelte';
import { settingsOf, UNTOLD, type Settings } from './settings';
import { isRecord, listIn, recordIn, recordsIn, textIn, type Json, type RpcId } from './wire';

/** A prompt that has no response yet. */
export interface Turn {
  /** The table key of its request. */
  request: string;
  text: string;
  startedAt: number;
  cancelling: boolean;
}

/** The text of a prompt's content blocks; what is not text is named. */
export function promptText(blocks: readonly Json[]): string {
  return blocks.map(blockText).filter((text) => text !== '').join('\n');
}

function blockText(block: Json): string {
  switch (block['type']) {
    case 'text':
      return textIn(block, 'text') ?? '';
    case 'image':
      return '[image]';
    case 'audio':
      return '[audio]';
    case 'resource_link':
      return textIn(block, 'name') ?? textIn(block, 'uri') ?? '';
    case 'resource':
      return textIn(recordIn(block, 'resource') ?? {}, 'uri') ?? '';
    default:
      return '';
  }
}

/** One session of the agent: its transcript and what goes on in it. */
export class Session {
  cwd = $state('');
  #title = $state<string | null>(null);
  #firstPrompt = $state<string | null>(null);
  turn = $state.raw<Turn | null>(null);
  permissions = $state.raw<readonly Permission[]>([]);
  settings = $state.raw<Settings>(UNTOLD);
  lastActivity = $state(0);
  /** The last turn ended with an error or was cut short by the agent's end. */
  failed = $state(false);
  /** The agent process that held the session is gone. */
  closed = $state(false);
  /** Calls without a result, and those whose command goes on after it. */
  liveCalls = $state.raw<readonly Call[]>([]);
  readonly board = new CardBoard();
  /** A plain list under a counter: ten thousand entries are not worth a signal each. */
  #entries: Entry[] = [];
  #entryCount = $state(0);
  /** History is being replayed by `session/load`: the person's words come as updates. */
  #loading = 0;
  #nextKey = 0;

  constructor(readonly id: string) {}

  get title(): string {
    return this.#title ?? this.#firstPrompt ?? 'New session';
  }

  /** The transcript. */
  get entries(): readonly Entry[] {
    void this.#entryCount;
    return this.#entries;
  }

  get isEmpty(): boolean {
    return this.#entryCount === 0;
  }

  get openPermissions(): readonly Permission[] {
    return this.permissions.filter((permission) => permission.isOpen);
  }

  /** Calls whose command runs; first those that wait for somebody. */
  get runningCalls(): Call[] {
    const running = this.liveCalls.filter((call) => call.card !== null && call.isRunning(call.card));
    return running.toSorted((one, other) => Number(other.waits) - Number(one.waits));
  }

  /** Takes what `session/new`, `load` or `resume` answered. */
  opened(cwd: string, result: Json): void {
    if (cwd !== '') this.cwd = cwd;
    this.settings = settingsOf(result, this.settings);
  }

  loading(begun: boolean): void {
    this.#loading += begun ? 1 : -1;
  }

  beginTurn(request: string, params: Json, now: number): void {
    const text = promptText(recordsIn(params, 'prompt'));
    this.#sayUser(text);
    this.turn = { request, text, startedAt: now, cancelling: false };
    this.failed = false;
    this.lastActivity = now;
  }

  cancelTurn(): void {
    if (this.turn !== null) this.turn = { ...this.turn, cancelling: true };
  }

  endTurn(request: string, result: Json, now: number): void {
    if (this.turn?.request !== request) return;
    this.#closeTurn(now);
    const words = stopWords(textIn(result, 'stopReason') ?? 'end_turn');
    if (words !== null) this.#push({ kind: 'outcome', key: this.#key(), failed: false, words, retryText: null });
  }

  /** The prompt was answered by an error. Of a prompt that the agent refused while another runs, only the words come back. */
  failTurn(request: string, words: string, text: string, now: number): void {
    if (this.turn?.request === request) {
      this.#closeTurn(now);
      this.failed = true;
    }
    this.#push({ kind: 'outcome', key: this.#key(), failed: true, words, retryText: text });
  }

  /** The agent's process is gone, and with it the session's turn. */
  close(now: number): void {
    if (this.turn !== null) this.failed = true;
    this.board.endAll(now);
    this.#closeTurn(now);
    this.closed = true;
  }

  ask(requestId: RpcId, params: Json, now: number): Permission {
    const permission = new Permission(requestId, this.id, params, now);
    this.permissions = [...this.permissions, permission];
    const described = recordIn(params, 'toolCall') ?? {};
    const named = textIn(described, 'toolCallId') !== undefined ? described : { ...described, toolCallId: `asked-${this.#nextKey}` };
    const call = this.#taken(this.board.applyAsked(named, now));
    if (call !== null) call.permission = permission;
    this.lastActivity = now;
    return permission;
  }

  settled(permission: Permission, now: number): void {
    for (const call of this.board.calls.values()) {
      // The clock of a command that waited for leave starts with the leave.
      if (call.permission === permission && call.isOpen) call.startedAt = now;
    }
  }

  update(update: Json, now: number): void {
    this.lastActivity = now;
    switch (update['sessionUpdate']) {
      case 'agent_message_chunk':
        this.#speak('assistant', update);
        return;
      case 'agent_thought_chunk':
        this.#speak('thought', update);
        return;
      case 'user_message_chunk':
        this.#hearUser(update);
        return;
      case 'tool_call':
      case 'tool_call_update':
        this.#taken(this.board.apply(update, now));
        return;
      case 'plan':
        this.#plan(update);
        return;
      case 'session_info_update': {
        const title = textIn(update, 'title');
        if (title !== undefined && title.trim() !== '') this.#title = title.trim();
        return;
      }
      case 'current_mode_update':
      case 'config_option_update':
        this.settings = settingsOf(update, this.settings);
    }
  }

  #key(): number {
    return this.#nextKey++;
  }

  #push(entry: Entry): void {
    this.#entries.push(entry);
    this.#entryCount = this.#entries.length;
  }

  #closeTurn(now: number): void {
    this.turn = null;
    this.board.endTurn(now);
    this.liveCalls = this.liveCalls.filter((call) => call.isLive);
    for (const permission of this.openPermissions) permission.settle(null);
    this.lastActivity = now;
  }

  #sayUser(text: string): void {
    if (text === '') return;
    const line = text.trim().split('\n', 1)[0] ?? '';
    this.#firstPrompt ??= line.length > 80 ? `${line.slice(0, 80)}…` : line;
    this.#push({ kind: 'user', key: this.#key(), text });
  }

  #hearUser(update: Json): void {
    const text = promptText([recordIn(update, 'content') ?? {}]);
    const last = this.#entries.at(-1);
    // Some agents repeat the prompt that they were just sent.
    if (this.#loading === 0 && this.turn !== null && last?.kind === 'user') return;
    this.#sayUser(text);
  }

  #speak(kind: 'assistant' | 'thought', update: Json): void {
    const text = promptText([recordIn(update, 'content') ?? {}]);
    if (text === '') return;
    const messageId = textIn(update, 'messageId') ?? null;
    const last = this.#entries.at(-1);
    if (last instanceof SpokenEntry && last.kind === kind && (messageId === null || last.messageId === messageId)) {
      last.text += text;
      return;
    }
    const entry = new SpokenEntry(this.#key(), kind, messageId);
    entry.text = text;
    this.#push(entry);
  }

  /** Gives a call that just came on the board its place in the transcript. */
  #taken(applied: Applied | null): Call | null {
    if (applied === null) return null;
    const { call, isNew } = applied;
    if (isNew) this.#push({ kind: 'call', key: this.#key(), call });
    if (call.isLive !== this.liveCalls.includes(call)) {
      this.liveCalls = call.isLive ? [...this.liveCalls, call] : this.liveCalls.filter((other) => other !== call);
    }
    return call;
  }

  #plan(update: Json): void {
    const steps = (listIn(update, 'entries') ?? []).filter(isRecord).map((step) => ({
      text: textIn(step, 'content') ?? '',
      status: textIn(step, 'status') ?? 'pending',
    }));
    const known = this.#entries.findLast((entry) => entry instanceof PlanEntry);
    const afterLastWords = this.#entries.findLastIndex((entry) => entry.kind === 'user');
    // One plan a turn: a newer state takes its place, an earlier turn's plan stays what it was.
    if (known instanceof PlanEntry && this.#entries.indexOf(known) > afterLastWords) {
      known.steps = steps;
      return;
    }
    const entry = new PlanEntry(this.#key());
    entry.steps = steps;
    this.#push(entry);
  }
}
