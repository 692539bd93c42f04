/**
 * Protects against cross-site request forgery: browsers send cookies automatically, so a cookie alone does not prove
 * that the user intended the request.
 */
import type { Context } from "hono";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";
import { isTrustedOrigin } from "./headers.ts";

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

function refused(): AppError {
  return new AppError(
    "forbidden",
    "origin_not_allowed",
    "This request comes from another site. Add its origin to ALLOWED_ORIGINS or use a bearer token.",
  );
}

/** Requires that an unsafe request declares an allowed origin. @throws AppError forbidden */
export function requireTrustedOrigin(c: Context<AppEnv>): void {
  if (SAFE.has(c.req.method)) return;
  const origin = c.req.header("origin");
  if (origin === undefined || !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}

/**
 * Rejects pages of other origins. For routes that set a cookie without needing one (sign-in): programs, which send no
 * origin, may use them, but a page of another site must not sign its visitor in to a different account.
 * @throws AppError forbidden
 */
export function refuseForeignOrigin(c: Context<AppEnv>): void {
  const origin = c.req.header("origin");
  if (origin !== undefined && !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}
