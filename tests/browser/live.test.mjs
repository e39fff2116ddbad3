// What a person does with a running command: typing into it, and stopping it alone.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { ChatPage, launchBrowser } from './page.mjs';
import { until } from './patience.mjs';
import { Server } from './server.mjs';

describe('a running command', () => {
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
  const pillIs = (chat, words) => chat.part('card-pill').first().filter({ hasText: words }).waitFor();
  const focused = (chat) => chat.page.evaluate(() => document.activeElement.dataset.testid);

  test('is typed into by keys alone: from the composer to its field and back', async () => {
    const chat = await ChatPage.open(await context({ colorScheme: 'light' }), server.address);
    const command = 'read x; echo got $x';
    await chat.say(`$ ${command}`);
    await pillIs(chat, 'waiting for input');
    assert.equal(await focused(chat), 'composer');
    await chat.part('composer').press('Shift+Tab');
    assert.equal(await focused(chat), 'card-input');
    await chat.part('card-input').pressSequentially('a line');
    await chat.screenshot('browser-light-typing');
    await chat.part('card-input').press('Enter');
    assert.deepEqual(await chat.endedCards(), [{ command, pill: 'ok', text: 'a line\ngot a line' }]);
    await until(async () => (await focused(chat)) === 'composer', 'the composer has the focus again');
    assert.deepEqual(chat.complaints, []);
  });

  test('gets the end of the input, and an interrupt, by the keys of a terminal', async () => {
    const chat = await ChatPage.open(await context({ colorScheme: 'dark' }), server.address);
    const command = "trap 'echo interrupted' INT; cat; echo end; sleep 311; echo over";
    await chat.say(`$ ${command}`);
    await pillIs(chat, 'waiting for input');
    await chat.part('card-input').press('Control+d');
    await chat.cardWith((text) => text.includes('end'), 'cat has ended');
    await chat.screenshot('browser-dark-typing');
    await chat.part('card-input').press('Control+c');
    assert.deepEqual(await chat.endedCards(), [{ command, pill: 'ok', text: 'end\n^Cinterrupted\nover' }]);
    assert.deepEqual(chat.complaints, []);
  });

  test('is stopped alone, and what another page types is seen in both', async () => {
    const shared = await context();
    const first = await ChatPage.open(shared, server.address);
    await first.part('composer').fill('$ read x; echo got $x; sleep 312\n$ echo and on');
    await first.part('composer').press('Enter');
    await pillIs(first, 'waiting for input');
    const second = await ChatPage.open(shared, new URL('/', server.address));
    await pillIs(second, 'waiting for input');
    await second.part('card-input').fill('that');
    await second.part('card-send').click();
    const running = async (chat) => (await chat.cards())[0]?.text === 'that\ngot that';
    await until(() => running(first), 'the first page shows it');
    await first.part('card-stop').first().click();
    const cards = [
      { command: 'read x; echo got $x; sleep 312', pill: 'killed by SIGINT', text: 'that\ngot that' },
      { command: 'echo and on', pill: 'ok', text: 'and on' },
    ];
    assert.deepEqual(await first.endedCards(), cards);
    assert.deepEqual(await second.endedCards(), cards);
    await first.screenshot('browser-light-stopped');
    assert.equal(await first.part('notice').count(), 0, 'the turn was not cancelled');
  });
});
