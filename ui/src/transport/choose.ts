import { hubAddress, WebSocketTransport } from './websocket';
import type { Transport } from './transport';

/** Whether the page runs in the desktop window. */
export function inDesktopWindow(): boolean {
  return '__TAURI_INTERNALS__' in window;
}

/** The way to the hub that fits where the page runs. */
export async function chooseTransport(): Promise<Transport> {
  if (inDesktopWindow()) {
    const { TauriTransport } = await import('./tauri');
    return new TauriTransport();
  }
  return new WebSocketTransport(hubAddress(window.location));
}
