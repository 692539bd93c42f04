import type { Batch } from "./batch.ts";
import type { Hub } from "./hub.ts";
import { behind, type Messages, none } from "./messages.ts";
import type { Listener } from "./tail.ts";

/** What a long-poll found: messages, or none after its time. */
export interface Found {
  messages: Messages;
  next: number;
  upToDate: boolean;
}

/**
 * Waits for what follows a position, which is the end of what there is.
 * @param until when to give up; milliseconds since the epoch
 * @param signal the client has gone
 */
export async function waitFor(
  hub: Hub,
  stream: string,
  filter: string,
  position: number,
  until: number,
  signal: AbortSignal | undefined,
): Promise<Found> {
  let at = position;
  const tail = await hub.tail(stream, filter);
  for (;;) {
    const found = await new Promise<Found | "again">((resolve) => {
      const listener: Listener = {
        deliver(batch: Batch) {
          if (batch.to <= at) return;
          const messages = behind(batch.messages, at);
          at = batch.to;
          if (messages.seqs.length > 0) settle({ messages, next: batch.to, upToDate: batch.upToDate });
        },
        end: () => settle({ messages: none, next: at, upToDate: true }),
      };
      const gaveUp = () => settle({ messages: none, next: at, upToDate: true });
      const timer = setTimeout(gaveUp, Math.max(0, until - hub.now()));
      signal?.addEventListener("abort", gaveUp, { once: true });
      const settle = (value: Found | "again") => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", gaveUp);
        tail.detach(listener);
        resolve(value);
      };
      if (signal?.aborted === true) gaveUp();
      else if (!tail.attach(listener, at))
        settle(tail.closed ? { messages: none, next: at, upToDate: true } : "again");
    });
    if (found !== "again") return found;
    // Something arrived between the page and the live end.
    const page = await hub.source.page(stream, filter, at, hub.limits.page);
    if (page.messages.seqs.length > 0) return page;
    at = page.next;
  }
}
