/** What a proxy in front says of the client. */
import { isIP, isIPv6 } from "node:net";

/**
 * The address in the last entry of `X-Forwarded-For`, which is the proxy's own. Some write the client's port behind it:
 * counted with that, every connection would be a client of its own.
 * @returns undefined when there is no address
 */
export function forwardedAddress(header: string): string | undefined {
  const last = header.split(",").at(-1)?.trim() ?? "";
  const bracketed = /^\[(.+)\](:\d+)?$/.exec(last)?.[1];
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined;
  const address = /^([\d.]+):\d+$/.exec(last)?.[1] ?? last;
  return isIP(address) === 0 ? undefined : address;
}
