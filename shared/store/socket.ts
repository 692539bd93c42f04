/**
 * A WebSocket that spares a request the waiting of a handshake. The client library says CONNECT and PING once the
 * broker has introduced itself, and nothing else before the PONG: two round trips in which nothing useful is on its
 * way. Neither answer changes what a client with a password or token sends. So this socket introduces the broker and
 * answers that first PING by itself, and everything said until the real socket opens leaves as its first frame:
 * credentials, subscription and requests together.
 */

import { joined } from "../bytes.ts";
import { LOOK_MS, type Pulse, pulseOf, Silence, shun } from "./pulse.ts";

/** What is assumed of a broker until it has introduced itself. */
export const ASSUMED_MAX_PAYLOAD = 1024 * 1024;
const encoder = new TextEncoder();
const INTRODUCTION = encoder.encode(
  `INFO ${JSON.stringify({ version: "2.12.0", headers: true, max_payload: ASSUMED_MAX_PAYLOAD, proto: 1 })}\r\n`,
);
const PONG = encoder.encode("PONG\r\n");
const PING_LENGTH = 6;
const LETTER_P = 80;
const LETTER_I = 73;

/** Silence after which another server is tried, where there is one. */
const NEXT_MS = 500;

/** How long a broker may take to introduce itself. */
export interface Limits {
  /** Milliseconds in which nobody hears anything of it. */
  silenceMs: number;
  /** Milliseconds in all, while others hear it. */
  patienceMs: number;
}

/** A socket as the library opens it, whose server shows signs of life. */
export function watchedSocket(url: string): WebSocket {
  const socket = new WebSocket(url);
  const pulse = pulseOf(url);
  socket.addEventListener("message", () => {
    pulse.heard++;
  });
  // The library would wait for a silent server to take what was sent before it lets go of the connection.
  Object.defineProperty(socket, "bufferedAmount", { value: 0 });
  return socket;
}

type Handler<T> = ((event: T) => void) | null;

/** The members of a WebSocket that the client library uses. */
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
  readonly #dialing: (pulse: Pulse) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: Silence | undefined;
  #pulse: Pulse | undefined;
  #dialed = 0;
  /** Resolves when the broker has introduced itself; rejects when it never did. */
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

  /**
   * @param urls tried in turn until one opens
   * @param limits until the broker must have introduced itself
   * @param dialing told of the server that is being tried
   */
  constructor(urls: readonly string[], limits: Limits, dialing: (pulse: Pulse) => void) {
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

  /** Looks whether anything is heard until the broker has introduced itself. */
  #watch(): void {
    const { silenceMs, patienceMs } = this.#limits;
    const step = Math.min(LOOK_MS, silenceMs);
    this.#timer = setTimeout(() => {
      if (this.#known || this.#ended) return;
      const silentMs = this.#silence?.look(step) ?? 0;
      const late = Date.now() - this.#began >= patienceMs;
      if (silentMs >= silenceMs || late) {
        if (this.#pulse !== undefined && silentMs >= silenceMs) shun(this.#pulse);
        this.#end("connecting took too long");
        return;
      }
      // Nothing was said yet: another server may answer.
      if (!this.#open && this.#urls.length > 0 && silentMs >= NEXT_MS * this.#dialed) {
        if (this.#pulse !== undefined) shun(this.#pulse);
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

  /** Set once by the library when it is ready to listen. */
  set onmessage(handler: Handler<{ data: ArrayBuffer | Uint8Array }>) {
    this.#onmessage = handler;
    if (handler !== null) queueMicrotask(() => handler({ data: INTRODUCTION }));
  }

  #dial(): void {
    const url = this.#urls.shift();
    if (url === undefined) {
      // The library listens for a failure only after this call.
      queueMicrotask(() => this.#end("the broker cannot be reached"));
      return;
    }
    const pulse = pulseOf(url);
    this.#pulse = pulse;
    this.#dialed++;
    if (this.#silence === undefined) this.#silence = new Silence(pulse);
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
        // The library reads what it was given in its own turn.
        setTimeout(this.#informed, 0);
      }
    };
    const lost = () => {
      if (!current()) return;
      // Nothing was said yet: another server may hear it. Later nobody knows what was done.
      if (this.#open) this.#end("the connection broke");
      else this.#dial();
    };
    socket.onerror = lost;
    socket.onclose = lost;
  }

  #flush(): void {
    const first = this.#queue[0];
    if (first === undefined) return;
    this.#socket?.send(this.#queue.length === 1 ? first : joined(this.#queue));
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
      // It was never open, or is closed already.
    }
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.close();
    this.onclose?.({ wasClean: false, reason });
  }
}
