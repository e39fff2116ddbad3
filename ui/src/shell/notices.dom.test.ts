// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, expect, it } from 'vitest';
import type { Transport } from '../transport/transport';
import { Desk } from './desk.svelte';
import Notices from './Notices.svelte';

const unheard: Transport = { open: () => {}, send: () => true };
let page: ReturnType<typeof mount> | undefined;

afterEach(async () => {
  if (page !== undefined) await unmount(page);
});

/** What the page says of a session in `cwd` that the agent refused. */
function said(cwd: string, message: string): string | undefined {
  const desk = new Desk(unheard);
  const frame = { n: 1, t: 0, own: true };
  desk.connection.apply({ ...frame, dir: 'c2a', frame: { id: 1, method: 'session/new', params: { cwd } } });
  desk.connection.apply({ ...frame, n: 2, dir: 'a2c', frame: { id: 1, error: { code: -32602, message } } });
  page = mount(Notices, { target: document.body, props: { desk } });
  flushSync();
  return document.querySelector('[data-testid=notice]')?.textContent?.trim().replace(/\s+/g, ' ');
}

it('a refused folder is answered by choosing another', () => {
  expect(said('/srv/gone', "the session's folder /srv/gone cannot be used: it does not exist")).toBe(
    "No session could be opened: the session's folder /srv/gone cannot be used: it does not exist. Choose another folder under “New session”.",
  );
});

it('a fault in a file somewhere in the folder is not the folder\'s', () => {
  expect(said('/home/ada', '/home/ada/.config/placard/config.toml:2: unknown key `max_stepz`')).toBe(
    'No session could be opened: /home/ada/.config/placard/config.toml:2: unknown key max_stepz. When that is mended, start one by “New session”.',
  );
});
