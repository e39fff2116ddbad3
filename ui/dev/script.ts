import type { Json } from '../src/acp/wire';
import type { Frame } from '../src/hub/envelope';

type Bare = Omit<Frame, 'n'>;

/** Writes a connection's frames in order, with a clock of its own that ends now. */
export class Script {
  readonly frames: Bare[] = [];
  #id = 0;
  #now: number;

  constructor(secondsAgo: number) {
    this.#now = Date.now() - secondsAgo * 1000;
    this.ask('initialize', { protocolVersion: 1 }, {
      protocolVersion: 1,
      agentCapabilities: { _meta: { placard: { terminal_input: true, terminal_stop: true, terminal_state: true } } },
      agentInfo: { name: 'placard', title: 'Placard agent', version: '0.1.0' },
    });
  }

  wait(seconds: number): this {
    this.#now += seconds * 1000;
    return this;
  }

  #push(dir: 'c2a' | 'a2c', frame: Json): void {
    this.frames.push({ t: this.#now, dir, own: false, frame: { jsonrpc: '2.0', ...frame } });
  }

  request(method: string, params: Json): number {
    const id = ++this.#id;
    this.#push('c2a', { id, method, params });
    return id;
  }

  result(id: number, result: Json): this {
    this.#push('a2c', { id, result });
    return this;
  }

  error(id: number, message: string): this {
    this.#push('a2c', { id, error: { code: -32603, message } });
    return this;
  }

  ask(method: string, params: Json, result: Json): this {
    return this.result(this.request(method, params), result);
  }

  session(sessionId: string, cwd: string, title?: string): this {
    this.ask('session/new', { cwd, mcpServers: [] }, {
      sessionId,
      modes: { currentModeId: 'asks', availableModes: [{ id: 'asks', name: 'Asks before it acts' }] },
      _meta: { placard: { model: 'anthropic/some-model' } },
    });
    return title === undefined ? this : this.update(sessionId, { sessionUpdate: 'session_info_update', title });
  }

  prompt(sessionId: string, text: string): number {
    return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  update(sessionId: string, update: Json): this {
    this.#push('a2c', { method: 'session/update', params: { sessionId, update } });
    return this;
  }

  say(sessionId: string, text: string): this {
    return this.update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  command(sessionId: string, id: string, command: string, cwd: string, description?: string, ours: Json = {}): this {
    const content: Json[] = [{ type: 'terminal', terminalId: `t-${id}` }];
    if (description !== undefined) content.unshift({ type: 'content', content: { type: 'text', text: description } });
    return this.update(sessionId, {
      sessionUpdate: 'tool_call',
      toolCallId: id,
      title: command,
      kind: 'execute',
      status: 'in_progress',
      rawInput: { command },
      content,
      _meta: { terminal_info: { terminal_id: `t-${id}`, cwd }, placard: ours },
    });
  }

  /** The call is over, and its command goes on. */
  goesOn(sessionId: string, id: string): this {
    return this.update(sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      status: 'completed',
      _meta: { placard: { background: true } },
    });
  }

  state(sessionId: string, id: string, state: string): this {
    this.#push('a2c', { method: '_placard/terminal_state', params: { sessionId, terminalId: `t-${id}`, state } });
    return this;
  }

  /** A command ends that printed a picture. */
  picture(sessionId: string, id: string, mimeType: string, data: string): this {
    return this.update(sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      status: 'completed',
      content: [{ type: 'terminal', terminalId: `t-${id}` }, { type: 'content', content: { type: 'image', mimeType, data } }],
      _meta: { terminal_exit: { terminal_id: `t-${id}`, exit_code: 0, signal: null } },
    });
  }

  print(sessionId: string, id: string, data: string): this {
    return this.update(sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      _meta: { terminal_output_delta: { terminal_id: `t-${id}`, data } },
    });
  }

  exit(sessionId: string, id: string, code: number | null, signal: string | null = null): this {
    return this.update(sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      status: code === 0 ? 'completed' : 'failed',
      _meta: { terminal_exit: { terminal_id: `t-${id}`, exit_code: code, signal } },
    });
  }

  permission(sessionId: string, id: string, always: string): this {
    this.#push('a2c', {
      id: `q-${id}`,
      method: 'session/request_permission',
      params: {
        sessionId,
        toolCall: { toolCallId: id, status: 'pending' },
        options: [
          { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
          { optionId: 'always', name: always, kind: 'allow_always' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      },
    });
    return this;
  }

  /** The person's answer to the question about a call. */
  answer(id: string, optionId: string): this {
    this.#push('c2a', { id: `q-${id}`, result: { outcome: { outcome: 'selected', optionId } } });
    return this;
  }
}
