// `placard serve` in a real browser: the same page as in the window, over a WebSocket.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { ChatPage, launchBrowser } from './page.mjs';
import { SOON, until } from './patience.mjs';
import { Server } from './server.mjs';

describe('the chat in a browser', () => {
  let browser;
  let server;

  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());
  beforeEach(async () => {
    server = await Server.start();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await server.remove();
  });

  const context = (options = {}) => browser.newContext({ viewport: { width: 1240, height: 860 }, ...options });

  test('output appears in the card while the command runs', async () => {
    const chat = await ChatPage.open(await context({ colorScheme: 'light' }), server.address);
    const command = 'for i in 1 2 3; do echo $i; sleep 0.3; done';

    await chat.record();
    await chat.say(`$ ${command}`);
    assert.deepEqual(await chat.endedCards(), [{ command, pill: 'ok', text: '1\n2\n3' }]);
    const seen = await chat.recorded();
    assert.ok(seen.includes('1') || seen.includes('1 2'), `1 is seen before 3 is: ${JSON.stringify(seen)}`);
    await chat.screenshot('browser-light');
    assert.deepEqual(chat.complaints, []);
    assert.deepEqual([...chat.origins], [server.address.origin], 'nothing is loaded from elsewhere');
  });

  test('without a model the first page says so and offers commands', async () => {
    const chat = await ChatPage.open(await context({ colorScheme: 'light' }), server.address);
    await chat.part('model').filter({ hasText: 'offline' }).waitFor();
    await chat.part('empty').getByRole('button', { name: '$ ls' }).click();
    assert.equal(await chat.part('composer').inputValue(), '$ ls');
    assert.match(await chat.part('composer').getAttribute('placeholder'), /\$/);
    await chat.screenshot('browser-first-start');
  });

  test('a page loaded again in mid-run goes on with the same card', async () => {
    const chat = await ChatPage.open(await context(), server.address);
    // Each number is printed when the test says so, by a file.
    const command = 'for i in 1 2 3; do until [ -e $i ]; do sleep 0.02; done; echo $i; done';
    const print = (number) => writeFileSync(join(server.home.workFolder, number), '');
    const id = () => chat.part('card').getAttribute('data-terminal-id');

    await chat.say(`$ ${command}`);
    print('1');
    const before = await chat.cardWith((text) => text.includes('1'), 'the card shows 1');
    assert.deepEqual(before, { command, pill: 'running', text: '1' });
    const first = await id();

    print('2');
    await chat.page.reload();
    const again = await chat.cardWith((text) => text.includes('2'), 'the card is back');
    assert.deepEqual(again, { command, pill: 'running', text: '1\n2' });
    print('3');
    assert.deepEqual(await chat.endedCards(), [{ command, pill: 'ok', text: '1\n2\n3' }]);
    assert.equal(await id(), first);
    assert.deepEqual(chat.complaints, []);
  });

  test('a second page shows what the first one runs', async () => {
    const shared = await context();
    const first = await ChatPage.open(shared, server.address);
    await first.say('$ echo begun; sleep 1; echo done');
    await first.cardWith((text) => text.includes('begun'), 'the command has begun');

    const second = await ChatPage.open(shared, new URL('/', server.address));
    const card = { command: 'echo begun; sleep 1; echo done', pill: 'ok', text: 'begun\ndone' };
    assert.deepEqual(await second.endedCards(), [card]);
    assert.deepEqual(await first.endedCards(), [card]);
  });

  test('a dark desktop gets dark paper, and a failure its code', async () => {
    const chat = await ChatPage.open(await context({ colorScheme: 'dark' }), server.address);
    const paper = await chat.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, 'rgb(23, 24, 23)');

    const command = String.raw`printf '\033[31mred \033[32mgreen \033[34mblue\033[0m plain\n'; exit 3`;
    await chat.say(`$ ${command}`);
    assert.deepEqual(await chat.endedCards(), [{ command, pill: 'exit 3', text: 'red green blue plain' }]);
    await chat.screenshot('browser-dark');
    assert.deepEqual(chat.complaints, []);
  });

  test('a session is begun and chosen by keys and leads to the composer, in a narrow window too', async () => {
    const chat = await ChatPage.open(await context(), server.address);
    const focused = () => chat.page.evaluate(() => document.activeElement.dataset.testid ?? document.activeElement.textContent);
    await chat.part('new-session').click();
    const stops = [];
    for (let stop = 0; stop < 4; stop += 1) {
      stops.push(await focused());
      await chat.page.keyboard.press('Tab');
    }
    assert.deepEqual(stops, ['new-session-folder', 'Cancel', 'new-session-create', 'new-session-folder']);
    await chat.part('new-session-folder').press('Enter');
    await chat.part('session-item').nth(1).waitFor();
    await until(async () => (await focused()) === 'composer', 'the composer has the focus');

    await chat.page.setViewportSize({ width: 390, height: 800 });
    assert.equal(await chat.part('session-item').first().isVisible(), false);
    await chat.part('show-sessions').click();
    await chat.part('session-item').nth(1).click();
    await chat.part('session-item').first().waitFor({ state: 'hidden' });
    assert.equal(await focused(), 'composer');
    assert.deepEqual(chat.complaints, []);
  });

  test('a card keeps its lines from the first moment to the last', async () => {
    const chat = await ChatPage.open(await context(), server.address);
    await chat.page.evaluate(() => {
      window.heights = new Set();
      const look = () => {
        const command = document.querySelector('[data-testid=card-command]');
        if (command !== null) window.heights.add(command.clientHeight);
        requestAnimationFrame(look);
      };
      look();
    });
    // It would stand in one line beside the actions of an ended card, and not beside those of a running one.
    await chat.say(`$ echo ${'a'.repeat(52)}; sleep 1`);
    const [card] = await chat.endedCards();
    assert.equal(card.pill, 'ok');
    assert.equal(await chat.page.evaluate(() => window.heights.size), 1);
  });

  test('Escape stops the command', async () => {
    const chat = await ChatPage.open(await context(), server.address);
    await chat.say('$ echo ready; sleep 303');
    await chat.cardWith((text) => text.includes('ready'), 'the command has begun');
    const sleeping = () => server.home.leftRunning().filter((command) => command.startsWith('sleep'));
    await until(() => sleeping().length === 1, 'it sleeps');

    await chat.part('composer').press('Escape');
    const [card] = await chat.endedCards();
    assert.deepEqual({ command: card.command, text: card.text }, { command: 'echo ready; sleep 303', text: 'ready' });
    await until(() => sleeping().length === 0, 'nothing sleeps any more');
  });

  test('the address opens once, and its cookie from then on', async () => {
    const known = await context();
    const chat = await ChatPage.open(known, server.address);
    assert.equal(chat.page.url(), new URL('/', server.address).href, 'the token is in no history');
    const [cookie] = await known.cookies();
    const { httpOnly, sameSite } = cookie;
    assert.deepEqual({ httpOnly, sameSite }, { httpOnly: true, sameSite: 'Strict' });
    await ChatPage.open(known, new URL('/', server.address));

    const stranger = await (await context()).newPage();
    const statuses = [];
    for (const address of [server.address, new URL('/', server.address), new URL('/ws', server.address)]) {
      statuses.push((await stranger.goto(address.href)).status());
    }
    assert.deepEqual(statuses, [403, 403, 403]);
  });

  test('a page elsewhere does not reach the socket', async () => {
    const known = await context();
    const chat = await ChatPage.open(known, server.address);
    const opens = (page) =>
      page.evaluate(async (address) => {
        const socket = new WebSocket(address);
        return new Promise((resolve) => {
          socket.onopen = () => resolve(true);
          socket.onerror = () => resolve(false);
        });
      }, `ws://${server.address.host}/ws`);
    assert.equal(await opens(chat.page), true);

    // Another server on this machine: to the browser the same site, so that even a strict cookie goes along.
    const other = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>elsewhere'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    try {
      const elsewhere = await known.newPage();
      await elsewhere.goto(`http://127.0.0.1:${other.address().port}/`);
      assert.equal(await opens(elsewhere), false);
    } finally {
      other.close();
    }
  });

  test('nothing is left of a command when the server is told to end', async () => {
    const chat = await ChatPage.open(await context(), server.address);
    await chat.say('$ echo ready; sleep 301 & sleep 302');
    await chat.cardWith((text) => text.includes('ready'), 'the command has begun');
    const sleeping = () => server.home.leftRunning().filter((command) => command.startsWith('sleep'));
    await until(() => sleeping().length === 2, 'both of them sleep');
    await chat.screenshot('browser-light-running');

    assert.equal(await server.stop(), 0);
    await server.home.quiet(SOON);
  });
});
