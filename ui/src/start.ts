import { mount } from 'svelte';
import '@xterm/xterm/css/xterm.css';
import './app.css';
import App from './App.svelte';
import { Desk } from './shell/desk.svelte';
import type { Transport } from './transport/transport';

declare global {
  interface Window {
    /** For tests that drive the page from outside. */
    placard: {
      /** The plain text of a card, also of one that is off screen; undefined for an unknown id. A card without a terminal goes by its call's id. */
      cardText(terminalId: string): string | undefined;
    };
  }
}

/** Puts the page on screen and attaches it to the hub. */
export function startPage(transport: Transport): Desk {
  const target = document.getElementById('app');
  if (target === null) throw new Error('The page has no element #app to stand in.');
  const desk = new Desk(transport);
  window.placard = {
    cardText: (terminalId) =>
      desk.connection.sessions
        .map(({ board }) => board.card(terminalId) ?? board.calls.get(terminalId)?.card)
        .find((card) => card != null)?.plain,
  };
  mount(App, { target, props: { desk } });
  desk.start();
  return desk;
}
