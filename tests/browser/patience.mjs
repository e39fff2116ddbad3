// Waiting for a condition: as short as possible, never longer than a deadline.

import { setTimeout as pause } from 'node:timers/promises';

// For what is not a promise to people: generous, because tests share two cores.
export const SOON = 20_000;

// Looks at a condition until it gives something, and gives that.
export async function until(condition, what, milliseconds = SOON) {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (performance.now() > deadline) {
      throw new Error(`waited ${milliseconds} ms in vain until ${typeof what === 'function' ? what() : what}`);
    }
    await pause(20);
  }
}
