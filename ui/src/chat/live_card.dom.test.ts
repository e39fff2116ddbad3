// @vitest-environment jsdom
import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json } from '../acp/wire';
import { closePage, COMMAND, hub, openPage, part, parts, press } from './played_page';

const OFFERS = { _meta: { placard: { terminal_input: true, terminal_stop: true, terminal_state: true } } };

const more = (fields: Json): void => hub.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', ...fields });
const print = (data: string): void => more({ _meta: { terminal_output_delta: { terminal_id: 't', data } } });
const state = (word: string): void =>
  hub.frame('a2c', { method: '_placard/terminal_state', params: { sessionId: 's', terminalId: 't', state: word } });
const exit = (fields: Json = {}): void => more({ ...fields, _meta: { terminal_exit: { terminal_id: 't', exit_code: 0, signal: null } } });
const there = (name: string): boolean => document.querySelector(`[data-testid=${name}]`) !== null;
const sent = (): unknown[] => hub.sent.slice(before).map(({ method, params }) => [method, params]);
const focused = (): string | undefined => (document.activeElement as HTMLElement | null)?.dataset['testid'];
let before = 0;

function begin(fields: Json = {}): void {
  hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Go' }] } });
  hub.update({ ...COMMAND, ...fields });
  more({ status: 'in_progress' });
  before = hub.sent.length;
}

function endTurn(): void {
  hub.frame('a2c', { id: 2, result: { stopReason: 'end_turn' } });
}

function write(text: string): HTMLInputElement {
  const field = part<HTMLInputElement>('card-input');
  field.focus();
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  flushSync();
  return field;
}

const input = (rest: Json): unknown => ['_placard/terminal_input', { sessionId: 's', terminalId: 't', ...rest }];

afterEach(closePage);

describe('a command of an agent that lets a person in', () => {
  beforeEach(() => openPage(OFFERS));

  it('that waits says so, has a field, and takes no focus', () => {
    part('composer').focus();
    begin();
    const atFirst = there('card-input');
    state('waiting');
    expect([atFirst, parts('card-pill'), there('card-input'), focused()]).toEqual([false, ['waiting for input'], true, 'composer']);
  });

  it('gets a line with a carriage return, then the end, then an interrupt', async () => {
    begin();
    state('waiting');
    press(write('Ada'), { key: 'Enter' });
    const empty = part<HTMLInputElement>('card-input').value;
    await hub.answer({ result: {} });
    press(part('card-input'), { key: 'd', ctrlKey: true });
    await hub.answer({ result: {} });
    press(part('card-input'), { key: 'c', ctrlKey: true });
    expect([empty, sent()]).toEqual(['', [input({ data: 'Ada\r' }), input({ eof: true }), input({ data: '\x03' })]]);
  });

  it('keeps its field while it runs on, and leaves the focus to the composer when it ends', async () => {
    begin();
    state('waiting');
    press(write('Ada'), { key: 'Enter' });
    state('running');
    const on = [parts('card-pill'), there('card-input')];
    exit({ status: 'completed' });
    expect([on, there('card-input'), focused()]).toEqual([[['running · 0 s'], true], false, 'composer']);
  });

  it('shows what did not arrive, with the reason', async () => {
    begin();
    state('waiting');
    press(write('Ada'), { key: 'Enter' });
    await hub.answer({ error: { code: -32600, message: 'this command has not read what was typed before; wait, or stop it' } });
    expect([parts('card-trouble'), part<HTMLInputElement>('card-input').value]).toEqual([
      ['Not sent: this command has not read what was typed before; wait, or stop it'],
      'Ada',
    ]);
  });

  it('hides what answers a question for a password', () => {
    begin();
    print('[sudo] password for ada: ');
    state('waiting');
    expect(part<HTMLInputElement>('card-input').type).toBe('password');
  });

  it('can be typed into before it waits, and Escape there does not stop the turn', () => {
    begin();
    part('card-type').click();
    flushSync();
    const at = focused();
    press(part('card-input'), { key: 'Escape' });
    expect([at, there('card-input'), focused(), sent()]).toEqual(['card-input', false, 'composer', []]);
  });

  it('is reached from the composer by Shift Tab when it waits', () => {
    begin();
    state('waiting');
    press(part('composer'), { key: 'Tab', shiftKey: true });
    expect(focused()).toBe('card-input');
  });

  it('is stopped alone: the turn has a Stop of its own', async () => {
    begin();
    part('card-stop').click();
    flushSync();
    expect([sent(), part<HTMLButtonElement>('card-stop').disabled, there('stop'), focused()]).toEqual([
      [['_placard/terminal_stop', { sessionId: 's', terminalId: 't' }]],
      true,
      true,
      'composer',
    ]);
    await hub.answer({ error: { code: -32600, message: 'no command runs in this terminal any more' } });
    expect([part<HTMLButtonElement>('card-stop').disabled, part('card').textContent?.includes('Not stopped: no command runs')]).toEqual([false, true]);
  });

  it('in the background runs on after its call and its turn, and ends with its exit', () => {
    begin();
    more({ status: 'completed', _meta: { placard: { background: true } } });
    endTurn();
    const on = [parts('card-pill'), parts('card-cwd'), there('card-stop'), there('stop')];
    print('late\r\n');
    exit();
    expect([on, parts('card-pill'), parts('card-cwd')]).toEqual([
      [['running · 0 s'], ['~/atlas · Clears the build · left running'], true, false],
      ['ok · 0.0 s'],
      ['~/atlas · Clears the build'],
    ]);
  });

  it('in the background is over when its agent is', () => {
    begin();
    more({ status: 'completed', _meta: { placard: { background: true } } });
    endTurn();
    hub.say({ type: 'agent', agent: { state: 'ended', name: 'agent', message: 'exited' } });
    flushSync();
    expect([parts('card-pill'), there('card-stop')]).toEqual([['ended · no exit code'], false]);
  });
});

describe('a command of an agent that does not', () => {
  beforeEach(() => openPage());

  it('has no field and no way to type; Stop stops the turn', () => {
    begin();
    state('waiting');
    part('card-stop').click();
    expect([there('card-input'), there('card-type'), sent()]).toEqual([false, false, [['session/cancel', { sessionId: 's' }]]]);
  });
});

describe('what our own agent says of a card', () => {
  beforeEach(() => openPage(OFFERS));
  const told = (placard: Json, content: Json[] = []): Json => ({
    content: [...content, { type: 'terminal', terminalId: 't' }],
    _meta: { terminal_info: { terminal_id: 't', cwd: '/home/ada/atlas' }, placard },
  });

  it('a label stands for the command, whose output is folded away', () => {
    begin(told({ label: 'Read src/a.rs' }));
    print('text\r\n');
    const folded = [parts('card-label'), parts('card-command'), there('card-output'), there('card-last-line')];
    part('card-collapse').click();
    flushSync();
    expect([folded, there('card-output')]).toEqual([[['Read src/a.rs'], ['rm -r build'], false, false], true]);
  });

  it('a notice stands once, with a mark', () => {
    const words = (text: string): Json => ({ type: 'content', content: { type: 'text', text } });
    begin(told({ notice: 'no sandbox on this system' }, [words('Clears the build'), words('no sandbox on this system')]));
    expect([parts('card-notice'), parts('card-cwd'), part('card-notice').querySelector('svg') !== null]).toEqual([
      ['Note: no sandbox on this system'],
      ['~/atlas · Clears the build'],
      true,
    ]);
  });

  it('a picture is drawn from its own bytes, with its size and its words, instead of them', () => {
    const data = btoa('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10');
    begin();
    print('junk');
    more({
      status: 'completed',
      content: [{ type: 'terminal', terminalId: 't' }, { type: 'content', content: { type: 'image', mimeType: 'image/png', data } }],
      _meta: { terminal_exit: { terminal_id: 't', exit_code: 0, signal: null } },
    });
    const { src, alt, width, height } = part<HTMLImageElement>('picture');
    expect([src, alt, width, height, there('card-output')]).toEqual([
      `data:image/png;base64,${data}`,
      'Picture printed by rm -r build',
      32,
      16,
      false,
    ]);
  });
});
