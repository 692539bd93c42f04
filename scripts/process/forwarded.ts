import type { IncomingMessage } from "node:http";
import { isIP, isIPv6 } from "node:net";

/**
 * Returns the client address that the nearest proxy added to the header. Removes the port, because rate limits would
 * otherwise count each connection separately.
 */
export function forwardedAddress(header: string): string | undefined {
  const last = header.split(",").at(-1)?.trim() ?? "";
  const bracketed = /^\[(.+)\](:\d+)?$/.exec(last)?.[1];
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined;
  const address = /^([\d.]+):\d+$/.exec(last)?.[1] ?? last;
  return isIP(address) === 0 ? undefined : address;
}

/** Returns the client's address: from the connection, or from the header of a trusted proxy. */
export function clientAddress({ headers, socket }: IncomingMessage, behindProxy: boolean): string {
  const header = behindProxy ? String(headers["x-forwarded-for"] ?? "") : "";
  return forwardedAddress(header) ?? socket.remoteAddress ?? "unknown";
}
