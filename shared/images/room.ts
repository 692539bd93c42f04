import { AppError } from "../kernel/errors.ts";
import { ReadSemaphore } from "../store/read-semaphore.ts";
import { imagesBusy } from "./errors.ts";
import { IMAGE_BYTES, MAKING_MS } from "./job.ts";

/** Limits how many images are decoded at the same time. Images that wait are decoded in order of arrival. */
export class ImageRoom {
  readonly #room: ReadSemaphore;

  constructor(most: number) {
    // A cancelled request cannot release its place. So each place is released after the longest time that receiving and
    // processing an image can take.
    this.#room = new ReadSemaphore(most * IMAGE_BYTES, 2 * MAKING_MS);
  }

  /** @throws AppError 503 `images_busy` after 10 seconds in the queue */
  async enter<T>(make: () => Promise<T>): Promise<T> {
    try {
      return await this.#room.enter(IMAGE_BYTES, make);
    } catch (error) {
      throw error instanceof AppError && error.code === "reads_busy" ? imagesBusy(error) : error;
    }
  }
}
