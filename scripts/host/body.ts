/** Bodies read from the connection itself: a web stream in between costs as much as all else that reading takes. */
import type { IncomingMessage } from "node:http";
import { brokenOff, tooLarge } from "../../functions/middleware/body.ts";

/**
 * Reads a body of fewer than `limit` bytes; a larger one is refused as soon as that is known.
 * @throws AppError too_large; malformed when it breaks off
 */
export function readBody(incoming: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (Number(incoming.headers["content-length"] ?? 0) >= limit) return Promise.reject(tooLarge(limit));
  // Whoever went away before anybody listened is told of by no event.
  if (incoming.destroyed) return Promise.reject(brokenOff(undefined));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    incoming.on("data", (part: Buffer) => {
      size += part.length;
      if (size < limit) parts.push(part);
      else reject(tooLarge(limit));
    });
    let ended = false;
    incoming.on("end", () => {
      ended = true;
      resolve(parts.length === 1 ? (parts[0] ?? Buffer.of()) : Buffer.concat(parts));
    });
    incoming.on("error", (cause) => reject(brokenOff(cause)));
    // Even a body that came whole has no end once its sender is gone. Every request closes: an error costs its stack.
    incoming.on("close", () => {
      if (!ended) reject(brokenOff(undefined));
    });
  });
}
