/** The words of a card's pill: the state of the command, and how long it ran. */

export type CardState =
  | 'asks'
  | 'waiting'
  | 'running'
  | 'ok'
  | 'failed'
  | 'killed'
  | 'timed-out'
  | 'ended'
  | 'refused'
  | 'no-result'
  | 'left-running';

export type Tone = 'run' | 'ask' | 'ok' | 'bad' | 'plain';

export interface Exit {
  /** Any 64-bit integer; null when the agent gave none. */
  code: number | null;
  signal: string | null;
}

export interface PillFacts {
  asks: boolean;
  refused: boolean;
  status: string;
  exit: Exit | null;
  /** The turn is over and the call never got a result (rule R9). */
  noResult: boolean;
  waiting: boolean;
  /** The call is over, and its command goes on in the background. */
  goesOn: boolean;
  timedOut: boolean;
  leftRunning: boolean;
  /** Milliseconds from its start to its end, or to now. */
  elapsed: number;
}

export interface Pill {
  state: CardState;
  tone: Tone;
  words: string;
}

/** A duration as the pill says it: tenths below ten seconds once it is over, whole seconds while it runs. */
export function elapsedWords(ms: number, over: boolean): string {
  const tenths = Math.max(0, Math.round(ms / 100)) / 10;
  if (over && tenths < 10) return `${tenths === 0 ? '0.0' : tenths} s`;
  const seconds = Math.max(0, over ? Math.round(ms / 1000) : Math.floor(ms / 1000));
  if (seconds < 600) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function isClosed(status: string): boolean {
  return status === 'completed' || status === 'failed';
}

export function pill(facts: PillFacts): Pill {
  const { exit, status } = facts;
  const time = elapsedWords(facts.elapsed, true);
  if (exit === null) {
    if (facts.asks) return { state: 'asks', tone: 'ask', words: 'asks' };
    if (facts.leftRunning) return { state: 'left-running', tone: 'plain', words: 'left running' };
    if (isClosed(status) && !facts.goesOn) {
      return facts.refused
        ? { state: 'refused', tone: 'plain', words: 'refused' }
        : { state: 'ended', tone: 'plain', words: 'ended · no exit code' };
    }
    if (facts.noResult && facts.refused) return { state: 'refused', tone: 'plain', words: 'refused' };
    if (facts.noResult) return { state: 'no-result', tone: 'plain', words: 'no result' };
    if (facts.waiting) return { state: 'waiting', tone: 'ask', words: 'waiting for input' };
    return { state: 'running', tone: 'run', words: `running · ${elapsedWords(facts.elapsed, false)}` };
  }
  if (facts.timedOut) return { state: 'timed-out', tone: 'bad', words: `timed out · ${time}` };
  if (exit.signal !== null) return { state: 'killed', tone: 'bad', words: `killed by ${exit.signal} · ${time}` };
  if (exit.code === null) {
    return facts.refused
      ? { state: 'refused', tone: 'plain', words: 'refused' }
      : { state: 'ended', tone: 'plain', words: 'ended · no exit code' };
  }
  if (facts.leftRunning) return { state: 'left-running', tone: 'plain', words: 'left running' };
  if (exit.code === 0 && status !== 'failed') return { state: 'ok', tone: 'ok', words: `ok · ${time}` };
  return { state: 'failed', tone: 'bad', words: `exit ${exit.code} · ${time}` };
}
