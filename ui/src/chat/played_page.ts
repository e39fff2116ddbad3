// The whole page over a hub that is played by hand: for the tests of what is drawn.
import { flushSync, mount, unmount } from 'svelte';
import { vi } from 'vitest';
import App from '../App.svelte';
import type { Json } from '../acp/wire';
import { Desk } from '../shell/desk.svelte';
import type { Transport, TransportEvents } from '../transport/transport';

/** What the page needs of a browser and jsdom does not have. No card is ever near, so no emulator is made. */
class Watcher {
  observe(): void {}
  disconnect(): void {}
}

/** Lets what waits for an answer go on. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

export class HandHub implements Transport {
  events: TransportEvents | null = null;
  sent: Json[] = [];
  #n = 0;

  open(_after: number, events: TransportEvents): void {
    this.events = events;
  }
  send(text: string): boolean {
    const { frame } = JSON.parse(text) as { frame?: Json };
    if (frame !== undefined) this.sent.push(frame);
    return true;
  }
  say(message: unknown): void {
    this.events?.message(JSON.stringify(message));
  }
  frame(dir: 'c2a' | 'a2c', frame: Json): void {
    this.say({ type: 'frames', frames: [{ n: (this.#n += 1), t: Date.now(), dir, frame: { jsonrpc: '2.0', ...frame } }] });
    flushSync();
  }
  /** Answers the page's last request. */
  async answer(outcome: Json): Promise<void> {
    await settled();
    const id = this.sent.at(-1)?.['id'];
    this.say({ type: 'frames', frames: [{ n: (this.#n += 1), t: Date.now(), dir: 'a2c', own: true, frame: { jsonrpc: '2.0', id, ...outcome } }] });
    await settled();
    flushSync();
  }
  update(update: Json): void {
    this.frame('a2c', { method: 'session/update', params: { sessionId: 's', update } });
  }
}

export let hub: HandHub;
let page: ReturnType<typeof mount>;

export function part<T extends HTMLElement = HTMLElement>(name: string): T {
  const element = document.querySelector<T>(`[data-testid=${name}]`);
  if (element === null) throw new Error(`there is no ${name} on the page`);
  return element;
}

export function parts(name: string): string[] {
  return [...document.querySelectorAll(`[data-testid=${name}]`)].map((element) => element.textContent?.trim() ?? '');
}

export function press(target: HTMLElement, init: KeyboardEventInit): KeyboardEvent {
  const event = new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init });
  target.dispatchEvent(event);
  flushSync();
  return event;
}

export const COMMAND: Json = {
  sessionUpdate: 'tool_call',
  toolCallId: 'c',
  title: 'rm -r build',
  kind: 'execute',
  status: 'pending',
  content: [
    { type: 'content', content: { type: 'text', text: 'Clears the build' } },
    { type: 'terminal', terminalId: 't' },
  ],
  _meta: { terminal_info: { terminal_id: 't', cwd: '/home/ada/atlas' } },
};
export const QUESTION: Json = {
  id: 'q',
  method: 'session/request_permission',
  params: {
    sessionId: 's',
    toolCall: { toolCallId: 'c' },
    options: [
      { optionId: 'y', name: 'Allow once', kind: 'allow_once' },
      { optionId: 'a', name: 'Always allow rm', kind: 'allow_always' },
      { optionId: 'n', name: 'Reject', kind: 'reject_once' },
    ],
  },
};

/** A page that is attached, with one session `s`; `capabilities` are those of its agent. */
export function openPage(capabilities?: Json): void {
  vi.stubGlobal('IntersectionObserver', Watcher);
  vi.stubGlobal('ResizeObserver', Watcher);
  hub = new HandHub();
  const desk = new Desk(hub);
  page = mount(App, { target: document.body, props: { desk } });
  desk.start();
  hub.say({ type: 'attached', after: 0, last: capabilities === undefined ? 2 : 4, cwd: '/home/ada/atlas', agent: { state: 'running', name: 'agent' } });
  if (capabilities !== undefined) {
    hub.frame('c2a', { id: 'hub', method: 'initialize', params: {} });
    hub.frame('a2c', { id: 'hub', result: { agentCapabilities: capabilities } });
  }
  hub.frame('c2a', { id: 1, method: 'session/new', params: { cwd: '/home/ada/atlas' } });
  hub.frame('a2c', { id: 1, result: { sessionId: 's' } });
}

export async function closePage(): Promise<void> {
  await unmount(page);
  vi.useRealTimers();
  vi.unstubAllGlobals();
}
