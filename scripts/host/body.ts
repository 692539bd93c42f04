/** Bodies read from the connection itself: a web stream in between costs as much as all else that reading takes. */
import type { IncomingMessage } from "node:http";
import { brokenOff, tooLarge, tooSlow, waitForBody } from "../../functions/middleware/body.ts";
import type { AppError } from "../../shared/errors.ts";

/**
 * Reads a body of fewer than `limit` bytes; a larger one is refused as soon as that is known.
 * @throws AppError too_large; malformed when it breaks off, or comes too slowly
 */
export function readBody(incoming: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (Number(incoming.headers["content-length"] ?? 0) >= limit) return Promise.reject(tooLarge(limit));
  // Whoever went away before anybody listened is told of by no event.
  if (incoming.destroyed) return Promise.reject(brokenOff(undefined));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let settled = false;
    const refuse = (error: AppError) => {
      settled = true;
      wait.stop();
      reject(error);
    };
    const wait = waitForBody();
    void wait.late.then(() => refuse(tooSlow()));
    incoming.on("data", (part: Buffer) => {
      // What comes after all is read away, and kept by nobody.
      if (settled) return;
      wait.came();
      size += part.length;
      if (size < limit) parts.push(part);
      else refuse(tooLarge(limit));
    });
    incoming.on("end", () => {
      settled = true;
      wait.stop();
      resolve(parts.length === 1 ? (parts[0] ?? Buffer.of()) : Buffer.concat(parts));
    });
    incoming.on("error", (cause) => refuse(brokenOff(cause)));
    // Even a body that came whole has no end once its sender is gone. Every request closes: an error costs its stack.
    incoming.on("close", () => {
      if (!settled) refuse(brokenOff(undefined));
    });
  });
}
