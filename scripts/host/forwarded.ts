/** Reads the client's address from a proxy's headers. */
import { isIP, isIPv6 } from "node:net";

/**
 * The address in the last entry of `X-Forwarded-For`, which the nearest proxy wrote. Removes a port, because rate
 * limits would otherwise count every connection as another client.
 * @returns undefined if the entry is not an address
 */
export function forwardedAddress(header: string): string | undefined {
  const last = header.split(",").at(-1)?.trim() ?? "";
  const bracketed = /^\[(.+)\](:\d+)?$/.exec(last)?.[1];
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined;
  const address = /^([\d.]+):\d+$/.exec(last)?.[1] ?? last;
  return isIP(address) === 0 ? undefined : address;
}
