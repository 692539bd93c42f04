import type { Batch } from "../protocol/batch.ts";
import { behind, type Messages, none } from "../protocol/messages.ts";
import type { Hub } from "./hub.ts";
import type { Listener, Tail } from "./tail.ts";

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
  let settle: (found: Found | "again") => void = () => undefined;
  const nothing = (): Found => ({ messages: none, next: at, upToDate: true });
  let over = false;
  const giveUp = () => {
    over = true;
    settle(nothing());
  };
  const listener: Listener = {
    deliver(batch: Batch) {
      if (batch.to <= at) return;
      const messages = behind(batch.messages, at);
      at = batch.to;
      if (messages.seqs.length > 0) settle({ messages, next: batch.to, upToDate: batch.upToDate });
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
      const found = await new Promise<Found | "again">((resolve) => {
        settle = resolve;
        if (over || signal?.aborted === true) giveUp();
        else if (!held.attach(listener, at)) resolve("again");
      });
      if (found !== "again") return found;
      // Something arrived between the page and the live end.
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
