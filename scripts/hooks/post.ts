/** Sends webhooks, but only to public IP addresses. */
import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { BlockList } from "node:net";
import type { Post } from "../../shared/hooks/after/index.ts";
import { checkedLookup, isLocal, isReachable, type Resolve, refusedLiteral } from "../config/addresses.ts";

/** Maximum milliseconds for a webhook, from the DNS lookup until the status of the response arrives. */
const LIMIT_MS = 10_000;

export interface PostOptions {
  /** Private networks that webhooks may reach in addition to public addresses. */
  allowed: BlockList;
  /** Whether webhooks may reach the local machine, also over http. Only for development. */
  loopback?: boolean;
  /** Certificate authorities to trust instead of the default ones, in PEM format. */
  ca?: string;
  limitMs?: number;
  /** Resolves a host name to all its IP addresses. Default: the system's resolver. */
  resolve?: Resolve;
}

const refusal = (address: string) =>
  new Error(`The address ${address} is not public. See HOOKS_ALLOWED_NETWORKS.`);

/**
 * Returns the function that sends webhooks.
 *
 * Over http, only the local machine can be reached, and only with the option `loopback`: nobody else can read or change
 * what is sent there.
 */
export function poster({ allowed, loopback, ca, limitMs = LIMIT_MS, resolve }: PostOptions): Post {
  const mayReach = (address: string, secure: boolean) =>
    (loopback === true && isLocal(address)) || (secure && isReachable(address, allowed));
  return ({ url, headers, body }) => {
    const target = new URL(url);
    const secure = target.protocol === "https:";
    const reaches = (address: string) => mayReach(address, secure);
    if (!secure && loopback !== true)
      return Promise.reject(new Error("The address does not begin with https. See HOOKS_LOOPBACK."));
    const literal = refusedLiteral(target, reaches);
    if (literal !== undefined) return Promise.reject(refusal(literal));
    return new Promise<void>((resolved, rejected) => {
      const sent = (secure ? requestSecure : requestPlain)(url, {
        method: "POST",
        headers: { ...headers, "user-agent": "platform-webhooks", "content-length": Buffer.byteLength(body) },
        lookup: checkedLookup(reaches, refusal, resolve),
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
