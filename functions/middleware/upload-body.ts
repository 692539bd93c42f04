/** Reads bodies of any length, part by part. */
import { bodyAborted, tooSlow } from "./body-errors.ts";

/** Milliseconds without any data after which an upload ends. Long, because the client may generate its data. */
const PAUSE_MS = 60_000;

type Part = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/**
 * Reads chunks, and gives up if the client sends too slowly. A body may consist of one-byte chunks, so a timer serves
 * many reads. If the consumer stops reading, no timer is left.
 */
class PatientReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #leastRate: number;
  #size = 0;
  #waitedMs = 0;
  #began = 0;
  /** Rejects the pending read; undefined while no read is pending. */
  #giveUp: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, leastRate: number) {
    this.#reader = reader;
    this.#leastRate = leastRate;
  }

  async read(): Promise<Part> {
    this.#began = Date.now();
    const part = await new Promise<Part>((resolve, reject) => {
      this.#giveUp = () => reject(tooSlow());
      this.#timer ??= this.#watch();
      this.#reader.read().then(resolve, (cause: unknown) => reject(bodyAborted(cause)));
    });
    this.#giveUp = undefined;
    this.#waitedMs += Date.now() - this.#began;
    this.#size += part.value?.byteLength ?? 0;
    return part;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #watch(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#timer = undefined;
      if (this.#giveUp === undefined) return;
      const pauseMs = Date.now() - this.#began;
      const isLate = this.#waitedMs + pauseMs >= PAUSE_MS;
      const isSlow = isLate && (this.#size / (this.#waitedMs + pauseMs)) * 1_000 < this.#leastRate;
      if (pauseMs >= PAUSE_MS || isSlow) this.#giveUp();
      else this.#timer = this.#watch();
    }, PAUSE_MS / 12);
  }
}

/**
 * Yields the chunks of an upload. The time that the consumer needs does not count against the client.
 * @param leastRate bytes that must arrive per second on average, after the first minute
 */
export async function* readUpload(
  body: ReadableStream<Uint8Array>,
  leastRate = 0,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const patient = new PatientReader(reader, leastRate);
  let failed = false;
  try {
    for (;;) {
      const part = await patient.read();
      if (part.done) return;
      yield part.value;
    }
  } catch (error) {
    failed = true;
    // The pending read cannot be aborted, and blocks other readers. So cancel the whole body.
    await reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    patient.stop();
    if (!failed) reader.releaseLock();
  }
}
