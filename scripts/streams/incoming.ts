/** Reads parts of Node's requests. */
import type { IncomingMessage } from "node:http";
import { bearerOf } from "../../functions/middleware/session.ts";

/**
 * Returns the bearer token. If there are several Authorization headers, ignores them all, because it would not be
 * clear which one counts.
 */
export const tokenOf = (request: IncomingMessage) =>
  bearerOf(request.headersDistinct.authorization?.join(", "));

export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const headerOf = (request: IncomingMessage) => (name: string) => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
};
