import type { Store } from "../store/types.ts";

/**
 * Returns the sequence number of the first message of a stream that was stored after a time, or the one after the last
 * message. Needs about as many reads as the number has binary digits.
 * @param time milliseconds since the epoch
 */
export async function firstAfter(store: Store, stream: string, time: number): Promise<number> {
  const info = await store.streamInfo(stream);
  let high = (info?.state.last_seq ?? 0) + 1;
  let low = info?.state.first_seq ?? 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const message = await store.nextMessage(stream, ">", middle);
    if (message === null || message.seq >= high) {
      // No message is left from the middle on, so look before it.
      high = middle;
    } else if (message.time > time) high = middle;
    else low = message.seq + 1;
  }
  return Math.max(1, high);
}
