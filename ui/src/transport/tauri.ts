import { Channel, invoke } from '@tauri-apps/api/core';
import type { Transport, TransportEvents } from './transport';

/** The hub over the window's IPC. The only file of the page that knows the desktop shell. */
export class TauriTransport implements Transport {
  #events: TransportEvents | null = null;
  // Commands run concurrently on the other side; one after the other keeps the page's messages in order.
  #queue: Promise<unknown> = Promise.resolve();

  open(after: number, events: TransportEvents): void {
    this.#events = events;
    const channel = new Channel<string>();
    channel.onmessage = (text) => {
      if (this.#events === events) events.message(text);
    };
    this.#queue = invoke('hub_attach', { after, channel }).catch((error: unknown) => this.#close(events, error));
  }

  send(text: string): boolean {
    const events = this.#events;
    if (events === null) return false;
    this.#queue = this.#queue
      .then(() => invoke('hub_send', { message: text }))
      .catch((error: unknown) => this.#close(events, error));
    return true;
  }

  #close(events: TransportEvents, error: unknown): void {
    if (this.#events !== events) return;
    this.#events = null;
    events.closed(error instanceof Error ? error.message : String(error));
  }
}
