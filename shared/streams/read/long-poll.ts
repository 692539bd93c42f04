import { type Batch, type Messages, messagesAfter, noMessages } from "../protocol/index.ts";
import type { Hub } from "./hub.ts";
import type { Listener, Tail } from "./tail.ts";

/** Result of a long poll. `messages` is empty after a timeout. */
export interface LongPollResult {
  messages: Messages;
  next: number;
  upToDate: boolean;
}

/**
 * Waits until the stream has a message after a position.
 * @param until deadline in milliseconds since the epoch
 */
export async function waitFor(
  hub: Hub,
  stream: string,
  filter: string,
  position: number,
  until: number,
  signal: AbortSignal | undefined,
): Promise<LongPollResult> {
  let at = position;
  let resolveWait: (found: LongPollResult | "again") => void = () => undefined;
  const nothing = (): LongPollResult => ({ messages: noMessages, next: at, upToDate: true });
  let over = false;
  const giveUp = () => {
    over = true;
    resolveWait(nothing());
  };
  const listener: Listener = {
    deliver(batch: Batch) {
      if (batch.to <= at) return;
      const messages = messagesAfter(batch.messages, at);
      at = batch.to;
      if (messages.seqs.length > 0) resolveWait({ messages, next: batch.to, upToDate: batch.upToDate });
    },
    end: giveUp,
  };
  const timer = setTimeout(giveUp, Math.max(0, until - hub.now()));
  signal?.addEventListener("abort", giveUp, { once: true });
  let tail: Tail | undefined;
  try {
    const held = await hub.tail(stream, filter, listener);
    tail = held;
    for (;;) {
      const found = await new Promise<LongPollResult | "again">((resolve) => {
        resolveWait = resolve;
        if (over || signal?.aborted === true) giveUp();
        else if (!held.attach(listener, at)) resolve("again");
      });
      if (found !== "again") return found;
      // A message may have arrived before the subscription began. So read the stream once more.
      const page = await hub.source.page(stream, filter, at, hub.limits.page);
      if (page.messages.seqs.length > 0) return page;
      at = page.next;
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
    tail?.release(listener);
  }
}
