import { describe, expect, it } from 'vitest';
import { elapsedWords, pill, type PillFacts } from './pill';

const RUNNING: PillFacts = {
  asks: false,
  refused: false,
  status: 'in_progress',
  exit: null,
  noResult: false,
  waiting: false,
  goesOn: false,
  timedOut: false,
  leftRunning: false,
  elapsed: 12_400,
};

describe('the words of the pill', () => {
  const cases: [string, Partial<PillFacts>, { state: string; tone: string; words: string }][] = [
    ['a running command', {}, { state: 'running', tone: 'run', words: 'running · 12 s' }],
    ['one that waits for input', { waiting: true }, { state: 'waiting', tone: 'ask', words: 'waiting for input' }],
    ['one that goes on in the background', { status: 'completed', goesOn: true }, { state: 'running', tone: 'run', words: 'running · 12 s' }],
    [
      'one in the background that waits for input',
      { status: 'completed', goesOn: true, waiting: true },
      { state: 'waiting', tone: 'ask', words: 'waiting for input' },
    ],
    ['one that waits for leave', { asks: true, status: 'pending' }, { state: 'asks', tone: 'ask', words: 'asks' }],
    [
      'success',
      { status: 'completed', exit: { code: 0, signal: null }, elapsed: 400 },
      { state: 'ok', tone: 'ok', words: 'ok · 0.4 s' },
    ],
    [
      'an exit code',
      { status: 'failed', exit: { code: 101, signal: null }, elapsed: 41_200 },
      { state: 'failed', tone: 'bad', words: 'exit 101 · 41 s' },
    ],
    [
      'a negative exit code',
      { status: 'failed', exit: { code: -1, signal: null }, elapsed: 1000 },
      { state: 'failed', tone: 'bad', words: 'exit -1 · 1 s' },
    ],
    [
      'a code above 255',
      { status: 'completed', exit: { code: 3_221_225_786, signal: null }, elapsed: 1000 },
      { state: 'failed', tone: 'bad', words: 'exit 3221225786 · 1 s' },
    ],
    [
      'a death by signal',
      { status: 'failed', exit: { code: null, signal: 'SIGKILL' }, elapsed: 3000 },
      { state: 'killed', tone: 'bad', words: 'killed by SIGKILL · 3 s' },
    ],
    [
      'a signal told with its code',
      { status: 'failed', exit: { code: 137, signal: 'SIGKILL' }, elapsed: 3000 },
      { state: 'killed', tone: 'bad', words: 'killed by SIGKILL · 3 s' },
    ],
    [
      'a time-out',
      { status: 'failed', exit: { code: null, signal: 'SIGTERM' }, timedOut: true, elapsed: 120_000 },
      { state: 'timed-out', tone: 'bad', words: 'timed out · 120 s' },
    ],
    [
      'an unknown end, which is never a success',
      { status: 'completed', exit: { code: null, signal: null } },
      { state: 'ended', tone: 'plain', words: 'ended · no exit code' },
    ],
    ['a final status without exit', { status: 'completed' }, { state: 'ended', tone: 'plain', words: 'ended · no exit code' }],
    [
      'a refused command',
      { status: 'failed', refused: true, exit: { code: null, signal: null } },
      { state: 'refused', tone: 'plain', words: 'refused' },
    ],
    ['a refused command that was never closed', { noResult: true, refused: true }, { state: 'refused', tone: 'plain', words: 'refused' }],
    ['a command left running', { status: 'completed', leftRunning: true }, { state: 'left-running', tone: 'plain', words: 'left running' }],
    ['a call without result', { noResult: true }, { state: 'no-result', tone: 'plain', words: 'no result' }],
    [
      'exit 0 of a call that its agent calls failed',
      { status: 'failed', exit: { code: 0, signal: null }, elapsed: 1000 },
      { state: 'failed', tone: 'bad', words: 'exit 0 · 1 s' },
    ],
  ];
  it.each(cases)('says %s', (_name, facts, expected) => {
    expect(pill({ ...RUNNING, ...facts })).toEqual(expected);
  });

  it.each([
    [0, true, '0.0 s'],
    [2340, true, '2.3 s'],
    [9_960, true, '10 s'],
    [599_400, true, '599 s'],
    [60_000 * 12, true, '12 min'],
    [60_000 * 125, true, '2 h 5 min'],
    [900, false, '0 s'],
    [59_900, false, '59 s'],
  ])('writes %d ms (over: %s) as %s', (ms, over, words) => {
    expect(elapsedWords(ms, over)).toBe(words);
  });
});
