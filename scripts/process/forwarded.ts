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
