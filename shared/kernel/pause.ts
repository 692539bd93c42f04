/** Resolves after a time in milliseconds, or as soon as the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = () => {
      clearTimeout(timer);
      // Without this, a signal that is used for many pauses would keep a listener of each.
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** A pause that other code can end early. */
export class Waker {
  #woken = false;
  #end: (() => void) | undefined;

  /** Ends the current pause. If no pause is running, the next call of `wait` returns immediately. */
  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  /** Forgets earlier calls of `wake`, so that they do not end the next pause. */
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
