/** Writes server-sent events directly to sockets. Data for many readers is encoded only once. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Sink } from "../../shared/streams/read/index.ts";

const LAST_CHUNK = "0\r\n\r\n";
const LOW_WATER = 64 * 1024;
/**
 * A client is disconnected if it accepts no data for IDLE_MS milliseconds, or if it takes more than FLUSH_MS to
 * receive the last data.
 */
const IDLE_MS = 10_000;
const FLUSH_MS = 60_000;

/**
 * For each piece of data, the HTTP chunk that contains it. The data never changes, so many clients can get the same
 * chunk.
 */
const chunks = new WeakMap<Uint8Array, Buffer>();

function chunkOf(piece: Uint8Array): Buffer {
  let chunk = chunks.get(piece);
  if (chunk === undefined) {
    const size = Buffer.from(`${piece.length.toString(16)}\r\n`, "latin1");
    chunk = Buffer.concat([size, piece, Buffer.from("\r\n", "latin1")]);
    chunks.set(piece, chunk);
  }
  return chunk;
}

export function socketSink(socket: Socket): Sink {
  let open = true;
  return {
    write(piece) {
      if (open) socket.write(chunkOf(piece));
    },
    queued: () => (open ? socket.writableLength : 0),
    drained: () =>
      !open || socket.destroyed || socket.writableLength < LOW_WATER
        ? Promise.resolve()
        : new Promise((resolve) => {
            const done = () => {
              socket.off("drain", done);
              socket.off("close", done);
              resolve();
            };
            socket.on("drain", done);
            socket.on("close", done);
          }),
    end() {
      if (!open) return;
      open = false;
      if (socket.destroyed) return;
      socket.end(LAST_CHUNK);
      socket.destroySoon();
      if (socket.writableLength === 0) return;
      socket.setTimeout(IDLE_MS, () => socket.destroy());
      setTimeout(() => socket.destroy(), FLUSH_MS).unref();
    },
  };
}

/** Sends the headers of a streaming response and returns the socket for its body. */
export async function beginStream(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string>,
): Promise<Socket> {
  const { socket } = request;
  // A client may send a second request before the first response is complete. The first response must be complete
  // before this one begins.
  if (response.socket === null && !response.destroyed) {
    await new Promise((resolve) => {
      response.once("socket", resolve);
      response.once("close", resolve);
    });
  }
  response.writeHead(200, { ...headers, "transfer-encoding": "chunked", connection: "close" });
  response.flushHeaders();
  socket.setTimeout(0);
  socket.setKeepAlive(true, 30_000);
  return socket;
}
