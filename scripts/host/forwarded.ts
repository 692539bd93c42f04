import { isIP, isIPv6 } from "node:net";

/**
 * Returns the address that the nearest proxy wrote. Removes the port, or rate limits would count every connection as
 * another client.
 * @returns undefined if the header ends with no address
 */
export function forwardedAddress(header: string): string | undefined {
  const last = header.split(",").at(-1)?.trim() ?? "";
  const bracketed = /^\[(.+)\](:\d+)?$/.exec(last)?.[1];
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined;
  const address = /^([\d.]+):\d+$/.exec(last)?.[1] ?? last;
  return isIP(address) === 0 ? undefined : address;
}
