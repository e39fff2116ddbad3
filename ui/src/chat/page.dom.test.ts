// @vitest-environment jsdom
import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Json } from '../acp/wire';
import { closePage, COMMAND, hub, openPage, part, parts, press, QUESTION } from './played_page';

function type(text: string): HTMLTextAreaElement {
  const field = part<HTMLTextAreaElement>('composer');
  field.focus();
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  flushSync();
  return field;
}

beforeEach(() => openPage());
afterEach(closePage);

describe('the composer', () => {
  it('sends on Enter and is empty again', () => {
    const event = press(type('Hello'), { key: 'Enter' });
    expect([event.defaultPrevented, part<HTMLTextAreaElement>('composer').value, hub.sent.at(-1)?.['params']]).toEqual([
      true,
      '',
      { sessionId: 's', prompt: [{ type: 'text', text: 'Hello' }] },
    ]);
  });

  it('sends nothing while an input method composes, nor on Shift Enter', () => {
    const before = hub.sent.length;
    const field = type('にほ');
    const held = [
      press(field, { key: 'Enter', isComposing: true }),
      press(field, { key: 'Enter', keyCode: 229 }),
      press(field, { key: 'Enter', shiftKey: true }),
    ].map((event) => event.defaultPrevented);
    expect([held, hub.sent.length, field.value]).toEqual([[false, false, false], before, 'にほ']);
  });

  it('says that what is written during a turn waits', () => {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'x' }] } });
    const hint = (): string | undefined => document.querySelector('#composer-hint')?.textContent?.trim();
    const before = hint();
    press(type('next'), { key: 'Enter' });
    expect([before, hint(), part<HTMLTextAreaElement>('composer').value]).toEqual([
      '',
      'A turn is running; this can be sent when it has ended',
      'next',
    ]);
  });

  it('Escape stops the running turn', () => {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'x' }] } });
    press(part('composer'), { key: 'Escape' });
    expect(hub.sent.at(-1)).toEqual({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's' } });
  });
});

describe('a line after a dollar sign', () => {
  const words = (): unknown[] => [
    part<HTMLTextAreaElement>('composer').placeholder.includes('$'),
    part('empty').textContent?.includes('$'),
    parts('model'),
  ];
  const opened = (model?: string): void => {
    hub.frame('c2a', { id: 2, method: 'session/new', params: { cwd: '/home/ada/atlas' } });
    hub.frame('a2c', { id: 2, result: { sessionId: 's2', ...(model && { _meta: { placard: { model } } }) } });
  };

  it('is offered where no model is set up, because there it runs', () => {
    opened('offline');
    expect(words()).toEqual([true, true, ['offline']]);
  });

  it('is not offered where it would go to a model', () => {
    opened('deepseek/deepseek-chat');
    expect(words()).toEqual([false, false, ['deepseek-chat']]);
  });

  it('is not offered where the agent tells nothing', () => {
    opened();
    expect(words()).toEqual([false, false, []]);
  });

  it('is drawn as a command only where it is one', () => {
    for (const [id, model] of [['a', 'offline'], ['b', 'deepseek/deepseek-chat']] as const) {
      hub.frame('c2a', { id, method: 'session/new', params: { cwd: '/w' } });
      hub.frame('a2c', { id, result: { sessionId: id, _meta: { placard: { model } } } });
      hub.frame('c2a', { id: `p${id}`, method: 'session/prompt', params: { sessionId: id, prompt: [{ type: 'text', text: '$ ls' }] } });
      expect(part('message-user').classList.contains('command')).toBe(model === 'offline');
    }
  });
});

describe('the window around the chat', () => {
  it('shows no chip for what nobody named', () => {
    hub.frame('c2a', { id: 2, method: 'session/new', params: { cwd: '/w' } });
    hub.frame('a2c', { id: 2, result: { sessionId: 's2', modes: { currentModeId: ' ', availableModes: [] }, _meta: { placard: { model: '' } } } });
    expect([...document.querySelectorAll('header .chip')].map(({ textContent }) => textContent)).toEqual(['agent']);
  });

  it('shows the sessions over the chat where they have no place, until one is chosen or Escape is pressed', () => {
    const shown = (): boolean => document.querySelector('.sessions.shown') !== null;
    const states = [shown()];
    part('show-sessions').click();
    flushSync();
    states.push(shown());
    part('session-item').click();
    flushSync();
    states.push(shown());
    part('show-sessions').click();
    flushSync();
    press(part('session-item'), { key: 'Escape' });
    states.push(shown());
    expect([states, (document.activeElement as HTMLElement).dataset['testid']]).toEqual([[false, true, false, false], 'composer']);
  });
});

describe('a command that asks', () => {
  function ask(): HTMLElement {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Clean' }] } });
    hub.update(COMMAND);
    hub.frame('a2c', QUESTION);
    return part('card');
  }

  it('shows the whole command, its folder and description, and the options in their own words', () => {
    ask();
    expect([parts('message-user'), parts('card-command'), parts('card-cwd'), parts('card-pill'), parts('permission-option')]).toEqual([
      ['Clean'],
      ['rm -r build'],
      ['~/atlas · Clears the build'],
      ['asks'],
      ['Allow once', 'Always allow rm', 'Reject'],
    ]);
  });

  it('does not take the focus from the composer', () => {
    const field = type('half a sen');
    ask();
    expect(document.activeElement).toBe(field);
  });

  it('hears no key in its first half second, then the keys of its options while the card has focus', () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    const card = ask();
    const before = hub.sent.length;
    card.focus();
    press(card, { key: 'Enter' });
    vi.advanceTimersByTime(499);
    press(card, { key: 'r' });
    const early = hub.sent.length - before;
    vi.advanceTimersByTime(1);
    press(part('composer'), { key: 'a' });
    const elsewhere = hub.sent.length - before;
    press(card, { key: 'r' });
    press(card, { key: 'Enter' });
    expect([early, elsewhere, hub.sent.slice(before)]).toEqual([
      0,
      0,
      [{ jsonrpc: '2.0', id: 'q', result: { outcome: { outcome: 'selected', optionId: 'n' } } }],
    ]);
  });

  it('Enter on the button of something else is not an answer', () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    ask();
    vi.advanceTimersByTime(600);
    const before = hub.sent.length;
    press(part('card-copy'), { key: 'Enter' });
    expect(hub.sent.length).toBe(before);
  });

  it('an answer of another page is shown, and the buttons are gone', () => {
    ask();
    hub.frame('c2a', { id: 'q', result: { outcome: { outcome: 'selected', optionId: 'y' } } });
    expect([parts('permission'), parts('permission-option'), parts('card-pill')]).toEqual([
      ['Answered: Allow once'],
      [],
      ['running · 0 s'],
    ]);
  });
});

describe('the focus', () => {
  const focused = (): string | undefined => (document.activeElement as HTMLElement | null)?.dataset['testid'];
  function ask(id = 'q'): HTMLElement {
    hub.update(COMMAND);
    hub.frame('a2c', { ...QUESTION, id });
    return part('card');
  }
  beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));

  it('is in the composer after an answer by key', () => {
    const card = ask();
    vi.advanceTimersByTime(500);
    card.focus();
    press(card, { key: 'r' });
    expect([hub.sent.at(-1)?.['id'], focused()]).toEqual(['q', 'composer']);
  });

  it('is in the composer after an answer by a button', () => {
    ask();
    part('permission-option').focus();
    part('permission-option').click();
    flushSync();
    expect([hub.sent.at(-1)?.['id'], focused()]).toEqual(['q', 'composer']);
  });

  it('is in the composer when another page answered what had it', () => {
    ask().focus();
    hub.frame('c2a', { id: 'q', result: { outcome: { outcome: 'selected', optionId: 'y' } } });
    expect(focused()).toBe('composer');
  });

  it('is in the composer after a session was chosen', () => {
    hub.frame('c2a', { id: 2, method: 'session/new', params: { cwd: '/w' } });
    hub.frame('a2c', { id: 2, result: { sessionId: 's2' } });
    const item = document.querySelector<HTMLElement>('[data-session-id=s]');
    item?.focus();
    item?.click();
    flushSync();
    expect(focused()).toBe('composer');
  });

  it('goes from the composer back to the card that asks, whose hint says what Enter does', () => {
    const card = ask();
    const hint = (): string | null | undefined => card.querySelector('kbd')?.textContent;
    const hints = [hint()];
    part('composer').focus();
    const event = press(part('composer'), { key: 'Tab', shiftKey: true });
    hints.push(hint());
    const at = document.activeElement;
    for (const place of ['[data-option-id=n]', '[data-testid=card-copy]']) {
      card.querySelector<HTMLElement>(place)?.focus();
      flushSync();
      hints.push(hint());
    }
    expect([event.defaultPrevented, at === card, hints]).toEqual([
      true,
      true,
      ['Shift Tab, then Enter / A / R', 'Enter / A / R', 'Enter: Reject / A / R', 'A / R'],
    ]);
  });

  it('leaves Shift Tab alone where nothing asks', () => {
    expect(press(part('composer'), { key: 'Tab', shiftKey: true }).defaultPrevented).toBe(false);
  });

  it('a second question about the same call is deaf at first, then hears', () => {
    ask();
    vi.advanceTimersByTime(600);
    hub.frame('c2a', { id: 'q', result: { outcome: { outcome: 'selected', optionId: 'y' } } });
    const card = ask('q2');
    const before = hub.sent.length;
    card.focus();
    press(card, { key: 'Enter' });
    const early = hub.sent.length;
    vi.advanceTimersByTime(500);
    press(card, { key: 'Enter' });
    expect([early, hub.sent.slice(before).map(({ id }) => id)]).toEqual([before, ['q2']]);
  });

  it('Enter on a button of a question that just appeared chooses nothing', () => {
    ask();
    expect(press(part('permission-option'), { key: 'Enter' }).defaultPrevented).toBe(true);
  });
});

describe('a new session', () => {
  beforeEach(() => {
    // jsdom has no modal dialogs.
    HTMLDialogElement.prototype.showModal = function (): void {
      this.open = true;
    };
  });

  async function start(folder: string): Promise<Json | undefined> {
    press(part('composer'), { key: 'n', ctrlKey: true });
    const field = part<HTMLInputElement>('new-session-folder');
    field.value = folder;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    flushSync();
    part('new-session-create').click();
    await vi.waitFor(() => expect(hub.sent.at(-1)?.['method']).toBe('session/new'));
    return hub.sent.at(-1);
  }

  it('takes a folder as the page writes it, and leaves the focus in the composer', async () => {
    press(part('composer'), { key: 'n', ctrlKey: true });
    const offered = part<HTMLInputElement>('new-session-folder').value;
    const request = await start('~/letters');
    hub.say({ type: 'frames', frames: [{ n: 3, t: 0, dir: 'c2a', own: true, frame: request }, { n: 4, t: 0, dir: 'a2c', own: true, frame: { id: request?.['id'], result: { sessionId: 's2' } } }] });
    await vi.waitFor(() => expect(parts('new-session-folder')).toEqual([]));
    flushSync();
    expect([offered, request?.['params'], (document.activeElement as HTMLElement).dataset['testid']]).toEqual([
      '~/atlas',
      { cwd: '/home/ada/letters', mcpServers: [] },
      'composer',
    ]);
  });
});

describe('an output that was cut', () => {
  it('says how much is missing, and its buttons promise what is kept', () => {
    hub.update(COMMAND);
    const lines = 'x\r\n'.repeat(40);
    const data = `${lines}\x1b[0m[1717375 bytes left out]\r\n${lines}\x1b[0m[1200000 bytes left out]\r\n${lines}`;
    hub.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', _meta: { terminal_output_delta: { terminal_id: 't', data } } });
    expect([parts('card-left-out'), parts('card-expand'), part('card-copy-output').getAttribute('aria-label')]).toEqual([
      ['2.9 MB left out'],
      ['Show the 122 lines kept'],
      'Copy what is kept of the output',
    ]);
  });
});

describe('an answered question', () => {
  it('keeps its place until the output is there, then is a small line', () => {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Clean' }] } });
    hub.update(COMMAND);
    hub.frame('a2c', QUESTION);
    const small = (): boolean => part('permission').classList.contains('small');
    const states = [small()];
    hub.frame('c2a', { id: 'q', result: { outcome: { outcome: 'selected', optionId: 'y' } } });
    states.push(small());
    hub.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', _meta: { terminal_output_delta: { terminal_id: 't', data: 'x' } } });
    states.push(small());
    expect([states, parts('permission')]).toEqual([[false, false, true], ['Answered: Allow once']]);
  });
});

describe('a text that would read as something else', () => {
  const DISGUISED = 'rm \u202egpj.\u2066x\u200b\r';
  const SHOWN = 'rm U+202Egpj.U+2066xU+200BU+000D';

  it('is drawn as it is in the card, its options and its answer; Copy copies it exactly', async () => {
    const copied: string[] = [];
    vi.stubGlobal('navigator', { clipboard: { writeText: async (text: string) => void copied.push(text) } });
    hub.update({ ...COMMAND, title: DISGUISED, content: [{ type: 'content', content: { type: 'text', text: 'a\u2067b' } }, { type: 'terminal', terminalId: 't' }] });
    hub.frame('a2c', {
      ...QUESTION,
      params: { sessionId: 's', toolCall: { toolCallId: 'c' }, options: [{ optionId: 'y', name: 'Allow\u202d once', kind: 'allow_once' }] },
    });
    const asked = [parts('card-command'), parts('card-cwd'), parts('permission-option'), part('card').getAttribute('aria-label')];
    hub.frame('c2a', { id: 'q', result: { outcome: { outcome: 'selected', optionId: 'y' } } });
    part('card-copy').click();
    await vi.waitFor(() => expect(copied.length).toBe(1));
    expect([asked, parts('permission'), copied]).toEqual([
      [[SHOWN], ['~/atlas · aU+2067b'], ['AllowU+202D once'], 'Command rm ‹U+202E›gpj.‹U+2066›x‹U+200B›‹U+000D›'],
      ['Answered: AllowU+202D once'],
      [DISGUISED],
    ]);
  });

  it('is drawn as it is in the title, the place and the change of another tool', () => {
    hub.update({
      sessionUpdate: 'tool_call',
      toolCallId: 'e',
      title: 'Edit \u202ea',
      kind: 'edit',
      content: [{ type: 'diff', path: '/w/\u2066b', oldText: '', newText: 'if (x\u202e) {' }],
    });
    const text = part('tool-call').textContent ?? '';
    expect(['Edit U+202Ea', '/w/U+2066b', '+ if (xU+202E) {'].filter((piece) => !text.includes(piece))).toEqual([]);
  });
});

describe('what went wrong', () => {
  it('the error of a prompt stands in the chat, and its text can be had back', () => {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Try' }] } });
    hub.frame('a2c', { id: 2, error: { code: -32603, message: 'no key is set' } });
    expect(parts('notice')).toEqual(['No answer: no key is set Edit and send again']);
    part('retry-text').click();
    flushSync();
    expect(part<HTMLTextAreaElement>('composer').value).toBe('Try');
  });

  it('code in an error is drawn as code', () => {
    hub.frame('c2a', { id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Try' }] } });
    hub.frame('a2c', { id: 2, error: { code: -32603, message: 'set `KEY` or `model` first' } });
    expect([parts('notice'), [...part('notice').querySelectorAll('code')].map(({ textContent }) => textContent)]).toEqual([
      ['No answer: set KEY or model first Edit and send again'],
      ['KEY', 'model'],
    ]);
  });

  it('the end of the agent shows its last words and a way to start it again', () => {
    hub.say({ type: 'agent', agent: { state: 'ended', name: 'agent', message: 'exited with 1\nlast words' } });
    flushSync();
    const words = part('agent-ended').textContent ?? '';
    expect(['agent has ended', 'exited with 1', 'last words', 'Restart'].filter((piece) => !words.includes(piece))).toEqual([]);
  });

  it('a lost connection is said, with what to do when it stays lost', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    hub.events?.closed('gone');
    flushSync();
    const first = parts('notice');
    for (let attempt = 0; attempt < 4; attempt += 1) {
      vi.advanceTimersByTime(8000);
      hub.events?.closed('gone');
    }
    flushSync();
    expect([first, parts('notice')].map(([words]) => words?.replace(/\s+/g, ' '))).toEqual([
      'The connection to Placard is lost (gone). Trying again. As long as Placard itself runs, what runs in it goes on.',
      'The connection to Placard is lost (gone). Still trying. If placard serve has ended, its commands have ended too, and a new one prints a new address to open.',
    ]);
  });
});

it('only the last block of a streaming answer is drawn again', () => {
  const say = (text: string): void => hub.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  say('First.\n\nSec');
  const [first] = part('message-assistant').querySelectorAll('.block > *');
  say('ond.\n\n```sh\nls');
  expect([part('message-assistant').querySelector('.block > *') === first, part('message-assistant').querySelector('pre')?.textContent]).toEqual([
    true,
    'ls\n',
  ]);
});
