/** Milliseconds before attempt `attempt` (from 0) to reach the hub again: doubling from 0.25 s to 8 s. */
export function backOff(attempt: number): number {
  return Math.min(8000, 250 * 2 ** Math.min(attempt, 5));
}
