// The chat page as a person uses it.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { SOON, until } from './patience.mjs';

const screenshots = fileURLToPath(new URL('../../target/screenshots/', import.meta.url));

export async function launchBrowser() {
  mkdirSync(screenshots, { recursive: true });
  const finder = fileURLToPath(new URL('../../scripts/chromium', import.meta.url));
  const executablePath = execFileSync(finder, { encoding: 'utf8' }).trim();
  // Without its sandbox: where tests run as root, it starts in no other way. It opens loopback pages only.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

export class ChatPage {
  // What the page complained of, and the origins that it loaded from.
  complaints = [];
  origins = new Set();

  constructor(page) {
    this.page = page;
    page.setDefaultTimeout(SOON);
    page.on('pageerror', (fault) => this.complaints.push(fault.message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    page.on('request', (request) => this.origins.add(new URL(request.url()).origin));
  }

  static async open(context, address) {
    const chat = new ChatPage(await context.newPage());
    await chat.page.goto(address.href);
    await chat.part('composer').waitFor();
    return chat;
  }

  part(name) {
    return this.page.getByTestId(name);
  }

  // Types a prompt and sends it by Enter.
  async say(text) {
    await this.part('composer').pressSequentially(text);
    await this.part('composer').press('Enter');
  }

  // Every card from top to bottom: command, pill without the time, plain text.
  async cards() {
    const cards = await this.part('card').evaluateAll((elements) =>
      elements.map((element) => {
        const words = (name) => element.querySelector(`[data-testid=${name}]`)?.textContent.trim() ?? '';
        return {
          command: words('card-command'),
          pill: words('card-pill').split(' · ')[0],
          text: window.placard.cardText(element.dataset.terminalId) ?? '',
        };
      }),
    );
    const trimmed = (text) => text.split('\n').map((line) => line.trimEnd()).join('\n').trimEnd();
    return cards.map((card) => ({ ...card, text: trimmed(card.text) }));
  }

  // The only card, once its text satisfies the condition.
  cardWith(condition, what) {
    return until(async () => {
      const cards = await this.cards();
      if (cards.length > 1) throw new Error(`one command has one card, not ${JSON.stringify(cards)}`);
      return cards.find(({ text }) => condition(text));
    }, what);
  }

  // Lets the page itself keep what its cards say from moment to moment: closer than questions from outside.
  async record() {
    await this.page.evaluate(() => {
      window.seen = new Set();
      setInterval(() => {
        for (const card of document.querySelectorAll('[data-testid=card]')) {
          window.seen.add(window.placard.cardText(card.dataset.terminalId).trim());
        }
      }, 10);
    });
  }

  // What was recorded, each text with its white space made one space.
  recorded() {
    return this.page.evaluate(() => [...window.seen].map((text) => text.split(/\s+/).join(' ')));
  }

  // All cards, once none of them runs any more.
  endedCards() {
    return until(async () => {
      const cards = await this.cards();
      return cards.length > 0 && !cards.some(({ pill }) => ['', 'running', 'waiting for input'].includes(pill)) && cards;
    }, 'every card has ended');
  }

  async screenshot(name) {
    await this.page.screenshot({ path: `${screenshots}${name}.png` });
  }
}
