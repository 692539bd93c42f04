/** A pause that another part of the program can end. */
export class Waker {
  #woken = false;
  #end: (() => void) | undefined;

  /** Ends the pause, or the next one if there is none. */
  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  /** Lets the next pause begin although there was a call of `wake` since the last one. */
  forget(): void {
    this.#woken = false;
  }

  async wait(ms: number): Promise<void> {
    if (this.#woken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#end = undefined;
  }
}
