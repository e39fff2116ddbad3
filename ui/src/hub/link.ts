import type { Json } from '../acp/wire';
import type { Transport } from '../transport/transport';
import { backOff } from './back_off';
import { readHubMessage, type AgentState, type Frame, type PageMessage } from './envelope';

/** Who lives behind the link: the state of the page. */
export interface LinkHost {
  /** Everything known comes again from the spool: forget it. */
  reset(): void;
  /** The hub answered; `caughtUpAt` is the number of the last frame that was there already, `lostBefore` how many are no longer held. */
  attached(cwd: string, agent: AgentState, caughtUpAt: number, lostBefore: number): void;
  frame(frame: Frame): void;
  /** A batch was folded. The promise resolves when what it set going (terminal writes) is done. */
  batchEnd(lastSeen: number): Promise<void>;
  agent(agent: AgentState): void;
  /** The way is gone, for the `attempt`th time (from 0) since it last was there. */
  lost(reason: string, attempt: number): void;
  /** Whether requests of this page are open: under a new attachment their answers would bear ids that it cannot know. */
  hasOpenRequests(): boolean;
}

type Timer = (run: () => void, ms: number) => unknown;

/** Keeps the page attached to the hub: attach, batches in order, acknowledgements, and coming back after a loss. */
export class HubLink {
  #lastSeen = 0;
  #acked = 0;
  #attempt = 0;
  #attached = false;
  /** Distinguishes this attachment from earlier ones, whose late acknowledgements must not be sent. */
  #era = 0;

  constructor(
    private readonly transport: Transport,
    private readonly host: LinkHost,
    private readonly timer: Timer = (run, ms) => setTimeout(run, ms),
  ) {}

  get isAttached(): boolean {
    return this.#attached;
  }

  connect(): void {
    // Own ids belong to one attachment. With requests open, only the spool from its start tells how they ended.
    this.#open(this.host.hasOpenRequests() ? 0 : this.#lastSeen);
  }

  #open(after: number): void {
    const era = ++this.#era;
    this.transport.open(after, {
      message: (text) => {
        if (era === this.#era) this.#receive(text, after);
      },
      closed: (reason) => {
        if (era === this.#era) this.#closed(reason);
      },
    });
  }

  send(frame: Json): boolean {
    return this.#attached && this.#post({ type: 'frame', frame });
  }

  restartAgent(): boolean {
    return this.#attached && this.#post({ type: 'restart' });
  }

  #post(message: PageMessage): boolean {
    return this.transport.send(JSON.stringify(message));
  }

  #closed(reason: string): void {
    this.#attached = false;
    const attempt = this.#attempt++;
    this.host.lost(reason, attempt);
    this.timer(() => this.connect(), backOff(attempt));
  }

  #receive(text: string, asked: number): void {
    const message = readHubMessage(text);
    if (message === null) return;
    switch (message.type) {
      case 'attached': {
        if (asked > 0 && message.last < asked) {
          // Another hub than before: its numbers mean something else.
          this.#forget();
          this.#open(0);
          return;
        }
        if (message.after !== this.#lastSeen) this.#forget();
        this.#lastSeen = message.after;
        this.#acked = message.after;
        this.#attached = true;
        this.#attempt = 0;
        this.host.attached(message.cwd, message.agent, message.last, message.after - Math.min(asked, message.after));
        return;
      }
      case 'frames': {
        for (const frame of message.frames) {
          if (frame.n !== 0) {
            if (frame.n <= this.#lastSeen) continue;
            this.#lastSeen = frame.n;
          }
          this.host.frame(frame);
        }
        const upTo = this.#lastSeen;
        const era = this.#era;
        void this.host.batchEnd(upTo).then(() => {
          if (era !== this.#era || upTo <= this.#acked) return;
          this.#acked = upTo;
          this.#post({ type: 'ack', n: upTo });
        });
        return;
      }
      case 'agent':
        this.host.agent(message.agent);
    }
  }

  #forget(): void {
    this.#lastSeen = 0;
    this.#acked = 0;
    this.host.reset();
  }
}
