/**
 * Protects against DNS rebinding: a web page of another site whose name suddenly leads to this machine. Its requests
 * name the other site as `Host`.
 */
import type { MiddlewareHandler } from "hono";
import type { Config } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

/** Probes of proxies and of monitoring use names of their own network, and read nothing that is protected by a name. */
const PROBES: ReadonlySet<string> = new Set(["/api/health", "/api/metrics"]);
/** Names of the local machine, and IP addresses. No other site can have them. */
const UNSHARED = /^(?:(?:.+\.)?localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:.]+\])$/i;

/**
 * Returns whether a request may use this `Host`: a name of the platform (`hosts` of the settings), a name of the local
 * machine, or an IP address.
 * @param host the header, with or without a port
 */
export function isKnownHost(host: string, { hosts }: Pick<Config, "hosts">, path: string): boolean {
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "");
  return hosts.includes(name.toLowerCase()) || hosts.includes("*") || UNSHARED.test(name) || PROBES.has(path);
}

export const unknownHost = () =>
  new AppError(
    "forbidden",
    "host_not_allowed",
    "The platform does not have this host name. Use the name in PUBLIC_URL, or add the name to ALLOWED_HOSTS.",
  );

/** Rejects requests for a host name that the platform does not have. */
export const knownHost: MiddlewareHandler<AppEnv> = (c, next) => {
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  if (!isKnownHost(host, c.get("deps").config, c.req.path)) throw unknownHost();
  return next();
};
