import type { NatsConnection } from "nats.ws";
import type { Delivery, Subscription } from "../types.ts";
import { ReceivedMessage } from "./message.ts";

/**
 * Delivers messages that are published on a subject from now on.
 * @param lost called at most once, when the subscription has ended and will not be restored
 */
export function subscribeOn(
  connected: Promise<NatsConnection>,
  callbacks: Set<() => void>,
  subject: string,
  deliver: (message: Delivery) => void,
  lost?: () => void,
): Subscription {
  let stopped = false;
  let inner: { unsubscribe(): void } | undefined;
  const over = () => {
    callbacks.delete(over);
    if (!stopped) lost?.();
  };
  if (lost !== undefined) callbacks.add(over);
  const listen = (connection: NatsConnection) => {
    if (stopped) return;
    inner = connection.subscribe(subject, {
      callback: (error, message) => {
        // The library reports an error here if this NATS user may not subscribe to the subject.
        if (error !== null) over();
        if (error !== null || stopped) return;
        deliver(new ReceivedMessage(message));
      },
    });
  };
  connected.then(listen).catch(over);
  return {
    unsubscribe: () => {
      stopped = true;
      callbacks.delete(over);
      inner?.unsubscribe();
    },
  };
}
