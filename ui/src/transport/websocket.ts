import type { Transport, TransportEvents } from './transport';

/** The address of the hub's socket on the server that served this page. */
export function hubAddress(location: Pick<Location, 'protocol' | 'host'>): string {
  return `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`;
}

/** The hub over a WebSocket: `placard serve` and a browser tab. Who owns it decides when to open it again. */
export class WebSocketTransport implements Transport {
  #socket: WebSocket | null = null;

  constructor(private readonly address: string) {}

  open(after: number, events: TransportEvents): void {
    this.#socket?.close();
    const socket = new WebSocket(this.address);
    this.#socket = socket;
    let over = false;
    const close = (reason: string): void => {
      if (over || this.#socket !== socket) return;
      over = true;
      this.#socket = null;
      events.closed(reason);
    };
    socket.onopen = () => socket.send(JSON.stringify({ type: 'attach', after }));
    socket.onmessage = (event) => {
      if (this.#socket === socket && typeof event.data === 'string') events.message(event.data);
    };
    socket.onclose = (event) => close(event.reason || 'the connection was closed');
    socket.onerror = () => socket.close();
  }

  send(text: string): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(text);
    return true;
  }
}
