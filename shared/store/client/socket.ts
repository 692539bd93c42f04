/**
 * A WebSocket that saves two round trips when it connects. Normally, the NATS client waits for the broker's INFO, then
 * sends CONNECT and PING and waits for the PONG. With a password or token, neither response changes what the client
 * sends. So this socket immediately gives the client a made-up INFO and PONG. The client then writes its credentials,
 * its subscription and its first requests. When the socket opens, all of them are sent as one frame.
 */

import { concatBytes } from "../../kernel/ids.ts";
import { CHECK_MS, type Liveness, livenessOf, markFailed, SilenceTimer } from "./liveness.ts";

/** Maximum bytes of a message, assumed until the broker announces its real limit. */
export const ASSUMED_MAX_PAYLOAD = 1024 * 1024;
const encoder = new TextEncoder();
const INTRODUCTION = encoder.encode(
  `INFO ${JSON.stringify({ version: "2.12.0", headers: true, max_payload: ASSUMED_MAX_PAYLOAD, proto: 1 })}\r\n`,
);
const PONG = encoder.encode("PONG\r\n");
const PING_LENGTH = 6;
const LETTER_P = 80;
const LETTER_I = 73;

/** If a server is silent for this many milliseconds, the client tries the next one. */
const NEXT_MS = 500;

export interface Limits {
  /** Maximum milliseconds without a frame from the server, while the connection is being opened. */
  silenceMs: number;
  /** Maximum milliseconds until the connection is ready, even if the server sends frames meanwhile. */
  patienceMs: number;
}

export function watchedSocket(url: string): WebSocket {
  const socket = new WebSocket(url);
  const pulse = livenessOf(url);
  socket.addEventListener("message", () => {
    pulse.heard++;
  });
  // The client library waits until all data is sent before it closes a socket. A silent server may never accept the
  // data, so tell the library that no data is waiting.
  Object.defineProperty(socket, "bufferedAmount", { value: 0 });
  return socket;
}

type Handler<T> = ((event: T) => void) | null;

export interface BrokerSocket {
  binaryType: string;
  onopen: Handler<unknown>;
  onclose: Handler<{ wasClean: boolean; reason: string }>;
  onerror: Handler<{ message: string; error: unknown }>;
  onmessage: Handler<{ data: ArrayBuffer | Uint8Array }>;
  readonly bufferedAmount: number;
  send(data: ArrayBuffer): void;
  close(code?: number, reason?: string): void;
}

export class EagerSocket implements BrokerSocket {
  binaryType = "arraybuffer";
  onopen: Handler<unknown> = null;
  onclose: Handler<{ wasClean: boolean; reason: string }> = null;
  onerror: Handler<{ message: string; error: unknown }> = null;
  #onmessage: Handler<{ data: ArrayBuffer | Uint8Array }> = null;
  readonly #urls: string[];
  readonly #limits: Limits;
  readonly #began = Date.now();
  readonly #dialing: (pulse: Liveness) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: SilenceTimer | undefined;
  #pulse: Liveness | undefined;
  #dialed = 0;
  readonly introduced: Promise<void>;
  #informed: () => void = () => undefined;
  #refused: (error: Error) => void = () => undefined;
  #socket: WebSocket | undefined;
  #open = false;
  #known = false;
  #ended = false;
  #greeted = false;
  #pinged = false;
  #queue: Uint8Array<ArrayBuffer>[] = [];

  /** @param urls tried in order until one opens */
  constructor(urls: readonly string[], limits: Limits, dialing: (pulse: Liveness) => void) {
    this.#urls = [...urls];
    this.#limits = limits;
    this.#dialing = dialing;
    this.introduced = new Promise((resolve, reject) => {
      this.#informed = resolve;
      this.#refused = reject;
    });
    this.introduced.catch(() => undefined);
    this.#dial();
    this.#watch();
  }

  #watch(): void {
    const { silenceMs, patienceMs } = this.#limits;
    const step = Math.min(CHECK_MS, silenceMs);
    this.#timer = setTimeout(() => {
      if (this.#known || this.#ended) return;
      const silentMs = this.#silence?.check(step) ?? 0;
      const late = Date.now() - this.#began >= patienceMs;
      if (silentMs >= silenceMs || late) {
        if (this.#pulse !== undefined && silentMs >= silenceMs) markFailed(this.#pulse);
        this.#end("connecting took too long");
        return;
      }
      // The client has sent no request to this server yet. So no request can be executed twice if the client tries
      // another server.
      if (!this.#open && this.#urls.length > 0 && silentMs >= NEXT_MS * this.#dialed) {
        if (this.#pulse !== undefined) markFailed(this.#pulse);
        this.#socket?.close();
        this.#dial();
      }
      this.#watch();
    }, step);
  }

  get bufferedAmount(): number {
    return 0;
  }

  get onmessage(): Handler<{ data: ArrayBuffer | Uint8Array }> {
    return this.#onmessage;
  }

  set onmessage(handler: Handler<{ data: ArrayBuffer | Uint8Array }>) {
    this.#onmessage = handler;
    if (handler !== null) queueMicrotask(() => handler({ data: INTRODUCTION }));
  }

  #dial(): void {
    const url = this.#urls.shift();
    if (url === undefined) {
      queueMicrotask(() => this.#end("the broker cannot be reached"));
      return;
    }
    const pulse = livenessOf(url);
    this.#pulse = pulse;
    this.#dialed++;
    if (this.#silence === undefined) this.#silence = new SilenceTimer(pulse);
    else this.#silence.follow(pulse);
    this.#dialing(pulse);
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    const current = () => this.#socket === socket && !this.#ended;
    socket.onopen = () => {
      if (!current()) return;
      this.#open = true;
      this.#flush();
    };
    socket.onmessage = (event: MessageEvent<ArrayBuffer>) => {
      pulse.heard++;
      if (!current()) return;
      if (!this.#known) {
        this.#known = new Uint8Array(event.data, 0, 1)[0] === LETTER_I;
        if (this.#known) clearTimeout(this.#timer);
      }
      this.#onmessage?.({ data: event.data });
      if (this.#known && !this.#greeted) {
        this.#greeted = true;
        setTimeout(this.#informed, 0);
      }
    };
    const lost = () => {
      if (!current()) return;
      // Try another server only if this server has received no requests. Otherwise the other server could execute the
      // same requests again.
      if (this.#open) this.#end("the connection broke");
      else this.#dial();
    };
    socket.onerror = lost;
    socket.onclose = lost;
  }

  #flush(): void {
    const first = this.#queue[0];
    if (first === undefined) return;
    this.#socket?.send(this.#queue.length === 1 ? first : concatBytes(this.#queue));
    this.#queue = [];
  }

  send(data: ArrayBuffer): void {
    const frame = new Uint8Array(data);
    if (!this.#pinged && frame.length === PING_LENGTH && frame[0] === LETTER_P && frame[1] === LETTER_I) {
      this.#pinged = true;
      queueMicrotask(() => this.#onmessage?.({ data: PONG }));
      return;
    }
    if (this.#open) this.#socket?.send(frame);
    else this.#queue.push(frame);
  }

  close(code?: number, reason?: string): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#refused(new Error("the connection ended"));
    try {
      this.#socket?.close(code, reason);
    } catch {
      // Closing fails only if the socket is closed already, so ignore the error.
    }
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.close();
    this.onclose?.({ wasClean: false, reason });
  }
}
