import { type BlockList, isIP } from "node:net";
import { networks } from "../config/networks.ts";

/** Special-purpose IPv4 networks (IANA registry, RFC 6890). Webhooks must not reach them. */
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

/**
 * Returns whether webhooks may be sent to an IP address. An IPv6 address that contains an IPv4 address counts as
 * private.
 * @param allowed private networks that the operator allows
 */
export function isReachable(address: string, allowed: BlockList): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (allowed.check(address, family === 4 ? "ipv4" : "ipv6")) return true;
  if (family === 4) return !private4.check(address, "ipv4");
  return public6.check(address, "ipv6") && !private6.check(address, "ipv6");
}
