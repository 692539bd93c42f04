/**
 * One connection to the broker, reduced to what the store needs: publish, subscribe, and requests with one or many
 * answers over a single inbox subscription. Everything is pipelined: no call waits for another one's answer.
 */
import { Events, type Msg, type NatsConnection } from "nats.ws";
import { AppError, unavailable } from "../../kernel/errors.ts";
import type { Delivery, Reply, Subscription } from "../types.ts";
import { Answers, brokerTimeout } from "./answers.ts";
import { type ConnectOptions, dial } from "./dial.ts";
import { Delivered, replyOf } from "./message.ts";
import { mostBytes, publish, randomName } from "./publish.ts";
import { type Pulse, pulseOf, whenHeard } from "./pulse.ts";
import { ASSUMED_MAX_PAYLOAD } from "./socket.ts";

export type { ConnectOptions } from "./dial.ts";

/** How a question is asked. */
interface Asking {
  timeoutMs?: number;
  headers?: Record<string, string> | undefined;
}

/** A connection that opens on first use. */
export class Wire {
  readonly requestTimeoutMs: number;
  readonly #options: ConnectOptions;
  readonly #answers: Answers<Msg>;
  /** Whom to tell that the connection is gone for good. */
  readonly #lost = new Set<() => void>();
  #connecting: Promise<NatsConnection> | undefined;
  #connection: NatsConnection | undefined;
  /** Resolves when the broker has told its limits itself. */
  #informed: Promise<void> = Promise.resolve();
  #closed = false;
  /** A connection that will come back is away: nothing is asked of it meanwhile. */
  #away = false;
  /** Nothing is heard of the broker, though the connection stands: nothing is asked either, until it is heard again. */
  #silent = false;
  #inbox = "";
  /** Of the server that we are connected to. */
  #pulse: Pulse;
  #held = 0;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.requestTimeoutMs = (options.requestTimeoutMs ?? 4000) + (options.queueMs ?? 0);
    this.#pulse = pulseOf(options.url);
    this.#answers = new Answers<Msg>(
      {
        pulse: () => this.#pulse,
        probe: () => void this.#connection?.flush().catch(() => undefined),
        silent: () => this.#hush(),
      },
      options.silentMs,
    );
  }

  /** Begins to connect, without waiting: the caller has something else to do meanwhile. */
  open(): void {
    this.#connected().catch(() => undefined);
  }

  /**
   * Resolves once something can be sent.
   * @param largest bytes of the largest message that will be: more than any broker takes must wait for its limits
   */
  async ready(largest = 0): Promise<void> {
    if (this.#connection === undefined) await this.#connected();
    if (largest + 1024 > ASSUMED_MAX_PAYLOAD) await this.#introduced();
  }

  #introduced(): Promise<void> {
    return this.#informed.catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  #connected(): Promise<NatsConnection> {
    if (this.#closed) return Promise.reject(unavailable("closed"));
    // A failed first attempt is forgotten, so that a long-lived process tries again with its next request.
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw unavailable(error);
    });
    return this.#connecting;
  }

  async #connect(): Promise<NatsConnection> {
    const o = this.#options;
    const inboxPrefix = `_INBOX.${o.user ?? "client"}`;
    const { connection, introduced } = await dial(o, inboxPrefix, (pulse) => {
      this.#pulse = pulse;
    });
    this.#informed = introduced;
    if (this.#closed) {
      await connection.close();
      throw new Error("closed while connecting");
    }
    this.#connection = connection;
    // It may be another one than that which was lost.
    this.#away = this.#silent = false;
    this.#inbox = `${inboxPrefix}.${randomName()}`;
    connection.subscribe(`${this.#inbox}.*`, { callback: (error, message) => this.#answer(error, message) });
    void connection.closed().then((error) => {
      this.#over(connection, () => unavailable(error ?? new Error("connection closed")));
    });
    if (o.reconnect) void this.#watch(connection);
    o.onStatus?.("connected");
    return connection;
  }

  /** A connection is gone for good; the next question makes another one. */
  #over(connection: NatsConnection, error: () => AppError): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#connecting = undefined;
    this.#answers.failAll(error);
    for (const over of this.#lost) over();
    this.#options.onStatus?.("closed");
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === Events.Disconnect) {
        // What was asked before the break will never be answered: its outcome is unknown.
        this.#away = true;
        this.#answers.failAll(() => unavailable("connection lost"));
        this.#options.onStatus?.("disconnected");
      } else if (status.type === Events.Reconnect) {
        this.#away = false;
        this.#options.onStatus?.("reconnected");
      }
    }
  }

  /** The broker says nothing. A request's own connection ends; a lasting one waits for it, or for another server. */
  #hush(): void {
    if (!this.#options.reconnect) {
      const silent = this.#connection;
      if (silent === undefined) return;
      this.#over(silent, brokerTimeout);
      silent.close().catch(() => undefined);
      return;
    }
    if (this.#silent) return;
    this.#silent = true;
    this.#options.onStatus?.("disconnected");
    const heard = () => {
      this.#silent = false;
      if (!this.#away) this.#options.onStatus?.("reconnected");
    };
    whenHeard(() => (this.#closed ? undefined : this.#pulse), heard);
  }

  #answer(error: Error | null, message: Msg): void {
    if (error !== null) return;
    this.#answers.answer(message.subject.slice(message.subject.lastIndexOf(".") + 1), message);
  }

  /** @throws AppError unavailable while nothing can be asked */
  #present(): void {
    if (this.#away || this.#silent) throw unavailable("the connection is away");
  }

  /**
   * Publishes and collects answers until `receive` says that the last has come.
   * @throws AppError unavailable when the broker is away, timeout when nobody answers in time
   */
  ask<T>(
    subject: string,
    data: string | Uint8Array,
    receive: (message: Msg, resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
    options: Asking = {},
  ): Promise<T> {
    const open = this.#connection;
    const most = mostBytes(data);
    if (open !== undefined && most + 1024 <= ASSUMED_MAX_PAYLOAD)
      return this.#askOn(open, subject, data, receive, options);
    return this.ready(most)
      .then(() => this.#connected())
      .then((connection) => this.#askOn(connection, subject, data, receive, options));
  }

  #askOn<T>(
    connection: NatsConnection,
    subject: string,
    data: string | Uint8Array,
    receive: (message: Msg, resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
    options: Asking,
  ): Promise<T> {
    return this.#answers.wait(
      options.timeoutMs ?? this.requestTimeoutMs,
      (id) => {
        this.#present();
        try {
          publish(connection, subject, data, `${this.#inbox}.${id}`, options.headers);
        } catch (error) {
          throw error instanceof AppError ? error : unavailable(error);
        }
      },
      receive,
    );
  }

  /**
   * Takes room for a part of an answer that is not whole yet, or gives it back.
   * @param mine bytes that this answer holds already, the part included
   * @returns false when those of others leave no room for it
   */
  hold(bytes: number, mine: number): boolean {
    this.#held += bytes;
    return this.#held <= (this.#options.maxHeldBytes ?? Number.POSITIVE_INFINITY) || this.#held === mine;
  }

  /** Publishes without waiting for anything. Needs an open connection. */
  send(subject: string, data: string | Uint8Array, headers?: Record<string, string>, reply?: string): void {
    if (this.#connection === undefined) throw unavailable("not connected");
    publish(this.#connection, subject, data, reply, headers);
  }

  /** One answer. A service that nobody runs is `no_responders`, told by the broker at once. */
  request(
    subject: string,
    data: string | Uint8Array,
    options: Asking = {},
  ): Promise<Reply & { status: number }> {
    return this.ask(
      subject,
      data,
      (message, resolve) => {
        resolve(replyOf(message));
        return true;
      },
      options,
    );
  }

  /** Delivers what is published on a subject from now on; survives reconnections, and tells when it is over. */
  subscribe(subject: string, deliver: (message: Delivery) => void, lost?: () => void): Subscription {
    let stopped = false;
    let inner: { unsubscribe(): void } | undefined;
    const over = () => {
      this.#lost.delete(over);
      if (!stopped) lost?.();
    };
    if (lost !== undefined) this.#lost.add(over);
    const listen = (connection: NatsConnection) => {
      if (stopped) return;
      inner = connection.subscribe(subject, {
        callback: (error, message) => {
          // The broker does not let us listen to this.
          if (error !== null) over();
          if (error !== null || stopped) return;
          deliver(new Delivered(message));
        },
      });
    };
    // It may end in the moment in which it is there: then nothing is listened to either.
    this.#connected().then(listen).catch(over);
    return {
      unsubscribe: () => {
        stopped = true;
        this.#lost.delete(over);
        inner?.unsubscribe();
      },
    };
  }

  /** Milliseconds of one round trip to the broker, after everything sent before. */
  async ping(): Promise<number> {
    const connection = await this.#connected();
    this.#present();
    const started = Date.now();
    await this.#answers.until(this.requestTimeoutMs, connection.flush()).catch((error: unknown) => {
      throw error instanceof AppError ? error : unavailable(error);
    });
    return Date.now() - started;
  }

  async server(): Promise<{ version: string; name: string; maxPayload: number }> {
    const connection = await this.#connected();
    await this.#introduced();
    const info = connection.info;
    return {
      version: info?.version ?? "",
      name: info?.server_name ?? "",
      maxPayload: info?.max_payload ?? 0,
    };
  }

  /** Gives the connection back. What was not acknowledged by then may be lost. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    this.#answers.failAll(() => unavailable("closed"));
    await connection?.close();
  }
}
