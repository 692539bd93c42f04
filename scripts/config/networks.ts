import { BlockList, isIP } from "node:net";

/**
 * Parses networks such as `10.0.0.0/8`.
 * @throws Error whose message is the first part that is not a valid network
 */
export function networks(parts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const part of parts) {
    const [address = "", bits = ""] = part.split("/");
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) throw new Error(part);
    list.addSubnet(address, Number(bits), family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
