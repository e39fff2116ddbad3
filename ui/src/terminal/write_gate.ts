/** Counts terminal writes that are under way, so that a batch is acknowledged only when it was really drawn. */
export class WriteGate {
  #open = new Set<Promise<void>>();

  track(write: Promise<void>): void {
    this.#open.add(write);
    void write.finally(() => this.#open.delete(write));
  }

  /** Resolves when every write that is under way now is done. */
  async settled(): Promise<void> {
    if (this.#open.size > 0) await Promise.allSettled([...this.#open]);
  }
}
