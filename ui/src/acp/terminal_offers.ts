import { recordIn, type Json } from './wire';

/** What an agent lets a person do with one running command (docs/terminal-extensions.md). */
export interface TerminalOffers {
  /** It takes what is typed. */
  types: boolean;
  /** It ends that command alone. */
  stops: boolean;
}

export const NOTHING_OFFERED: TerminalOffers = { types: false, stops: false };

/** Reads an answer to `initialize`. Only the literal `true` counts. */
export function terminalOffers(initialized: Json): TerminalOffers {
  const meta = recordIn(recordIn(initialized, 'agentCapabilities') ?? {}, '_meta') ?? {};
  const offered = recordIn(meta, 'placard') ?? {};
  return { types: offered['terminal_input'] === true, stops: offered['terminal_stop'] === true };
}
