import { expect, it } from 'vitest';
import { EndFollower } from './end_follower';

const at = (scrollTop: number, scrollHeight: number): { scrollTop: number; clientHeight: number; scrollHeight: number } => ({
  scrollTop,
  clientHeight: 100,
  scrollHeight,
});
const HAND = 'hand';
const HOLD = 'hold';
const RELEASE = 'release';
type Step = ReturnType<typeof at> | typeof HAND | typeof HOLD | typeof RELEASE | number;

const cases: [string, Step[], boolean][] = [
  ['growth that our own scrolling lags behind is no reason to stop', [at(100, 200), at(100, 300), at(200, 400)], true],
  ['content that shrinks and grows again moves the view, not the person', [at(300, 400), at(50, 400)], true],
  ['the person scrolls up', [at(100, 200), HAND, at(60, 200)], false],
  ['the person scrolls up while it grows', [at(100, 200), HAND, at(60, 300)], false],
  ['smooth scrolling goes on after the hand', [at(300, 400), HAND, 300, at(295, 400), 300, at(200, 400)], false],
  ['a hand long ago explains nothing', [at(300, 400), HAND, 500, at(50, 400)], true],
  ['a scroll bar that is held', [at(300, 400), HOLD, 5000, at(200, 400), RELEASE], false],
  ['back at the end by hand', [at(100, 200), HAND, at(60, 200), at(95, 200)], true],
  ['scrolling down without reaching the end changes nothing', [at(100, 200), HAND, at(20, 200), at(50, 200)], false],
];

it.each(cases)('%s', (_name, steps, following) => {
  let now = 1000;
  const follower = new EndFollower(() => now);
  for (const step of steps) {
    if (typeof step === 'number') now += step;
    else if (step === HAND) follower.touched();
    else if (step === HOLD) follower.touched(true);
    else if (step === RELEASE) follower.released();
    else follower.scrolled(step, 10);
  }
  expect(follower.following).toBe(following);
});

it('says when the view was moved from the end by something else than the hand', () => {
  const follower = new EndFollower(() => 1000);
  follower.scrolled(at(300, 400), 10);
  follower.scrolled(at(100, 400), 10);
  const byContent = follower.strayed(at(100, 400), 10);
  follower.scrolled(at(300, 400), 10);
  follower.touched();
  follower.scrolled(at(100, 400), 10);
  expect([byContent, follower.strayed(at(100, 400), 10)]).toEqual([true, false]);
});
