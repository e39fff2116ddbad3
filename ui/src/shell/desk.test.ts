import { describe, expect, it } from 'vitest';
import type { Json } from '../acp/wire';
import type { Transport, TransportEvents } from '../transport/transport';
import { Desk } from './desk.svelte';

/** A hub of one agent, which answers by hand. */
class HandHub implements Transport {
  #events: TransportEvents | null = null;
  #n = 0;
  sent: Json[] = [];
  acks: number[] = [];
  others: Json[] = [];

  open(_after: number, events: TransportEvents): void {
    this.#events = events;
  }
  send(text: string): boolean {
    const message = JSON.parse(text) as { type: string; frame?: Json; n?: number };
    if (message.type === 'frame' && message.frame !== undefined) this.sent.push(message.frame);
    else if (message.type === 'ack') this.acks.push(message.n ?? 0);
    else this.others.push(message);
    return true;
  }
  say(message: unknown): void {
    this.#events?.message(JSON.stringify(message));
  }
  attached(state = 'running', last = 0): void {
    this.say({ type: 'attached', after: 0, last, cwd: '/offered', agent: { state, name: 'agent' } });
  }
  frame(dir: 'c2a' | 'a2c', frame: Json, own = false): void {
    this.say({ type: 'frames', frames: [{ n: (this.#n += 1), t: 1000, dir, own, frame: { jsonrpc: '2.0', ...frame } }] });
  }
  /** Answers the last request that the page sent, echo first, as a hub does. */
  async answer(result: Json): Promise<void> {
    const request = this.sent.at(-1) ?? {};
    if (request['method'] === 'initialize') {
      this.say({ type: 'frames', frames: [{ n: 0, t: 0, dir: 'a2c', own: true, frame: { id: request['id'], result } }] });
    } else {
      this.frame('c2a', request, true);
      this.frame('a2c', { id: request['id'], result }, true);
    }
    await settled();
  }
  methods(): unknown[] {
    return this.sent.map((frame) => frame['method'] ?? 'answer');
  }
  closed(): void {
    this.#events?.closed('gone');
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function atWork(): Promise<{ desk: Desk; hub: HandHub }> {
  const hub = new HandHub();
  const desk = new Desk(hub);
  desk.start();
  hub.attached();
  await hub.answer({ protocolVersion: 1 });
  await hub.answer({ sessionId: 's1' });
  return { desk, hub };
}

describe('the desk', () => {
  it('greets the agent and opens a session in the offered folder when there is none', async () => {
    const { desk, hub } = await atWork();
    expect(hub.sent.map(({ method, params }) => [method, params])).toEqual([
      [
        'initialize',
        {
          protocolVersion: 1,
          clientCapabilities: { _meta: { terminal_output: true, terminal_output_delta: true, placard: { terminal_input: true } } },
          clientInfo: { name: 'placard-window', title: 'Placard', version: '0.1.0' },
        },
      ],
      ['session/new', { cwd: '/offered', mcpServers: [] }],
    ]);
    expect([desk.session?.id, desk.session?.cwd, desk.cannotSend]).toEqual(['s1', '/offered', null]);
  });

  it('opens no session where the spool has one', async () => {
    const hub = new HandHub();
    const desk = new Desk(hub);
    desk.start();
    hub.attached('running', 2);
    expect(hub.sent).toEqual([]);
    hub.frame('c2a', { id: 1, method: 'session/new', params: { cwd: '/w' } });
    hub.frame('a2c', { id: 1, result: { sessionId: 'old' } });
    await hub.answer({ protocolVersion: 1 });
    expect([hub.methods(), desk.session?.id]).toEqual([['initialize'], 'old']);
  });

  it('waits for an agent that is starting, and then sends what was written meanwhile', async () => {
    const hub = new HandHub();
    const desk = new Desk(hub);
    desk.start();
    hub.attached('starting');
    desk.draft = '$ ls';
    desk.sendDraft();
    expect([hub.sent, desk.sendsWhenReady]).toEqual([[], true]);
    hub.say({ type: 'agent', agent: { state: 'running', name: 'agent' } });
    await hub.answer({ protocolVersion: 1 });
    await hub.answer({ sessionId: 's1' });
    expect(hub.sent.at(-1)).toEqual({
      jsonrpc: '2.0',
      id: 3,
      method: 'session/prompt',
      params: { sessionId: 's1', prompt: [{ type: 'text', text: '$ ls' }] },
    });
    expect([desk.draft, desk.sendsWhenReady]).toEqual(['', false]);
  });

  it('keeps the draft of each session', async () => {
    const { desk, hub } = await atWork();
    desk.draft = 'for one';
    const opening = desk.newSession('/other');
    await hub.answer({ sessionId: 's2' });
    expect([await opening, desk.session?.id, desk.draft]).toEqual([true, 's2', '']);
    const [first] = desk.connection.sessions;
    if (first !== undefined) desk.select(first);
    expect(desk.draft).toBe('for one');
  });

  it('stops a turn by session/cancel, and answers its open questions', async () => {
    const { desk, hub } = await atWork();
    desk.draft = 'go';
    desk.sendDraft();
    hub.frame('c2a', hub.sent.at(-1) ?? {}, true);
    hub.frame('a2c', { id: 'q', method: 'session/request_permission', params: { sessionId: 's1', toolCall: { toolCallId: 'c' }, options: [] } });
    desk.stop();
    expect(hub.sent.slice(-2)).toEqual([
      { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's1' } },
      { jsonrpc: '2.0', id: 'q', result: { outcome: { outcome: 'cancelled' } } },
    ]);
  });

  it('sends no second prompt while one is in flight, and keeps its text', async () => {
    const { desk, hub } = await atWork();
    desk.draft = 'one';
    desk.sendDraft();
    hub.frame('c2a', hub.sent.at(-1) ?? {}, true);
    const sent = hub.sent.length;
    desk.draft = 'two';
    desk.sendDraft();
    expect([hub.sent.length, desk.draft]).toEqual([sent, 'two']);
  });

  it('refuses a request that it does not know', async () => {
    const { hub } = await atWork();
    hub.frame('a2c', { id: 9, method: '_elsewhere/ask', params: {} });
    expect(hub.sent.at(-1)).toEqual({
      jsonrpc: '2.0',
      id: 9,
      error: { code: -32601, message: 'this client does not know _elsewhere/ask' },
    });
  });

  it('after the end of the agent offers a restart, and opens a session in the same folder with the new one', async () => {
    const { desk, hub } = await atWork();
    hub.say({ type: 'agent', agent: { state: 'ended', name: 'agent', message: 'exit 1' } });
    expect([desk.cannotSend, desk.session?.closed]).toEqual(['The agent has ended', true]);
    desk.restartAgent();
    expect(hub.others).toEqual([{ type: 'restart' }]);
    hub.say({ type: 'agent', agent: { state: 'running', name: 'agent' } });
    await hub.answer({ protocolVersion: 1 });
    await hub.answer({ sessionId: 's2' });
    expect([desk.session?.id, desk.session?.cwd, desk.cannotSend]).toEqual(['s2', '/offered', null]);
  });

  it('a page that comes after the end of the agent sees its sessions closed', () => {
    const hub = new HandHub();
    const desk = new Desk(hub);
    desk.start();
    hub.attached('ended', 2);
    hub.frame('c2a', { id: 1, method: 'session/new', params: { cwd: '/w' } });
    hub.frame('a2c', { id: 1, result: { sessionId: 'old' } });
    expect([desk.session?.closed, hub.sent]).toEqual([true, []]);
  });

  it('says why a session could not be opened, and does not try for ever', async () => {
    const hub = new HandHub();
    const desk = new Desk(hub);
    desk.start();
    hub.attached();
    await hub.answer({ protocolVersion: 1 });
    const request = hub.sent.at(-1) ?? {};
    hub.frame('c2a', request, true);
    hub.frame('a2c', { id: request['id'], error: { code: -32602, message: 'no such folder' } }, true);
    await settled();
    expect([desk.connection.sessionError, hub.methods()]).toEqual(['no such folder', ['initialize', 'session/new']]);
  });

  it('says that the connection is lost', async () => {
    const { desk, hub } = await atWork();
    hub.closed();
    expect([desk.reach.state, desk.cannotSend, desk.session?.closed]).toEqual(['lost', 'There is no connection to Placard', false]);
  });
});
