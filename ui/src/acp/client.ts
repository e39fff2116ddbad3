import type { Frame } from '../hub/envelope';
import type { OwedAnswer } from './connection.svelte';
import type { Permission, PermissionOption } from './permission.svelte';
import type { Session } from './session.svelte';
import { errorWords, idKey, readRpc, textIn, type Json, type RpcId } from './wire';

interface Waiting {
  resolve(result: Json): void;
  reject(error: Error): void;
}

/** The acting side of the page: what an ACP client sends. What comes of it is read from the frames, like everything else. */
export class AcpClient {
  #nextId = 1;
  #waiting = new Map<string, Waiting>();

  /** `post` hands a message to the hub and says whether it went out. */
  constructor(private readonly post: (frame: Json) => boolean) {}

  initialize(): Promise<Json> {
    return this.#request('initialize', {
      protocolVersion: 1,
      clientCapabilities: {
        _meta: { terminal_output: true, terminal_output_delta: true, placard: { terminal_input: true } },
      },
      clientInfo: { name: 'placard-window', title: 'Placard', version: '0.1.0' },
    });
  }

  /** Opens a session in `cwd` and gives its id. */
  async newSession(cwd: string): Promise<string> {
    const result = await this.#request('session/new', { cwd, mcpServers: [] });
    const id = textIn(result, 'sessionId');
    if (id === undefined) throw new Error('The agent opened a session without saying its id.');
    return id;
  }

  /** False when the way to the hub is closed: the text was not sent. */
  prompt(session: Session, text: string): boolean {
    const id = this.#nextId++;
    return this.post({
      jsonrpc: '2.0',
      id,
      method: 'session/prompt',
      params: { sessionId: session.id, prompt: [{ type: 'text', text }] },
    });
  }

  /** Stops the session's turn. The protocol wants its open questions answered as well. */
  cancel(session: Session): void {
    this.post({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: session.id } });
    for (const permission of session.openPermissions) this.#answer(permission.requestId, { outcome: 'cancelled' });
  }

  /** False when the answer did not go out. */
  choose(permission: Permission, option: PermissionOption): boolean {
    return this.#answer(permission.requestId, { outcome: 'selected', optionId: option.optionId });
  }

  /** Types into the terminal of a running command. Rejected with the agent's words when that was not possible. */
  async typeInto(session: Session, terminalId: string, data: string): Promise<void> {
    await this.#request('_placard/terminal_input', { sessionId: session.id, terminalId, data });
  }

  /** Says that nothing more will be typed. */
  async endInput(session: Session, terminalId: string): Promise<void> {
    await this.#request('_placard/terminal_input', { sessionId: session.id, terminalId, eof: true });
  }

  /** Ends one command; its turn goes on. */
  async stopCommand(session: Session, terminalId: string): Promise<void> {
    await this.#request('_placard/terminal_stop', { sessionId: session.id, terminalId });
  }

  /** Answers a request of the agent by an error. */
  refuse({ id, code, message }: OwedAnswer): void {
    this.post({ jsonrpc: '2.0', id, error: { code, message } });
  }

  /** Hears a frame, to settle what waits for an answer. */
  hear(frame: Frame): void {
    if (!frame.own || frame.dir !== 'a2c') return;
    const message = readRpc(frame.frame);
    if (message === null || (message.kind !== 'result' && message.kind !== 'error')) return;
    const waiting = this.#waiting.get(idKey(message.id));
    if (waiting === undefined) return;
    this.#waiting.delete(idKey(message.id));
    if (message.kind === 'result') waiting.resolve(message.result);
    else waiting.reject(new Error(errorWords(message.message, message.data)));
  }

  /** The attachment is over: no answer to its requests will be known by their ids. */
  abandon(reason: string): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason));
    this.#waiting.clear();
  }

  #answer(id: RpcId, outcome: Json): boolean {
    return this.post({ jsonrpc: '2.0', id, result: { outcome } });
  }

  #request(method: string, params: Json): Promise<Json> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(idKey(id), { resolve, reject });
      if (this.post({ jsonrpc: '2.0', id, method, params })) return;
      this.#waiting.delete(idKey(id));
      reject(new Error('There is no connection to Placard at the moment.'));
    });
  }
}
