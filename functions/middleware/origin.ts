/** Cross-site request forgery: what a browser sends along by itself proves nothing about who meant it. */
import type { Context } from "hono";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";
import { isTrustedOrigin } from "./cors.ts";

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

function refused(): AppError {
  return new AppError("forbidden", "origin_not_allowed", "This request comes from another site.");
}

/** @throws AppError forbidden for an unsafe request that does not say that it comes from an allowed origin */
export function requireTrustedOrigin(c: Context<AppEnv>): void {
  if (SAFE.has(c.req.method)) return;
  const origin = c.req.header("origin");
  if (origin === undefined || !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}

/**
 * For routes that set a cookie without needing one (sign-in): programs, which name no origin, may; a page of another
 * site may not sign its visitor in as somebody else.
 * @throws AppError forbidden
 */
export function refuseForeignOrigin(c: Context<AppEnv>): void {
  const origin = c.req.header("origin");
  if (origin !== undefined && !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}
