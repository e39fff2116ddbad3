import type { Json } from '../src/acp/wire';
import type { AgentState, Frame } from '../src/hub/envelope';
import type { Transport, TransportEvents } from '../src/transport/transport';

/** What a scene plays: frames that are there at once, and others that come later. */
export interface Scene {
  cwd: string;
  agent: AgentState;
  /** Frames of the spool, without numbers. */
  spool: Omit<Frame, 'n'>[];
  /** What comes live: after so many milliseconds from the attachment. */
  live?: { after: number; frame: Omit<Frame, 'n'> }[];
  lost?: boolean;
  /** Live frames wait until at most so many are not acknowledged, as a real hub's do. */
  window?: number;
}

/** A hub that answers from a script: prompts by a short turn, everything else as the protocol wants it. */
export class PlayedTransport implements Transport {
  #events: TransportEvents | null = null;
  #n = 0;
  #session = 0;
  #acked = 0;
  #queue: Omit<Frame, 'n'>[] = [];

  constructor(private readonly scene: Scene) {}

  open(_after: number, events: TransportEvents): void {
    const { scene } = this;
    if (scene.lost === true && this.#n > 0) {
      setTimeout(() => events.closed('the server went away'), 20);
      return;
    }
    this.#events = events;
    setTimeout(() => {
      this.#say({ type: 'attached', after: 0, last: scene.spool.length, cwd: scene.cwd, agent: scene.agent });
      this.#frames(scene.spool);
      if (scene.window !== undefined) this.#queue = (scene.live ?? []).map(({ frame }) => frame);
      else for (const { after, frame } of scene.live ?? []) setTimeout(() => this.#frames([frame]), after);
      this.#pump();
      if (scene.lost === true) setTimeout(() => events.closed('the server went away'), 300);
    }, 20);
  }

  send(text: string): boolean {
    const message = JSON.parse(text) as { type: string; frame?: Json; n?: number };
    if (message.type === 'ack') {
      this.#acked = message.n ?? 0;
      setTimeout(() => this.#pump());
    }
    const frame = message.frame;
    if (message.type !== 'frame' || frame === undefined) return true;
    if (frame['method'] !== 'initialize') this.#frames([{ t: Date.now(), dir: 'c2a', own: true, frame }]);
    const answer = (result: Json, ms: number): void => {
      const reply = { jsonrpc: '2.0', id: frame['id'], result };
      setTimeout(() => this.#frames([{ t: Date.now(), dir: 'a2c', own: true, frame: reply }]), ms);
    };
    switch (frame['method']) {
      case 'initialize':
        answer({ protocolVersion: 1, agentCapabilities: { _meta: { placard: { terminal_input: true, terminal_stop: true } } }, agentInfo: { name: 'placard', title: 'Placard agent', version: '0.1.0' } }, 5);
        break;
      case 'session/new':
        this.#session += 1;
        answer({ sessionId: `played-${this.#session}` }, 20);
        break;
      case '_placard/terminal_input':
      case '_placard/terminal_stop':
        answer({}, 50);
        break;
      case 'session/prompt':
        answer({ stopReason: 'end_turn' }, 1200);
        break;
    }
    return true;
  }

  #pump(): void {
    while (this.#queue.length > 0 && this.#n - this.#acked < (this.scene.window ?? 0)) {
      const next = this.#queue.shift();
      if (next !== undefined) this.#frames([next]);
    }
  }

  #frames(frames: Omit<Frame, 'n'>[]): void {
    if (frames.length === 0) return;
    this.#say({ type: 'frames', frames: frames.map((frame) => ({ ...frame, n: (this.#n += 1) })) });
  }

  #say(message: unknown): void {
    this.#events?.message(JSON.stringify(message));
  }
}
