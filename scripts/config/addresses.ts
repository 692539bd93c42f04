/** Decides which IP addresses may be reached with a URL that comes from other people, such as that of a webhook. */
import { type LookupAddress, lookup as lookupName } from "node:dns";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import { networks } from "./networks.ts";

/** Special-purpose IPv4 networks (IANA registry, RFC 6890). Such URLs must not reach them. */
const PRIVATE_4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/**
 * The range of public unicast IPv6 addresses. `PRIVATE_6` lists the networks in this range that are reserved or that
 * contain IPv4 addresses.
 */
const PUBLIC_6 = ["2000::/3"];
const PRIVATE_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const private4 = networks(PRIVATE_4);
const private6 = networks(PRIVATE_6);
const public6 = networks(PUBLIC_6);

const NONE = networks([]);
const loopback = networks(["127.0.0.0/8", "::1/128"]);

/** Returns whether an IP address is one of the local machine. */
export function isLocal(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? "ipv4" : "ipv6");
}

/**
 * Returns whether an IP address is public. An IPv6 address that contains an IPv4 address counts as
 * private.
 * @param allowed private networks that count as public, because the operator allows them
 */
export function isReachable(address: string, allowed: BlockList = NONE): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (allowed.check(address, family === 4 ? "ipv4" : "ipv6")) return true;
  if (family === 4) return !private4.check(address, "ipv4");
  return public6.check(address, "ipv6") && !private6.check(address, "ipv6");
}

/** Resolves a host name to all its IP addresses. */
export type Resolve = (name: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void;

const resolveAll: Resolve = (name, done) => lookupName(name, { all: true }, done);

/**
 * Returns the address in a URL if it is an IP address that must not be reached. Node does not look up such an address,
 * so {@link checkedLookup} does not see it.
 */
export function refusedLiteral(url: URL, mayReach: (address: string) => boolean): string | undefined {
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  return isIP(literal) !== 0 && !mayReach(literal) ? literal : undefined;
}

/**
 * Returns the lookup for a connection. It resolves a host name once, and checks all its addresses. The connection goes
 * to one of them: a second lookup could return an address that was not checked.
 * @param refusal returns the error for an address that must not be reached
 */
export function checkedLookup(
  mayReach: (address: string) => boolean,
  refusal: (address: string) => Error,
  resolve: Resolve = resolveAll,
): LookupFunction {
  return (name, { all }, done) => {
    resolve(name, (error, addresses) => {
      const wrong = addresses?.find(({ address }) => !mayReach(address));
      const [first] = addresses ?? [];
      if (error !== null) done(error, "");
      else if (wrong !== undefined) done(refusal(wrong.address), "");
      else if (first === undefined) done(new Error(`The name ${name} has no address.`), "");
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
