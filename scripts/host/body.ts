/** Reads request bodies directly from the Node socket. A conversion to a web stream would double the cost. */
import type { IncomingMessage } from "node:http";
import { waitForBody } from "../../functions/middleware/body.ts";
import { bodyAborted, tooLarge, tooSlow } from "../../functions/middleware/body-errors.ts";
import type { AppError } from "../../shared/kernel/errors.ts";
import { ByteCollector } from "../../shared/kernel/ids.ts";

/** Rejects a body that has `limit` or more bytes, as soon as that is known. */
export function readBody(incoming: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (Number(incoming.headers["content-length"] ?? 0) >= limit) return Promise.reject(tooLarge(limit));
  // The client has already disconnected. No event will report this, so report it here.
  if (incoming.destroyed) return Promise.reject(bodyAborted(undefined));
  return new Promise((resolve, reject) => {
    const collected = new ByteCollector();
    let settled = false;
    const refuse = (error: AppError) => {
      settled = true;
      wait.stop();
      reject(error);
    };
    const wait = waitForBody();
    void wait.late.then(() => refuse(tooSlow()));
    incoming.on("data", (part: Buffer) => {
      // The body was rejected. Read and discard the rest.
      if (settled) return;
      wait.came();
      if (collected.size + part.length < limit) collected.add(part);
      else refuse(tooLarge(limit));
    });
    incoming.on("end", () => {
      settled = true;
      wait.stop();
      resolve(collected.bytes());
    });
    incoming.on("error", (cause) => refuse(bodyAborted(cause)));
    // The event "close" also follows a complete body. Create the error (and its stack) only if the body is
    // incomplete.
    incoming.on("close", () => {
      if (!settled) refuse(bodyAborted(undefined));
    });
  });
}
