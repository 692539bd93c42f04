/**
 * A WebSocket that collects the data that is written in one turn of the event loop. It sends the data as one frame,
 * with one system call.
 */
import { WebSocket } from "ws";
import type { BrokerSocket } from "../../shared/store/client/index.ts";

/**
 * Maximum bytes of a frame from the broker. The broker sends all that waits for a client in one frame: up to its
 * `max_pending`, which the configurations of the platform set to 512 MiB, and one more message.
 */
const MAX_FRAME_BYTES = 768 * 1024 * 1024;

class JoiningSocket implements BrokerSocket {
  binaryType = "arraybuffer";
  onopen: BrokerSocket["onopen"] = null;
  onclose: BrokerSocket["onclose"] = null;
  onerror: BrokerSocket["onerror"] = null;
  onmessage: BrokerSocket["onmessage"] = null;
  readonly #socket: WebSocket;
  #queue: Uint8Array[] = [];

  constructor(url: string, heard: () => void) {
    this.#socket = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      skipUTF8Validation: true,
    });
    this.#socket.binaryType = "arraybuffer";
    this.#socket.on("open", () => this.onopen?.({}));
    this.#socket.on("message", (data) => {
      heard();
      this.onmessage?.({ data: data as ArrayBuffer });
    });
    this.#socket.on("error", (error) => this.onerror?.({ message: error.message, error }));
    this.#socket.on("close", (code, reason) =>
      this.onclose?.({ wasClean: code === 1000, reason: reason.toString() || `closed with ${code}` }),
    );
  }

  /**
   * Always 0. With another value, the NATS library would wait for a silent server before it closes the connection.
   */
  get bufferedAmount(): number {
    return 0;
  }

  send(data: ArrayBuffer): void {
    if (this.#queue.length === 0) setImmediate(() => this.#flush());
    this.#queue.push(new Uint8Array(data));
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(queue.length === 1 ? (queue[0] ?? "") : Buffer.concat(queue), { binary: true });
  }

  close(code?: number, reason?: string): void {
    this.#flush();
    this.#socket.close(code, reason);
  }
}

/** @param heard receives each frame from the broker */
export function openSocket(url: string, heard: () => void): BrokerSocket {
  return new JoiningSocket(url, heard);
}
