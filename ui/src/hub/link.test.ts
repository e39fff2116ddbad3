import { describe, expect, it } from 'vitest';
import type { Transport, TransportEvents } from '../transport/transport';
import { backOff } from './back_off';
import type { AgentState, Frame } from './envelope';
import { HubLink, type LinkHost } from './link';

class HandTransport implements Transport {
  opened: number[] = [];
  sent: unknown[] = [];
  events: TransportEvents | null = null;

  open(after: number, events: TransportEvents): void {
    this.opened.push(after);
    this.events = events;
  }
  send(text: string): boolean {
    this.sent.push(JSON.parse(text));
    return true;
  }
  say(message: unknown): void {
    this.events?.message(JSON.stringify(message));
  }
}

class NotingHost implements LinkHost {
  notes: unknown[] = [];
  open = false;
  drawn: (() => void)[] = [];
  holds = false;

  reset(): void {
    this.notes.push('reset');
  }
  attached(cwd: string, agent: AgentState, caughtUpAt: number, lostBefore: number): void {
    this.notes.push(['attached', cwd, agent.state, caughtUpAt, lostBefore]);
  }
  frame(frame: Frame): void {
    this.notes.push(frame.n);
  }
  batchEnd(): Promise<void> {
    return this.holds ? new Promise((resolve) => this.drawn.push(resolve)) : Promise.resolve();
  }
  agent(agent: AgentState): void {
    this.notes.push(agent);
  }
  lost(reason: string, attempt: number): void {
    this.notes.push(['lost', reason, attempt]);
  }
  hasOpenRequests(): boolean {
    return this.open;
  }
}

function setUp(): { transport: HandTransport; host: NotingHost; link: HubLink; later: (() => void)[] } {
  const transport = new HandTransport();
  const host = new NotingHost();
  const later: (() => void)[] = [];
  const link = new HubLink(transport, host, (run) => later.push(run));
  link.connect();
  return { transport, host, link, later };
}

const attached = (after: number, last: number): unknown => ({
  type: 'attached',
  after,
  last,
  cwd: '/w',
  agent: { state: 'running', name: 'a' },
});
const frames = (...numbers: number[]): unknown => ({
  type: 'frames',
  frames: numbers.map((n) => ({ n, t: 5, dir: 'a2c', frame: { jsonrpc: '2.0', method: 'x' } })),
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the link to the hub', () => {
  it('attaches from the start, folds batches in order and acknowledges the last frame of each', async () => {
    const { transport, host } = setUp();
    transport.say(attached(0, 3));
    transport.say(frames(1, 2));
    transport.say(frames(3));
    await turn();
    expect([transport.opened, host.notes, transport.sent]).toEqual([
      [0],
      [['attached', '/w', 'running', 3, 0], 1, 2, 3],
      [
        { type: 'ack', n: 2 },
        { type: 'ack', n: 3 },
      ],
    ]);
  });

  it('acknowledges a batch only when its terminal output was drawn', async () => {
    const { transport, host } = setUp();
    host.holds = true;
    transport.say(attached(0, 1));
    transport.say(frames(1));
    await turn();
    expect(transport.sent).toEqual([]);
    host.drawn[0]?.();
    await turn();
    expect(transport.sent).toEqual([{ type: 'ack', n: 1 }]);
  });

  it('comes back after a loss where it was, and hears nothing twice', () => {
    const { transport, host, later } = setUp();
    transport.say(attached(0, 2));
    transport.say(frames(1, 2));
    transport.events?.closed('gone');
    later.shift()?.();
    transport.say(attached(2, 3));
    transport.say(frames(2, 3));
    expect([transport.opened, host.notes]).toEqual([
      [0, 2],
      [['attached', '/w', 'running', 2, 0], 1, 2, ['lost', 'gone', 0], ['attached', '/w', 'running', 3, 0], 3],
    ]);
  });

  it('comes back from the start when requests of its own are open: their answers would bear unknown ids', () => {
    const { transport, host, later } = setUp();
    transport.say(attached(0, 1));
    transport.say(frames(1));
    host.open = true;
    transport.events?.closed('gone');
    later.shift()?.();
    transport.say(attached(0, 1));
    expect([transport.opened, host.notes.slice(-2)]).toEqual([[0, 0], ['reset', ['attached', '/w', 'running', 1, 0]]]);
  });

  it('forgets everything when another hub answers', () => {
    const { transport, host, later } = setUp();
    transport.say(attached(0, 5));
    transport.say(frames(1, 2, 3, 4, 5));
    transport.events?.closed('gone');
    later.shift()?.();
    transport.say(attached(2, 2));
    transport.say(attached(0, 2));
    expect([transport.opened, host.notes.slice(-2)]).toEqual([[0, 5, 0], ['reset', ['attached', '/w', 'running', 2, 0]]]);
  });

  it('says how much the hub no longer holds', () => {
    const { transport, host } = setUp();
    transport.say(attached(40, 50));
    transport.say(frames(41));
    expect(host.notes).toEqual(['reset', ['attached', '/w', 'running', 50, 40], 41]);
  });

  it('a late acknowledgement of an earlier attachment is not sent', async () => {
    const { transport, host, later } = setUp();
    host.holds = true;
    transport.say(attached(0, 1));
    transport.say(frames(1));
    transport.events?.closed('gone');
    later.shift()?.();
    transport.say(attached(1, 1));
    host.drawn[0]?.();
    await turn();
    expect(transport.sent).toEqual([]);
  });

  it('sends nothing while it is not attached, and lets what it does not know pass by', () => {
    const { transport, host, link } = setUp();
    transport.say({ type: 'confetti' });
    transport.events?.message('not json');
    expect([link.send({ jsonrpc: '2.0', method: 'x' }), link.restartAgent(), transport.sent, host.notes]).toEqual([
      false,
      false,
      [],
      [],
    ]);
  });

  it('waits longer each time, up to a bound', () => {
    expect([0, 1, 2, 5, 50].map(backOff)).toEqual([250, 500, 1000, 8000, 8000]);
  });
});
