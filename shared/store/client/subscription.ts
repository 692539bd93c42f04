import type { NatsConnection } from "nats.ws";
import type { Delivery, Subscription } from "../types.ts";
import { ReceivedMessage } from "./message.ts";

interface Listener {
  deliver: (message: Delivery) => void;
  /** Called at most once, when the subscription has ended and will not be restored. */
  lost: (() => void) | undefined;
}

interface Shared {
  listeners: Set<Listener>;
  end: () => void;
}

/**
 * Calls a listener. What one throws must neither keep the message from the others nor end the connection, so it becomes
 * an unhandled rejection, which processes log.
 * @returns whether it threw nothing
 */
function apart(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    void Promise.reject(error);
    return false;
  }
}

/**
 * The subscriptions of a connection. All listeners of a subject share one: the broker sends each message once for each
 * subscription, and disconnects a client for which it has to buffer too much.
 */
export class Subscriptions {
  readonly #shared = new Map<string, Shared>();

  /** Delivers messages that are published on a subject from now on. */
  subscribe(connected: Promise<NatsConnection>, subject: string, listener: Listener): Subscription {
    const shared = this.#shared.get(subject) ?? this.#begin(connected, subject);
    shared.listeners.add(listener);
    return {
      unsubscribe: () => {
        if (!shared.listeners.delete(listener) || shared.listeners.size > 0) return;
        if (this.#shared.get(subject) === shared) this.#shared.delete(subject);
        shared.end();
      },
    };
  }

  /** Ends all subscriptions, because the connection is lost and will not be restored. */
  lost(): void {
    for (const subject of [...this.#shared.keys()]) this.#over(subject);
  }

  #over(subject: string, shared = this.#shared.get(subject)): void {
    if (shared === undefined) return;
    if (this.#shared.get(subject) === shared) this.#shared.delete(subject);
    const listeners = [...shared.listeners];
    shared.listeners.clear();
    shared.end();
    for (const { lost } of listeners) apart(() => lost?.());
  }

  /** @returns whether a listener remains */
  #deliver({ listeners }: Shared, delivery: Delivery): boolean {
    for (const one of [...listeners]) {
      // A listener may end others.
      if (!listeners.has(one) || apart(() => one.deliver(delivery)) || one.lost === undefined) continue;
      // It may have missed the message.
      listeners.delete(one);
      apart(one.lost);
    }
    return listeners.size > 0;
  }

  #begin(connected: Promise<NatsConnection>, subject: string): Shared {
    let ended = false;
    let inner: { unsubscribe(): void } | undefined;
    const shared: Shared = {
      listeners: new Set(),
      end: () => {
        if (ended) return;
        ended = true;
        inner?.unsubscribe();
      },
    };
    const over = () => this.#over(subject, shared);
    const listen = (connection: NatsConnection) => {
      if (ended) return;
      inner = connection.subscribe(subject, {
        callback: (error, message) => {
          // The library reports an error here if this NATS user may not subscribe to the subject.
          if (error !== null) over();
          if (error !== null || ended) return;
          if (!this.#deliver(shared, new ReceivedMessage(message))) over();
        },
      });
    };
    connected.then(listen).catch(over);
    this.#shared.set(subject, shared);
    return shared;
  }
}
