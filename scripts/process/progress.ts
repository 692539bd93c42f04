/** Milliseconds after which a step of a start is named, and the interval at which it is named again. */
const FIRST_MS = 3_000;
const NEXT_MS = 10_000;

/**
 * Runs one step of a start. While the step takes long, says what the start waits for.
 * @param what the step, such as "the broker to start"
 */
export async function step<T>(say: (line: string) => void, what: string, act: () => Promise<T>): Promise<T> {
  const since = Date.now();
  let timer: NodeJS.Timeout;
  const tell = () => {
    say(`Waiting for ${what} (${Math.round((Date.now() - since) / 1000)} s) …`);
    timer = setTimeout(tell, NEXT_MS).unref();
  };
  timer = setTimeout(tell, FIRST_MS).unref();
  try {
    return await act();
  } finally {
    clearTimeout(timer);
  }
}
