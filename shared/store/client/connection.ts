/**
 * One connection to the broker. Requests are pipelined: each is sent immediately, without waiting for responses to
 * earlier requests.
 */
import { Events, type Msg, type NatsConnection } from "nats.ws";
import { AppError, unavailable } from "../../kernel/errors.ts";
import type { Delivery, Subscription } from "../types.ts";
import { type ConnectOptions, dial } from "./dial.ts";
import { Frames } from "./frames.ts";
import { keepLeaderContact } from "./leader-contact.ts";
import { type Liveness, livenessOf, onceHeard } from "./liveness.ts";
import { ReceivedMessage } from "./message.ts";
import { brokerTimeout, PendingRequests } from "./pending-requests.ts";
import { mostBytes, publish, randomName } from "./publish.ts";
import { ASSUMED_MAX_PAYLOAD } from "./socket.ts";
import { Subscriptions } from "./subscription.ts";

export type { ConnectOptions } from "./dial.ts";

interface RequestOptions {
  timeoutMs?: number;
  headers?: Record<string, string> | undefined;
}

export class Connection {
  readonly requestTimeoutMs: number;
  readonly #options: ConnectOptions;
  readonly #pending: PendingRequests<Msg>;
  readonly #subscriptions = new Subscriptions();
  #connecting: Promise<NatsConnection> | undefined;
  #connection: NatsConnection | undefined;
  #informed: Promise<void> = Promise.resolve();
  /**
   * The client sends messages of up to this many bytes even before the broker has announced its maximum message size.
   */
  #atOnce = ASSUMED_MAX_PAYLOAD;
  #closed = false;
  /** Whether the connection is lost and reconnecting. Requests fail until it is back. */
  #away = false;
  /** Whether the broker sends nothing although the connection is open. Requests fail until it responds again. */
  #silent = false;
  #inbox = "";
  #liveness: Liveness;
  #held = 0;
  /** Requests that wait for the connection. Later requests wait behind them, whatever their sizes. */
  #waiting = 0;
  #lastTurn: Promise<unknown> = Promise.resolve();
  readonly #frames: Frames | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#frames = options.reconnect ? undefined : new Frames();
    this.requestTimeoutMs = (options.requestTimeoutMs ?? 4000) + (options.queueMs ?? 0);
    this.#liveness = livenessOf(options.url);
    this.#pending = new PendingRequests<Msg>(
      {
        liveness: () => this.#liveness,
        probe: () => void this.#connection?.flush().catch(() => undefined),
        silent: () => this.#markSilent(),
      },
      options.silentMs,
    );
  }

  open(): void {
    this.#connected().catch(() => undefined);
  }

  /** Waits until the connection accepts messages of up to `largest` bytes. */
  async ready(largest = 0): Promise<void> {
    if (this.#connection === undefined) await this.#connected();
    if (largest + 1024 > this.#atOnce) await this.#introduced();
  }

  #introduced(): Promise<void> {
    return this.#informed.catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  #connected(): Promise<NatsConnection> {
    if (this.#closed) return Promise.reject(unavailable("closed"));
    // If this attempt fails, forget its promise, so that the next request connects again.
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
      this.#liveness = pulse;
    });
    this.#informed = introduced;
    this.#atOnce = ASSUMED_MAX_PAYLOAD;
    const unlimited = () => {
      this.#atOnce = Number.POSITIVE_INFINITY;
    };
    introduced.then(unlimited, () => undefined);
    if (this.#closed) {
      await connection.close();
      throw new Error("closed while connecting");
    }
    this.#connection = connection;
    this.#away = this.#silent = false;
    this.#inbox = `${inboxPrefix}.${randomName()}`;
    connection.subscribe(`${this.#inbox}.*`, { callback: (error, message) => this.#answer(error, message) });
    void connection.closed().then((error) => {
      this.#over(connection, () => unavailable(error ?? new Error("connection closed")));
    });
    if (o.reconnect) void this.#watch(connection);
    if (o.reconnect && o.url.includes(",")) keepLeaderContact(connection);
    o.onStatus?.("connected");
    return connection;
  }

  #over(connection: NatsConnection, error: () => AppError): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#connecting = undefined;
    this.#pending.failAll(error);
    this.#subscriptions.lost();
    this.#options.onStatus?.("closed");
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === Events.Disconnect) {
        // Requests that are waiting for a response will not get one. It is unknown whether the broker executed them.
        this.#away = true;
        this.#pending.failAll(() => unavailable("connection lost"));
        this.#options.onStatus?.("disconnected");
      } else if (status.type === Events.Reconnect) {
        this.#away = false;
        this.#options.onStatus?.("reconnected");
      }
    }
  }

  /**
   * Called when the broker is silent. Closes a connection that serves a single request. A long-lived connection waits
   * until the broker responds again.
   */
  #markSilent(): void {
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
    onceHeard(() => (this.#closed ? undefined : this.#liveness), heard);
  }

  #answer(error: Error | null, message: Msg): void {
    if (error !== null) return;
    this.#frames?.received(message.data);
    this.#pending.answer(message.subject.slice(message.subject.lastIndexOf(".") + 1), message);
  }

  #present(): void {
    if (this.#away || this.#silent) throw unavailable("the connection is lost");
  }

  /**
   * Publishes a request and passes each response to `receive`, until `receive` returns true. Requests leave in the
   * order of the calls, also those that wait for the connection.
   */
  ask<T>(
    subject: string,
    data: string | Uint8Array,
    receive: (message: Msg, resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
    options: RequestOptions = {},
  ): Promise<T> {
    const open = this.#connection;
    const most = mostBytes(data);
    if (open !== undefined && this.#waiting === 0 && most + 1024 <= this.#atOnce)
      return this.#askOn(open, subject, data, receive, options);
    return this.#turn(most).then((connection) => this.#askOn(connection, subject, data, receive, options));
  }

  /** Waits until the connection accepts messages of up to `largest` bytes and all earlier requests are sent. */
  #turn(largest: number): Promise<NatsConnection> {
    const connected = this.ready(largest).then(() => this.#connected());
    const turn = Promise.all([connected, this.#lastTurn]).then(([connection]) => connection);
    this.#waiting++;
    this.#lastTurn = turn.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    return turn;
  }

  #askOn<T>(
    connection: NatsConnection,
    subject: string,
    data: string | Uint8Array,
    receive: (message: Msg, resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
    options: RequestOptions,
  ): Promise<T> {
    return this.#pending.wait(
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
   * Reserves memory for part of a response that is still incomplete.
   * @param bytes negative to release memory
   * @param mine bytes that this response has reserved so far
   * @returns false if the incomplete responses together use too much memory
   */
  hold(bytes: number, mine: number): boolean {
    this.#held += bytes;
    return this.#held <= (this.#options.maxHeldBytes ?? Number.POSITIVE_INFINITY) || this.#held === mine;
  }

  send(subject: string, data: string | Uint8Array, headers?: Record<string, string>, reply?: string): void {
    if (this.#connection === undefined) throw unavailable("not connected");
    publish(this.#connection, subject, data, reply, headers);
  }

  request(
    subject: string,
    data: string | Uint8Array,
    options: RequestOptions = {},
  ): Promise<ReceivedMessage> {
    return this.ask(
      subject,
      data,
      (message, resolve) => {
        resolve(new ReceivedMessage(message));
        return true;
      },
      options,
    );
  }

  /**
   * Delivers all messages that are published on a subject from now on. Continues after a lost connection is restored.
   */
  subscribe(subject: string, deliver: (message: Delivery) => void, lost?: () => void): Subscription {
    return this.#subscriptions.subscribe(this.#connected(), subject, { deliver, lost });
  }

  async ping(): Promise<number> {
    const connection = await this.#connected();
    this.#present();
    const started = Date.now();
    await this.#pending.until(this.requestTimeoutMs, connection.flush()).catch((error: unknown) => {
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

  /** Closes the connection. Messages that the broker has not acknowledged may be lost. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    this.#pending.failAll(() => unavailable("closed"));
    await connection?.close();
    this.#frames?.free();
  }
}
