interface View {
  scrollTop: number;
  clientHeight: number;
  scrollHeight: number;
}

/** How long after the hand a movement is still the hand's: smooth scrolling goes on by itself. */
const AFTER_HAND_MS = 400;

/**
 * Decides whether a scrolled view follows the end of what grows in it: until the person scrolls up, and again when they
 * are back at the end. Only the hand tells a person's scrolling: the view also moves when content shrinks and grows, and
 * the event of our own scrolling comes late, when there may be more content already.
 */
export class EndFollower {
  following = true;
  #top = 0;
  #handUntil = 0;
  #held = false;

  constructor(private readonly clock: () => number = () => performance.now()) {}

  /** The person does something that scrolls: now, or as long as they hold it. */
  touched(held = false): void {
    this.#handUntil = this.clock() + AFTER_HAND_MS;
    if (held) this.#held = true;
  }

  released(): void {
    if (this.#held) this.touched();
    this.#held = false;
  }

  /** To be told of every scroll event. `slack` is how far from the end still counts as there, in pixels. */
  scrolled(view: View, slack: number): void {
    const up = view.scrollTop < this.#top - 1;
    const byHand = this.#held || this.clock() < this.#handUntil;
    this.#top = view.scrollTop;
    if (view.scrollTop + view.clientHeight >= view.scrollHeight - slack) this.following = true;
    else if (up && byHand) this.following = false;
    if (byHand) this.touched();
  }

  /** Whether the view was moved from the end that it follows, and not by the person: it is to be moved back. */
  strayed(view: View, slack: number): boolean {
    return this.following && view.scrollTop + view.clientHeight < view.scrollHeight - slack;
  }
}

/** The event by which other parts of the page say that the person asked to be taken somewhere. */
export const TAKEN_THERE = 'placard-taken-there';

/** Tells the follower of the hand: wheel, touch, keys, focus that moves, the scroll bar. Gives back how to stop. */
export function watchHand(element: HTMLElement, follower: EndFollower): () => void {
  const touched = (): void => follower.touched();
  const pressed = (event: Event): void => {
    // On the element itself there is only its scroll bar.
    if (event.target === element) follower.touched(true);
  };
  const released = (): void => follower.released();
  const events = ['wheel', 'touchmove', 'keydown', 'focusin', TAKEN_THERE];
  // Before anything inside can keep them to itself.
  const early = { capture: true, passive: true };
  for (const name of events) element.addEventListener(name, touched, early);
  element.addEventListener('pointerdown', pressed, early);
  window.addEventListener('pointerup', released, early);
  return () => {
    for (const name of events) element.removeEventListener(name, touched, early);
    element.removeEventListener('pointerdown', pressed, early);
    window.removeEventListener('pointerup', released, early);
  };
}
