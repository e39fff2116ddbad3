// @vitest-environment jsdom
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TauriTransport } from './tauri';
import { hubAddress, WebSocketTransport } from './websocket';

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

it('only one file of the page knows the desktop shell', () => {
  const source = join(import.meta.dirname, '..');
  const knowing = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|svelte)$/.test(file) && !file.endsWith('.test.ts'))
    .filter((file) => readFileSync(join(source, file), 'utf8').includes('@tauri-apps/'));
  expect(knowing).toEqual([join('transport', 'tauri.ts')]);
});

describe('over a WebSocket', () => {
  class HandSocket {
    static OPEN = 1;
    static last: HandSocket;
    readyState = 0;
    sent: string[] = [];
    onopen: () => void = () => undefined;
    onmessage: (event: { data: unknown }) => void = () => undefined;
    onclose: (event: { reason: string }) => void = () => undefined;

    constructor(readonly address: string) {
      HandSocket.last = this;
    }
    send(text: string): void {
      this.sent.push(text);
    }
    close(): void {
      this.onclose({ reason: '' });
    }
    open(): void {
      this.readyState = HandSocket.OPEN;
      this.onopen();
    }
  }

  afterEach(() => vi.unstubAllGlobals());

  it('goes to /ws of the server that gave the page', () => {
    expect([
      hubAddress({ protocol: 'http:', host: '127.0.0.1:4000' }),
      hubAddress({ protocol: 'https:', host: 'example.org' }),
    ]).toEqual(['ws://127.0.0.1:4000/ws', 'wss://example.org/ws']);
  });

  it('attaches when it is open, sends only then, and says once why it closed', () => {
    vi.stubGlobal('WebSocket', HandSocket);
    const heard: string[] = [];
    const transport = new WebSocketTransport('ws://h/ws');
    transport.open(7, { message: (text) => heard.push(text), closed: (reason) => heard.push(`closed: ${reason}`) });
    const socket = HandSocket.last;
    const early = transport.send('early');
    socket.open();
    const late = transport.send('late');
    socket.onmessage({ data: 'hello' });
    socket.onclose({ reason: 'not an envelope' });
    socket.onclose({ reason: 'again' });
    expect([early, late, transport.send('after'), socket.sent, heard]).toEqual([
      false,
      true,
      false,
      ['{"type":"attach","after":7}', 'late'],
      ['hello', 'closed: not an envelope'],
    ]);
  });
});

describe("over the window's IPC", () => {
  afterEach(() => clearMocks());

  it('attaches first and sends in order, one message after the other', async () => {
    const calls: unknown[] = [];
    mockIPC(async (command, payload) => {
      const { after, message } = payload as { after?: number; message?: string };
      calls.push([command, after ?? message]);
      await settled();
      calls.push('done');
    });
    const transport = new TauriTransport();
    const before = transport.send('nobody listens');
    transport.open(3, { message: () => undefined, closed: () => undefined });
    transport.send('one');
    transport.send('two');
    await vi.waitFor(() => expect(calls.length).toBe(6));
    expect([before, calls]).toEqual([
      false,
      [['hub_attach', 3], 'done', ['hub_send', 'one'], 'done', ['hub_send', 'two'], 'done'],
    ]);
  });

  it('a refused message closes the way, once', async () => {
    mockIPC((command) => {
      if (command === 'hub_send') throw new Error('not attached');
    });
    const closed: string[] = [];
    const transport = new TauriTransport();
    transport.open(0, { message: () => undefined, closed: (reason) => closed.push(reason) });
    transport.send('one');
    transport.send('two');
    await vi.waitFor(() => expect(closed.length).toBe(1));
    await settled();
    expect([closed, transport.send('three')]).toEqual([['not attached'], false]);
  });
});
