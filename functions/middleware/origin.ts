/** Protects against cross-site request forgery (CSRF). */
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

/**
 * Rejects writes without an allowed `Origin` header, because browsers send cookies even if another site starts the
 * request.
 */
export function requireTrustedOrigin(c: Context<AppEnv>): void {
  if (SAFE.has(c.req.method)) return;
  const origin = c.req.header("origin");
  if (origin === undefined || !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}

/**
 * Rejects requests from web pages of other origins. Otherwise such a page could sign its visitors in to an account of
 * its choice. Requests without an `Origin` header come from programs and are accepted.
 */
export function refuseForeignOrigin(c: Context<AppEnv>): void {
  const origin = c.req.header("origin");
  if (origin !== undefined && !isTrustedOrigin(c.get("deps").config, origin)) throw refused();
}

/**
 * Rejects requests from web pages other than the platform's own. Pages of `ALLOWED_ORIGINS` may use the session cookie,
 * but must not confirm a program's sign-in for the user.
 */
export function requireOwnPage(c: Context<AppEnv>): void {
  const origin = c.req.header("origin");
  if (origin !== undefined && origin !== c.get("deps").config.publicUrl) throw refused();
}
