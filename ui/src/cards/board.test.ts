import { describe, expect, it } from 'vitest';
import type { Json } from '../acp/wire';
import { CardBoard } from './board';
import { KEPT } from './bounded_text';

const call = (fields: Json): Json => ({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', kind: 'execute', ...fields });
const more = (fields: Json): Json => ({ sessionUpdate: 'tool_call_update', toolCallId: 'c', ...fields });
const info = (cwd?: string): Json => ({ terminal_info: { terminal_id: 't', ...(cwd === undefined ? {} : { cwd }) } });
const output = (data: string, key = 'terminal_output_delta'): Json => ({ [key]: { terminal_id: 't', data } });
const exit = (exit_code: number | null, signal: string | null = null): Json => ({
  terminal_exit: { terminal_id: 't', exit_code, signal },
});
const terminal = [{ type: 'terminal', terminalId: 't' }];
const said = (text: string): Json => ({ type: 'content', content: { type: 'text', text } });

/** What a board knows about its cards, as one value. */
function cards(updates: Json[]): unknown[] {
  const board = new CardBoard();
  updates.forEach((update, index) => board.apply(update, index * 1000));
  return board.cards.map((card) => ({
    id: card.terminalId,
    command: card.call.command,
    cwd: card.cwd,
    text: card.text,
    exit: card.exit,
    status: card.call.status,
  }));
}

const CARD = { id: 't', command: 'ls', cwd: '/w', text: '', exit: null, status: 'pending' };

describe('the card board', () => {
  const cases: [string, Json[], unknown[]][] = [
    [
      'R1: either key adds to the text; of two in one update, that of the delta',
      [
        call({ _meta: info('/w'), content: terminal }),
        more({ _meta: output('1\n') }),
        more({ _meta: output('2\n', 'terminal_output') }),
        more({ _meta: { ...output('3\n'), ...output('1\n2\n3\n', 'terminal_output') } }),
      ],
      [{ ...CARD, text: '1\n2\n3\n' }],
    ],
    [
      'R2: output and exit before the announcement',
      [
        { ...more({ _meta: output('early\n') }), toolCallId: 'other' },
        { ...more({ _meta: exit(3) }), toolCallId: 'other' },
        call({ _meta: info('/w'), content: terminal }),
      ],
      [{ ...CARD, text: 'early\n', exit: { code: 3, signal: null } }],
    ],
    ['R3: content names a terminal that nobody announced', [more({ content: terminal, title: 'ls -l' })], [{ ...CARD, command: 'ls -l', cwd: null }]],
    [
      'R4: title, command and folder come later',
      [
        call({ title: 'Terminal', rawInput: {}, _meta: info(), content: terminal }),
        more({ title: 'Run it', rawInput: { command: ['bash', '-lc', 'make all'] } }),
        more({ _meta: info('/late') }),
      ],
      [{ ...CARD, command: 'make all', cwd: '/late' }],
    ],
    [
      'R5: output after the exit changes no status; an explicit status does',
      [
        call({ _meta: info('/w'), content: terminal, status: 'completed' }),
        more({ _meta: output('late\n') }),
        more({ _meta: exit(1) }),
        more({ status: 'failed' }),
      ],
      [{ ...CARD, text: 'late\n', exit: { code: 1, signal: null }, status: 'failed' }],
    ],
    [
      'R6: a second announcement refreshes the folder, a second exit is ignored',
      [
        call({ _meta: info('/w'), content: terminal }),
        more({ _meta: output('kept') }),
        call({ _meta: info('/x'), content: terminal }),
        more({ _meta: exit(null, 'SIGKILL') }),
        more({ _meta: exit(0) }),
      ],
      [{ ...CARD, cwd: '/x', text: 'kept', exit: { code: null, signal: 'SIGKILL' } }],
    ],
    [
      'R10: the text and exit stand only in rawOutput',
      [call({ _meta: info('/w'), content: terminal }), more({ status: 'completed', rawOutput: { stdout: 'out\n', stderr: 'err\n', exitCode: 3 } })],
      [{ ...CARD, text: 'out\nerr\n', exit: { code: 3, signal: null }, status: 'completed' }],
    ],
    [
      'R10: a terminal exit knows better than rawOutput',
      [
        call({ _meta: info('/w'), content: terminal }),
        more({ rawOutput: { output: 'x', metadata: { exit: 1 } } }),
        more({ _meta: exit(null, 'SIGTERM') }),
      ],
      [{ ...CARD, text: 'x', exit: { code: null, signal: 'SIGTERM' } }],
    ],
    [
      'R11: the same text on the card and as a block is there once',
      [
        call({ _meta: info('/w'), content: terminal }),
        more({ content: [...terminal, said('```console\nhi\n```')] }),
        more({ _meta: output('hi\n') }),
        more({ rawOutput: 'hi\n' }),
      ],
      [{ ...CARD, text: 'hi\n' }],
    ],
    [
      'R12: a background command goes on after its call completed',
      [
        call({ _meta: info('/w'), content: terminal, status: 'completed' }),
        more({ _meta: output('later\n') }),
        more({ _meta: exit(0) }),
      ],
      [{ ...CARD, text: 'later\n', exit: { code: 0, signal: null }, status: 'completed' }],
    ],
    [
      'R13: a delta makes the terminal that nobody announced',
      [call({ kind: 'read', title: 'Read a.txt' }), more({ _meta: output('a\n') })],
      [{ ...CARD, command: 'Read a.txt', cwd: null, text: 'a\n' }],
    ],
    [
      'R14: no id, and ids in camel case',
      [
        call({ _meta: { terminal_info: { terminalId: 't', cwd: '/w' } }, content: terminal }),
        more({ _meta: { terminal_output: { data: 'QQ==' } } }),
        more({ _meta: { terminal_exit: { exitCode: 7 } } }),
      ],
      [{ ...CARD, text: 'QQ==', exit: { code: 7, signal: null } }],
    ],
    [
      'R15: an unknown status and content cost only themselves',
      [call({ _meta: info('/w'), content: [{ type: 'hologram' }, 7, ...terminal], status: 'dreaming' }), more({ _meta: output('x') })],
      [{ ...CARD, text: 'x' }],
    ],
    [
      'R16: an update for a call that was never announced',
      [more({ title: 'pwd', kind: 'execute', status: 'completed', content: [said('```console\n/w\n```')] })],
      [{ ...CARD, id: null, command: 'pwd', cwd: null, text: '/w', status: 'completed' }],
    ],
    [
      'R17: content that replaces itself',
      [
        call({ title: 'bash', rawInput: { command: 'seq 2' } }),
        more({ content: [said('1\n')] }),
        more({ content: [said('1\n2\n')], status: 'completed', rawOutput: { output: '1\n2\n', metadata: { exit: 0 } } }),
      ],
      [{ ...CARD, id: null, command: 'seq 2', cwd: null, text: '1\n2\n', exit: { code: 0, signal: null }, status: 'completed' }],
    ],
  ];
  it.each(cases)('%s', (_name, updates, expected) => {
    expect(cards(updates)).toEqual(expected);
  });

  it('R9: what has no result at the end of the turn says so, until a late result comes', () => {
    const board = new CardBoard();
    const owner = board.apply(call({ _meta: info('/w'), content: terminal }), 0)?.call;
    board.endTurn(5000);
    const atEnd = owner?.pill(owner.card, 9000).words;
    board.apply(more({ status: 'completed', _meta: exit(0) }), 7000);
    expect([atEnd, owner?.pill(owner.card, 9000).words]).toEqual(['no result', 'ok · 7 s']);
  });

  it('R8: a final status without exit is shown as ended, and a later exit still counts', () => {
    const board = new CardBoard();
    const owner = board.apply(call({ _meta: info('/w'), content: terminal, status: 'failed' }), 0)?.call;
    const before = owner?.pill(owner.card, 0).words;
    board.apply(more({ _meta: exit(2) }), 3000);
    expect([before, owner?.pill(owner.card, 0).words]).toEqual(['ended · no exit code', 'exit 2 · 3 s']);
  });

  it('R20: a card keeps a bounded text, and tells how much it kept', () => {
    const board = new CardBoard();
    board.apply(call({ _meta: info('/w'), content: terminal }), 0);
    const chunk = `${'y'.repeat(127)}\n`.repeat(512);
    for (let count = 0; count < 160; count += 1) board.apply(more({ _meta: output(chunk) }), 1);
    const text = board.card('t')?.text ?? '';
    expect(text.length).toBeLessThan(KEPT * 2);
    expect(text).toContain('left out here');
  });

  it('an update without a call id is nothing', () => {
    expect(new CardBoard().apply({ sessionUpdate: 'tool_call' }, 0)).toBeNull();
  });
});
