/** What a transport tells its owner. */
export interface TransportEvents {
  /** One message of the hub, as JSON text. */
  message(text: string): void;
  /** The way to the hub is gone; `reason` is for people. Said once per opening. */
  closed(reason: string): void;
}

/** A way to the hub. The same page runs over the window's own IPC and over a WebSocket. */
export interface Transport {
  /** Opens the way (again) and asks for every frame with a number above `after`. */
  open(after: number, events: TransportEvents): void;
  /** Sends one message of the page, as JSON text. False when the way is closed: nothing was sent. */
  send(text: string): boolean;
}
