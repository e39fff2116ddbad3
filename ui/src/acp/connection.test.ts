import { describe, expect, it } from 'vitest';
import type { Frame } from '../hub/envelope';
import { Connection } from './connection.svelte';
import type { Entry } from './entry.svelte';
import type { Session } from './session.svelte';
import type { Json } from './wire';

/** Numbers frames and keeps time: one second a frame. */
class Wire {
  readonly frames: Frame[] = [];

  push(dir: 'c2a' | 'a2c', frame: Json, own = false): this {
    const n = this.frames.length + 1;
    this.frames.push({ n, t: n * 1000, dir, own, frame: { jsonrpc: '2.0', ...frame } });
    return this;
  }
  request(id: number, method: string, params: Json, own = false): this {
    return this.push('c2a', { id, method, params }, own);
  }
  result(id: number, result: Json, own = false): this {
    return this.push('a2c', { id, result }, own);
  }
  update(update: Json, sessionId = 's'): this {
    return this.push('a2c', { method: 'session/update', params: { sessionId, update } });
  }
  session(id: number, sessionId = 's', cwd = '/w', own = false): this {
    return this.request(id, 'session/new', { cwd, mcpServers: [] }, own).result(id, { sessionId }, own);
  }
  prompt(id: number, text: string, own = false, sessionId = 's'): this {
    return this.request(id, 'session/prompt', { sessionId, prompt: [{ type: 'text', text }] }, own);
  }
  say(text: string, sessionId = 's'): this {
    return this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }, sessionId);
  }
  ask(id: string, toolCallId = 'c'): this {
    return this.push('a2c', {
      id,
      method: 'session/request_permission',
      params: {
        sessionId: 's',
        toolCall: toolCallId === 'c' ? { toolCallId } : { toolCallId, title: 'rm x', kind: 'execute' },
        options: [
          { optionId: 'y', name: 'Allow once', kind: 'allow_once' },
          { optionId: 'n', name: 'Reject', kind: 'reject_once' },
        ],
      },
    });
  }
  answer(id: string, optionId: string, own = false): this {
    return this.push('c2a', { id, result: { outcome: { outcome: 'selected', optionId } } }, own);
  }
}

function folded(wire: Wire): Connection {
  const connection = new Connection();
  for (const frame of wire.frames) connection.apply(frame);
  return connection;
}

function said(entry: Entry): unknown[] {
  switch (entry.kind) {
    case 'user':
    case 'assistant':
    case 'thought':
      return [entry.kind, entry.text];
    case 'call':
      return [entry.kind, entry.call.command, entry.call.pill(entry.call.card, 100_000).words, entry.call.card?.text ?? ''];
    case 'plan':
      return [entry.kind, ...entry.steps];
    case 'outcome':
      return [entry.kind, entry.words, entry.retryText];
  }
}

function transcript(session: Session | undefined): unknown[] {
  return (session?.entries ?? []).map(said);
}

const RUN: Json = {
  sessionUpdate: 'tool_call',
  toolCallId: 'c',
  title: 'seq 2',
  kind: 'execute',
  status: 'in_progress',
  content: [{ type: 'terminal', terminalId: 't' }],
  _meta: { terminal_info: { terminal_id: 't', cwd: '/w' } },
};
const print = (data: string): Json => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c',
  _meta: { terminal_output_delta: { terminal_id: 't', data } },
});
const EXIT: Json = {
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c',
  status: 'completed',
  _meta: { terminal_exit: { terminal_id: 't', exit_code: 0, signal: null } },
};

describe('folding a connection', () => {
  it('builds a turn from the frames of both directions', () => {
    const wire = new Wire().session(1).prompt(2, 'Count').say('I ').say('will.').update(RUN).update(print('1\r\n')).update(EXIT);
    const session = folded(wire.say('Done.').result(2, { stopReason: 'end_turn' })).session('s');
    expect(transcript(session)).toEqual([
      ['user', 'Count'],
      ['assistant', 'I will.'],
      ['call', 'seq 2', 'ok · 2 s', '1\r\n'],
      ['assistant', 'Done.'],
    ]);
    expect([session?.cwd, session?.turn, session?.title]).toEqual(['/w', null, 'Count']);
  });

  it('what runs in the background stays among what runs, and what waits is first', () => {
    const other: Json = { ...RUN, toolCallId: 'd', title: 'read x', content: [{ type: 'terminal', terminalId: 'u' }], _meta: { terminal_info: { terminal_id: 'u' } } };
    const state = (word: string): Json => ({ method: '_placard/terminal_state', params: { sessionId: 's', terminalId: 'u', state: word } });
    const wire = new Wire().session(1).prompt(2, 'Go').update(RUN).update(other);
    const connection = folded(wire);
    const session = connection.session('s');
    const running = (): unknown => session?.runningCalls.map((call) => [call.id, call.waits]);
    const states = [running()];
    const told = (more: Wire): void => {
      for (const frame of more.frames) connection.apply(frame);
      states.push(running());
    };
    told(new Wire().push('a2c', state('waiting')));
    told(new Wire().push('a2c', state('running')));
    told(new Wire().update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed', _meta: { placard: { background: true } } }).result(2, { stopReason: 'end_turn' }));
    told(new Wire().update({ ...EXIT, status: undefined }));
    expect(states).toEqual([
      [['c', false], ['d', false]],
      [['d', true], ['c', false]],
      [['c', false], ['d', false]],
      [['c', false]],
      [],
    ]);
  });

  it('knows from the greeting of the hub who the agent is and what it lets a person do', () => {
    const greeted = (placard: Json): Connection =>
      folded(
        new Wire()
          .request(1, 'initialize', {})
          .result(1, { agentInfo: { name: 'a', title: 'An agent', version: '1' }, agentCapabilities: { _meta: { placard } } }),
      );
    const { identity, offers } = greeted({ terminal_input: true, terminal_stop: 'true' });
    expect([identity, offers]).toEqual([{ name: 'An agent', version: '1' }, { types: true, stops: false }]);
  });

  it('a page that comes in mid-turn folds the spool to the same state, and the turn goes on', () => {
    const wire = new Wire().session(1).prompt(2, 'Count').update(RUN).update(print('1\r\n')).ask('q', 'd');
    const there = folded(wire);
    const late = folded(wire);
    const rest = new Wire();
    rest.frames.push(...wire.frames);
    rest.update(print('2\r\n')).answer('q', 'y').update(EXIT).result(2, { stopReason: 'end_turn' });
    expect(transcript(late.session('s'))).toEqual([
      ['user', 'Count'],
      ['call', 'seq 2', 'running · 96 s', '1\r\n'],
      ['call', 'rm x', 'asks', ''],
    ]);
    expect(late.session('s')?.turn).toEqual(there.session('s')?.turn);
    for (const connection of [there, late]) {
      for (const frame of rest.frames.slice(wire.frames.length)) connection.apply(frame);
    }
    expect(transcript(late.session('s'))).toEqual(transcript(there.session('s')));
    expect([late.session('s')?.turn, late.session('s')?.openPermissions]).toEqual([null, []]);
  });

  it('looks an id up among its own or among the others, never in the wrong table', () => {
    const wire = new Wire().session(1, 'mine', '/mine', true).session(1, 's', '/theirs');
    wire.prompt(2, 'mine', true, 'mine').prompt(2, 'theirs');
    const connection = folded(wire.result(2, { stopReason: 'end_turn' }));
    expect([connection.session('mine')?.turn?.text, connection.session('s')?.turn]).toEqual(['mine', null]);
    expect(connection.hasOwnRequests).toBe(true);
    connection.apply({ n: 99, t: 0, dir: 'a2c', own: true, frame: { id: 2, result: { stopReason: 'cancelled' } } });
    expect(connection.session('mine')?.turn).toBeNull();
    expect(connection.hasOwnRequests).toBe(false);
  });

  it('ids of different types are different ids', () => {
    const wire = new Wire().session(1).prompt(2, 'x').push('a2c', { id: '2', result: { stopReason: 'end_turn' } });
    expect(folded(wire).session('s')?.turn?.text).toBe('x');
  });

  it('the first answer to a question counts, whoever gave it', () => {
    const wire = new Wire().session(1).prompt(2, 'x').ask('q').answer('q', 'n').answer('q', 'y', true);
    const permission = folded(wire).session('s')?.permissions[0];
    expect([permission?.answer, permission?.isOpen, permission?.wasRefused]).toEqual([
      { optionId: 'n', name: 'Reject', kind: 'reject_once' },
      false,
      true,
    ]);
  });

  it('a question that the turn leaves behind is no longer open', () => {
    const wire = new Wire().session(1).prompt(2, 'x').ask('q').push('c2a', { method: 'session/cancel', params: { sessionId: 's' } });
    const session = folded(wire.result(2, { stopReason: 'cancelled' })).session('s');
    expect([session?.openPermissions, transcript(session).at(-1)]).toEqual([[], ['outcome', 'Stopped.', null]]);
  });

  it('the clock of a command that asked starts with the leave', () => {
    const wire = new Wire().session(1).prompt(2, 'x').update({ ...RUN, status: 'pending' }).ask('q');
    for (let frame = 0; frame < 30; frame += 1) wire.push('c2a', { method: 'other' });
    wire.answer('q', 'y').update({ ...EXIT });
    expect(transcript(folded(wire).session('s')).at(-1)).toEqual(['call', 'seq 2', 'ok · 1 s', '']);
  });

  it('keeps the text of a prompt that was answered by an error', () => {
    const wire = new Wire().session(1).prompt(2, 'Try').push('a2c', { id: 2, error: { code: -32603, message: 'no key', data: 'set one' } });
    const session = folded(wire).session('s');
    expect([transcript(session), session?.failed, session?.turn]).toEqual([
      [
        ['user', 'Try'],
        ['outcome', 'no key: set one', 'Try'],
      ],
      true,
      null,
    ]);
  });

  it('a prompt that is refused while another runs leaves that one alone', () => {
    const wire = new Wire().session(1).prompt(2, 'first').prompt(3, 'second');
    const session = folded(wire.push('a2c', { id: 3, error: { code: -32600, message: 'busy' } })).session('s');
    expect([transcript(session), session?.turn?.text, session?.failed]).toEqual([
      [
        ['user', 'first'],
        ['outcome', 'busy', 'second'],
      ],
      'first',
      false,
    ]);
  });

  it('delivers updates that come before the answer which names their session', () => {
    const wire = new Wire().request(1, 'session/new', { cwd: '/w' }).say('Hello').result(1, { sessionId: 's' });
    const session = folded(wire).session('s');
    expect([transcript(session), session?.cwd]).toEqual([[['assistant', 'Hello']], '/w']);
  });

  it('unknown updates, content and messages cost only themselves', () => {
    const wire = new Wire()
      .session(1)
      .update({ sessionUpdate: 'mind_meld', depth: 3 })
      .update({ sessionUpdate: 'agent_message_chunk', content: { type: 'smell', data: 'x' } })
      .push('a2c', { method: '_other/thing', params: { sessionId: 's' } })
      .push('a2c', { id: null, error: { code: -32700, message: 'x' } })
      .push('a2c', { neither: true })
      .say('still here');
    expect(transcript(folded(wire).session('s'))).toEqual([['assistant', 'still here']]);
  });

  it('knows which requests of the agent no page can answer', () => {
    const wire = new Wire().session(1).push('a2c', { id: 7, method: '_elsewhere/ask', params: {} }).push('a2c', { id: 8, method: 'fs/read_text_file', params: {} }).ask('q');
    const connection = folded(wire);
    expect(connection.owedAnswers()).toEqual([{ id: 7, code: -32601, message: 'this client does not know _elsewhere/ask' }]);
  });

  it('a question that the agent withdraws is closed, and owed its formal answer', () => {
    const wire = new Wire().session(1).prompt(2, 'x').ask('q').push('a2c', { method: '$/cancel_request', params: { requestId: 'q' } });
    const connection = folded(wire);
    expect([connection.session('s')?.openPermissions, connection.owedAnswers()]).toEqual([
      [],
      [{ id: 'q', code: -32800, message: 'the question was withdrawn' }],
    ]);
    connection.apply({ n: 9, t: 0, dir: 'c2a', own: false, frame: { id: 'q', error: { code: -32800, message: 'x' } } });
    expect(connection.owedAnswers()).toEqual([]);
  });

  it('a plan takes the place of the one before it in the same turn', () => {
    const plan = (status: string): Json => ({ sessionUpdate: 'plan', entries: [{ content: 'look', status, priority: 'low' }] });
    const wire = new Wire().session(1).prompt(2, 'x').update(plan('pending')).say('so').update(plan('completed'));
    expect(transcript(folded(wire).session('s'))).toEqual([
      ['user', 'x'],
      ['plan', { text: 'look', status: 'completed' }],
      ['assistant', 'so'],
    ]);
  });

  it('takes history from session/load, and no echo of a prompt', () => {
    const heard = (text: string): Json => ({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
    const wire = new Wire()
      .request(1, 'session/load', { sessionId: 's', cwd: '/w' })
      .update(heard('earlier'))
      .say('answer')
      .result(1, {})
      .prompt(2, 'now')
      .update(heard('now'));
    expect(transcript(folded(wire).session('s'))).toEqual([
      ['user', 'earlier'],
      ['assistant', 'answer'],
      ['user', 'now'],
    ]);
  });

  it('the end of the agent closes its sessions and what ran in them', () => {
    const connection = folded(new Wire().session(1).prompt(2, 'x').update(RUN).ask('q', 'c'));
    connection.setAgent({ state: 'ended', name: 'a', message: 'gone' }, 9000);
    const session = connection.session('s');
    expect([session?.closed, session?.failed, session?.turn, transcript(session).at(-1)]).toEqual([
      true,
      true,
      null,
      ['call', 'seq 2', 'no result', ''],
    ]);
  });

  it('the greeting of a new agent in the spool closes what an earlier one held', () => {
    const greeting: Json = { id: 0, method: 'initialize', params: { protocolVersion: 1 } };
    const wire = new Wire().push('c2a', greeting).session(1, 'old').push('c2a', greeting).session(2, 'new');
    expect(folded(wire).sessions.map(({ id, closed }) => [id, closed])).toEqual([
      ['old', true],
      ['new', false],
    ]);
  });

  it('reads model and mode in both ways in which agents tell them', () => {
    const wire = new Wire()
      .request(1, 'session/new', { cwd: '/w' })
      .result(1, {
        sessionId: 's',
        models: { currentModelId: 'm1', availableModels: [{ modelId: 'm1', name: 'Model One' }] },
        configOptions: [{ id: 'mode', category: 'mode', currentValue: 'ask', options: [{ value: 'ask', name: 'Ask first' }] }],
      })
      .update({ sessionUpdate: 'session_info_update', title: ' A name ' });
    const session = folded(wire).session('s');
    expect([session?.settings, session?.title]).toEqual([
      { model: 'Model One', mode: 'Ask first', runsDollarLines: false },
      'A name',
    ]);
  });

  it.each([
    ['offline', { model: 'offline', mode: '', runsDollarLines: true }],
    ['deepseek/deepseek-chat', { model: 'deepseek/deepseek-chat', mode: '', runsDollarLines: false }],
    [7, { model: '', mode: '', runsDollarLines: false }],
  ])('knows by the model %s whether a dollar line is a command', (model, settings) => {
    const wire = new Wire().request(1, 'session/new', { cwd: '/w' }).result(1, { sessionId: 's', _meta: { placard: { model } } });
    expect(folded(wire).session('s')?.settings).toEqual(settings);
  });
});
