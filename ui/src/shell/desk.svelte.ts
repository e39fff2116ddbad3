import { SvelteSet } from 'svelte/reactivity';
import { AcpClient } from '../acp/client';
import { Connection } from '../acp/connection.svelte';
import type { Permission, PermissionOption } from '../acp/permission.svelte';
import type { Session } from '../acp/session.svelte';
import { idKey } from '../acp/wire';
import type { Call } from '../cards/call.svelte';
import type { AgentState, Frame } from '../hub/envelope';
import { HubLink, type LinkHost } from '../hub/link';
import { WriteGate } from '../terminal/write_gate';
import type { Transport } from '../transport/transport';
import { homeOf } from './paths';

/** How the page stands to the hub. */
export type Reach = { state: 'connecting' } | { state: 'attached' } | { state: 'lost'; reason: string; attempt: number };

/** What the person sits at: the connection, the session that is on screen, and the acts that they can do. */
export class Desk implements LinkHost {
  readonly connection = new Connection();
  readonly gate = new WriteGate();
  readonly #link: HubLink;
  readonly #client: AcpClient;

  reach = $state.raw<Reach>({ state: 'connecting' });
  /** The frames that were there before this page have been folded. */
  caughtUp = $state(false);
  #selectedId = $state<string | null>(null);
  /** Text in the composer, per session, so that switching loses nothing. */
  drafts = $state<Record<string, string>>({});
  /** The person has sent the draft before there was anybody to send it to. */
  sendsWhenReady = $state(false);
  newSessionError = $state<string | null>(null);
  /** How often the person came to where the next thing to do is writing: the composer takes the focus each time. */
  toWriting = $state(0);
  /** Calls whose card is known to have left the view. */
  readonly outOfView = new SvelteSet<Call>();
  now = $state(Date.now());

  #caughtUpAt = 0;
  /** The number of the last frame that was folded. */
  #folded = 0;
  #opening = false;
  /** A session was offered to the agent that runs now: once, so that a refusal is not repeated for ever. */
  #offered = false;
  #greeted = false;
  #refused = new Set<string>();

  constructor(transport: Transport) {
    this.#link = new HubLink(transport, this);
    this.#client = new AcpClient((frame) => this.#link.send(frame));
  }

  start(): void {
    this.#link.connect();
  }

  tick(now: number): void {
    this.now = now;
  }

  /** The session on screen: the chosen one, else the newest that is alive. */
  get session(): Session | null {
    const chosen = this.#selectedId === null ? undefined : this.connection.session(this.#selectedId);
    if (chosen !== undefined) return chosen;
    const { sessions } = this.connection;
    return sessions.findLast((session) => !session.closed) ?? sessions.at(-1) ?? null;
  }

  select(session: Session): void {
    this.#selectedId = session.id;
    this.toWriting += 1;
  }

  /** The home folder, as far as the folder offered for a new session tells it; the only one that is written as `~`. */
  get home(): string {
    return homeOf(this.connection.cwd);
  }

  /** What stands in the composer. What was typed before there was a session belongs to the first that comes. */
  get draft(): string {
    return this.drafts[this.session?.id ?? ''] ?? this.drafts[''] ?? '';
  }

  set draft(text: string) {
    if (this.session !== null) this.drafts[''] = '';
    this.drafts[this.session?.id ?? ''] = text;
    this.sendsWhenReady = false;
  }

  /** Why nothing can be sent now; null when it can. */
  get cannotSend(): string | null {
    const { session } = this;
    if (this.reach.state !== 'attached') return 'There is no connection to Placard';
    if (this.connection.agent.state === 'ended') return 'The agent has ended';
    if (this.connection.agent.state === 'starting') return 'The agent is starting';
    if (session === null) return 'There is no session yet';
    if (session.closed) return 'This session ended with its agent; start a new one';
    return null;
  }

  /** The page has just come up, and what is missing for sending comes by itself. */
  get isStarting(): boolean {
    const { session } = this;
    if (this.reach.state === 'lost' || this.connection.agent.state === 'ended' || session?.closed === true) return false;
    return this.cannotSend !== null && this.connection.sessionError === null;
  }

  /** Whether a line after a dollar sign runs as the person's own command. Nobody has said so before there is a session. */
  get runsDollarLines(): boolean {
    return this.session?.settings.runsDollarLines === true;
  }

  // What the person does.

  /** Sends what stands in the composer. Where that is not possible yet it stays there, and goes as soon as it is. */
  sendDraft(): void {
    const { session, draft } = this;
    if (draft.trim() === '') return;
    if (this.isStarting) {
      this.sendsWhenReady = true;
      return;
    }
    if (session === null || this.cannotSend !== null || session.turn !== null) return;
    if (this.#client.prompt(session, draft)) this.draft = '';
  }

  /** Puts a text into the composer, to be changed and sent. */
  compose(text: string): void {
    this.draft = text;
    this.toWriting += 1;
  }

  stop(session: Session | null = this.session): void {
    if (session !== null && session.turn !== null) this.#client.cancel(session);
  }

  /** False when the answer did not go out. */
  choose(permission: Permission, option: PermissionOption): boolean {
    const went = permission.isOpen && this.#client.choose(permission, option);
    if (went) this.toWriting += 1;
    return went;
  }

  /** Types into a command of the session on screen. Rejected with words for the person when it did not arrive. */
  async typeInto(terminalId: string, data: string): Promise<void> {
    if (this.session !== null) await this.#client.typeInto(this.session, terminalId, data);
  }

  /** Says to such a command that nothing more will be typed. */
  async endInput(terminalId: string): Promise<void> {
    if (this.session !== null) await this.#client.endInput(this.session, terminalId);
  }

  /** Ends one command and nothing else. */
  async stopCommand(terminalId: string): Promise<void> {
    if (this.session !== null) await this.#client.stopCommand(this.session, terminalId);
  }

  restartAgent(): void {
    this.#link.restartAgent();
  }

  /** Opens a session in `cwd` and shows it. True when it was opened; else `newSessionError` says why not. */
  async newSession(cwd: string): Promise<boolean> {
    if (this.#opening) return false;
    this.#opening = true;
    this.newSessionError = null;
    try {
      this.#selectedId = await this.#client.newSession(cwd);
      if (this.sendsWhenReady) this.sendDraft();
      return true;
    } catch (error) {
      this.newSessionError = error instanceof Error ? error.message : String(error);
      return false;
    } finally {
      this.#opening = false;
    }
  }

  // What the hub says.

  reset(): void {
    this.connection.reset();
    this.outOfView.clear();
    this.caughtUp = false;
    this.#folded = 0;
  }

  attached(cwd: string, agent: AgentState, caughtUpAt: number, lostBefore: number): void {
    this.reach = { state: 'attached' };
    this.connection.cwd = cwd;
    this.connection.framesLost = lostBefore;
    this.#caughtUpAt = caughtUpAt;
    this.#greeted = false;
    this.connection.agent = agent;
    if (lostBefore > 0) this.#folded = Math.max(this.#folded, lostBefore);
    // With nothing to catch up on, no batch will come to say so.
    this.#progress(this.#folded);
  }

  frame(frame: Frame): void {
    this.connection.apply(frame);
    this.#client.hear(frame);
    if (frame.n > 0) this.#folded = frame.n;
  }

  batchEnd(lastSeen: number): Promise<void> {
    this.#progress(lastSeen);
    return this.gate.settled();
  }

  agent(agent: AgentState): void {
    const was = this.connection.agent.state;
    this.connection.setAgent(agent, Date.now());
    if (agent.state !== 'running') {
      this.#greeted = false;
      this.#refused.clear();
      this.#client.abandon('The agent has ended.');
    }
    if (agent.state === 'running' && was !== 'running') this.#offered = false;
    this.#begin();
  }

  lost(reason: string, attempt: number): void {
    this.reach = { state: 'lost', reason, attempt };
    this.#client.abandon('The connection to Placard was lost.');
  }

  hasOpenRequests(): boolean {
    return this.connection.hasOwnRequests;
  }

  #progress(lastSeen: number): void {
    if (lastSeen < this.#caughtUpAt) return;
    if (!this.caughtUp) {
      this.caughtUp = true;
      // The frames alone do not say that the agent has ended since.
      if (this.connection.agent.state === 'ended') this.connection.setAgent(this.connection.agent, Date.now());
    }
    for (const owed of this.connection.owedAnswers()) {
      const key = idKey(owed.id);
      // Its echo is under way: once is enough.
      if (this.#refused.has(key)) continue;
      this.#refused.add(key);
      this.#client.refuse(owed);
    }
    this.#begin();
  }

  /** Greets a running agent, and opens a first session where there is none to work in. */
  #begin(): void {
    if (!this.caughtUp || this.reach.state !== 'attached' || this.connection.agent.state !== 'running') return;
    if (!this.#greeted) {
      this.#greeted = true;
      this.#client.initialize().then(
        () => this.#offerSession(),
        () => this.#offerSession(),
      );
    }
  }

  #offerSession(): void {
    if (this.#offered || this.connection.agent.state !== 'running') return;
    this.#offered = true;
    if (this.connection.sessions.some((session) => !session.closed)) {
      if (this.sendsWhenReady) this.sendDraft();
      return;
    }
    void this.newSession(this.session?.cwd || this.connection.cwd);
  }
}
