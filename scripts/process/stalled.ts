import type { Server } from "node:http";
import type { Socket } from "node:net";

/** A client is disconnected if it receives no bytes of a response for this many milliseconds. */
export const STALLED_MS = 60_000;

/**
 * Ends connections whose client receives nothing: one rule for every response of a server. Without it, each such
 * connection would keep its response in memory until the system gives up the connection, after minutes.
 *
 * A response that has nothing to send yet, such as a live list without changes, is not stalled.
 */
export function endStalled(server: Server, stalledMs = STALLED_MS): void {
  const responding = new WeakMap<Socket, number>();
  const count = (socket: Socket, change: number) =>
    responding.set(socket, (responding.get(socket) ?? 0) + change);
  server.on("request", ({ socket }, response) => {
    count(socket, 1);
    response.once("close", () => count(socket, -1));
  });
  // The timer of a socket starts again whenever the system has taken bytes. With a listener, Node leaves it to the
  // listener to close connections, also those that were idle between two requests.
  server.setTimeout(stalledMs, (socket: Socket) => {
    if (socket.writableLength > 0 || (responding.get(socket) ?? 0) === 0) socket.destroy();
  });
}
