import type { AgentState, Frame } from '../hub/envelope';
import type { Permission } from './permission.svelte';
import { promptText, Session } from './session.svelte';
import { NOTHING_OFFERED, terminalOffers, type TerminalOffers } from './terminal_offers';
import { errorWords, idKey, readRpc, recordIn, recordsIn, textIn, type Json, type RpcId } from './wire';

/** A request of the agent that this page answers by itself, because no person can. */
export interface OwedAnswer {
  id: RpcId;
  code: number;
  message: string;
}

interface OpenRequest {
  method: string;
  params: Json;
}

/** Who the agent says it is. */
export interface AgentIdentity {
  name: string;
  version: string;
}

/**
 * The state of one connection, folded from its frames in order. It holds nothing that the frames did not say, so a page
 * that comes late and folds them from the first is in the same state as one that was there.
 */
export class Connection {
  sessions = $state<Session[]>([]);
  agent = $state.raw<AgentState>({ state: 'starting', name: '', message: '' });
  identity = $state.raw<AgentIdentity>({ name: '', version: '' });
  /** What the agent lets a person do with one running command. */
  offers = $state.raw<TerminalOffers>(NOTHING_OFFERED);
  /** The folder to offer for a new session. */
  cwd = $state('');
  /** Why the last session could not be opened. */
  sessionError = $state<string | null>(null);
  /** The folder that it was to be opened in. */
  refusedCwd = $state('');
  /** Frames that the hub no longer held when this page came. */
  framesLost = $state(0);

  #byId = new Map<string, Session>();
  #own = new Map<string, OpenRequest>();
  #foreign = new Map<string, OpenRequest>();
  /** Requests of the agent without an answer: a question, or null for what this page does not know. */
  #asked = new Map<string, { id: RpcId; method: string; permission: Permission | null; withdrawn: boolean }>();

  /** Back to the state before the first frame. */
  reset(): void {
    this.sessions = [];
    this.sessionError = null;
    this.framesLost = 0;
    this.#byId.clear();
    this.#own.clear();
    this.#foreign.clear();
    this.#asked.clear();
  }

  session(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  get hasOwnRequests(): boolean {
    return this.#own.size > 0;
  }

  /** What is open and needs no person: requests that this page does not know, and questions that were withdrawn. */
  owedAnswers(): OwedAnswer[] {
    return [...this.#asked.values()].flatMap(({ id, method, permission, withdrawn }) => {
      if (withdrawn) return [{ id, code: -32800, message: 'the question was withdrawn' }];
      return permission === null ? [{ id, code: -32601, message: `this client does not know ${method}` }] : [];
    });
  }

  setAgent(agent: AgentState, now: number): void {
    this.agent = agent;
    if (agent.state === 'ended') this.#agentGone(now);
  }

  apply(frame: Frame): void {
    const message = readRpc(frame.frame);
    if (message === null) return;
    const now = frame.t;
    if (frame.dir === 'c2a') {
      if (message.kind === 'request') this.#clientAsked(frame, message.id, message.method, message.params);
      else if (message.kind === 'notification') this.#clientTold(message.method, message.params);
      else this.#clientAnswered(message.id, message.kind === 'result' ? message.result : null, now);
      return;
    }
    switch (message.kind) {
      case 'request':
        this.#agentAsked(message.id, message.method, message.params, now);
        return;
      case 'notification':
        this.#agentTold(message.method, message.params, now);
        return;
      default: {
        const table = frame.own ? this.#own : this.#foreign;
        const key = idKey(message.id);
        const request = table.get(key);
        if (request === undefined) return;
        table.delete(key);
        const mark = (frame.own ? 'own ' : 'foreign ') + key;
        if (message.kind === 'result') this.#answered(request, mark, message.result, now);
        else this.#failed(request, mark, errorWords(message.message, message.data), now);
      }
    }
  }

  #clientAsked(frame: Frame, id: RpcId, method: string, params: Json): void {
    const key = idKey(id);
    // The hub greets every agent that it starts: what an earlier one held is gone.
    if (method === 'initialize' && !frame.own && frame.n > 0) this.#agentGone(frame.t);
    (frame.own ? this.#own : this.#foreign).set(key, { method, params });
    const sessionId = textIn(params, 'sessionId');
    if (method === 'session/prompt' && sessionId !== undefined) {
      const session = this.#ensure(sessionId);
      if (session.turn === null) session.beginTurn((frame.own ? 'own ' : 'foreign ') + key, params, frame.t);
    } else if (method === 'session/load' && sessionId !== undefined) {
      this.#ensure(sessionId).loading(true);
    }
  }

  #clientTold(method: string, params: Json): void {
    if (method === 'session/cancel') this.#byId.get(textIn(params, 'sessionId') ?? '')?.cancelTurn();
  }

  #clientAnswered(id: RpcId, result: Json | null, now: number): void {
    const key = idKey(id);
    const asked = this.#asked.get(key);
    if (asked === undefined) return;
    this.#asked.delete(key);
    if (asked.permission === null) return;
    asked.permission.settle(result);
    this.#byId.get(asked.permission.sessionId)?.settled(asked.permission, now);
  }

  #agentAsked(id: RpcId, method: string, params: Json, now: number): void {
    // The hub itself serves these (docs/hub.md).
    if (method.startsWith('fs/') || method.startsWith('terminal/')) return;
    const sessionId = textIn(params, 'sessionId');
    const permission =
      method === 'session/request_permission' && sessionId !== undefined
        ? this.#ensure(sessionId).ask(id, params, now)
        : null;
    this.#asked.set(idKey(id), { id, method, permission, withdrawn: false });
  }

  #agentTold(method: string, params: Json, now: number): void {
    if (method === '$/cancel_request') {
      const id = params['requestId'];
      const asked = typeof id === 'string' || typeof id === 'number' ? this.#asked.get(idKey(id)) : undefined;
      if (asked === undefined) return;
      asked.withdrawn = true;
      asked.permission?.settle(null);
      return;
    }
    const sessionId = textIn(params, 'sessionId');
    if (sessionId === undefined) return;
    if (method === 'session/update') {
      const update = recordIn(params, 'update');
      if (update !== undefined) this.#ensure(sessionId).update(update, now);
    } else if (method === '_placard/terminal_state') {
      const terminalId = textIn(params, 'terminalId') ?? '';
      this.#byId.get(sessionId)?.board.terminalState(terminalId, textIn(params, 'state') ?? '');
    }
  }

  #answered(request: OpenRequest, mark: string, result: Json, now: number): void {
    const { method, params } = request;
    const sessionId = textIn(params, 'sessionId') ?? textIn(result, 'sessionId');
    switch (method) {
      case 'initialize': {
        this.offers = terminalOffers(result);
        const info = recordIn(result, 'agentInfo');
        if (info === undefined) return;
        this.identity = {
          name: textIn(info, 'title') ?? textIn(info, 'name') ?? '',
          version: textIn(info, 'version') ?? '',
        };
        return;
      }
      case 'session/new':
      case 'session/load':
      case 'session/resume': {
        if (sessionId === undefined) return;
        const session = this.#ensure(sessionId);
        session.opened(textIn(params, 'cwd') ?? '', result);
        if (method === 'session/load') session.loading(false);
        session.lastActivity = now;
        this.sessionError = null;
        return;
      }
      case 'session/prompt':
        if (sessionId !== undefined) this.#byId.get(sessionId)?.endTurn(mark, result, now);
    }
  }

  #failed(request: OpenRequest, mark: string, words: string, now: number): void {
    const sessionId = textIn(request.params, 'sessionId') ?? '';
    switch (request.method) {
      case 'session/prompt':
        this.#byId.get(sessionId)?.failTurn(mark, words, promptText(recordsIn(request.params, 'prompt')), now);
        return;
      case 'session/load':
        this.#byId.get(sessionId)?.loading(false);
        this.#refuseSession(request, words);
        return;
      case 'session/new':
      case 'session/resume':
        this.#refuseSession(request, words);
    }
  }

  #refuseSession(request: OpenRequest, words: string): void {
    this.sessionError = words;
    this.refusedCwd = textIn(request.params, 'cwd') ?? '';
  }

  #agentGone(now: number): void {
    for (const session of this.sessions) session.close(now);
    this.#asked.clear();
    this.#foreign.clear();
    this.#own.clear();
  }

  /** An update may come before the answer that names the session. */
  #ensure(id: string): Session {
    let session = this.#byId.get(id);
    if (session === undefined) {
      session = new Session(id);
      this.#byId.set(id, session);
      this.sessions.push(session);
    }
    return session;
  }
}
