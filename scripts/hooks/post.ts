/**
 * Sends webhooks, but only to public IP addresses. Resolves each host name once, checks all its addresses, and connects
 * to one of them. A second lookup could return an address that was not checked.
 */
import { type LookupAddress, lookup as lookupName } from "node:dns";
import { request } from "node:https";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import type { Post } from "../../shared/hooks/after/webhook.ts";
import { isReachable } from "./addresses.ts";

/** Maximum milliseconds for a webhook, from the DNS lookup until the status of the response arrives. */
const LIMIT_MS = 10_000;

export interface PostOptions {
  /** Private networks that webhooks may reach in addition to public addresses. */
  allowed: BlockList;
  /** Certificate authorities to trust instead of the default ones, in PEM format. */
  ca?: string;
  limitMs?: number;
  /** Resolves a host name to all its IP addresses. Default: the system's resolver. */
  resolve?: (name: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void;
}

const refusal = (address: string) =>
  new Error(`The address ${address} is not public. See HOOKS_ALLOWED_NETWORKS.`);

export function poster({ allowed, ca, limitMs = LIMIT_MS, resolve }: PostOptions): Post {
  const resolveAll = resolve ?? ((name, done) => lookupName(name, { all: true }, done));
  const lookup: LookupFunction = (name, { all }, done) => {
    resolveAll(name, (error, addresses) => {
      const wrong = addresses?.find(({ address }) => !isReachable(address, allowed));
      const [first] = addresses ?? [];
      if (error !== null) done(error, "");
      else if (wrong !== undefined) done(refusal(wrong.address), "");
      else if (first === undefined) done(new Error(`The name ${name} has no address.`), "");
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
  return ({ url, headers, body }) => {
    const { protocol, hostname } = new URL(url);
    if (protocol !== "https:") return Promise.reject(new Error("The address does not begin with https."));
    const literal = hostname.replace(/^\[|\]$/g, "");
    // If the URL contains an IP address, Node does not call `lookup`, so check the address here.
    if (isIP(literal) !== 0 && !isReachable(literal, allowed)) return Promise.reject(refusal(literal));
    return new Promise<void>((resolved, rejected) => {
      const sent = request(url, {
        method: "POST",
        headers: { ...headers, "user-agent": "platform-webhooks", "content-length": Buffer.byteLength(body) },
        lookup,
        ...(ca === undefined ? {} : { ca }),
        // A reused connection would skip the check of the IP address. So use a new one for each webhook.
        agent: false,
      });
      const timer = setTimeout(() => sent.destroy(new Error("The server did not answer in time.")), limitMs);
      sent.once("response", ({ statusCode = 0 }) => {
        clearTimeout(timer);
        // Only the status matters. Do not follow redirects, and do not read the body.
        sent.destroy();
        if (statusCode >= 200 && statusCode < 300) resolved();
        else rejected(new Error(`The server answered with status ${statusCode}.`));
      });
      sent.on("error", (error) => {
        clearTimeout(timer);
        rejected(error);
      });
      sent.end(body);
    });
  };
}
