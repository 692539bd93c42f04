/** Protects against cross-site request forgery (CSRF). */
import type { Context, MiddlewareHandler } from "hono";
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

/**
 * Rejects a request with the session cookie that creates a credential (a token, passkey, identity, invitation, recovery
 * link or code) or changes what accounts may do (a role, a service account, an application's document, the platform's
 * settings), unless one of the platform's own pages sends it. A page of `ALLOWED_ORIGINS` may act while the session
 * lasts, but must not gain rights that outlive the session. A bearer token shows that the page has the credential
 * already.
 */
export function requireOwnPageForCookie(c: Context<AppEnv>): void {
  if (c.req.header("authorization") !== undefined) return;
  if (c.req.header("origin") === c.get("deps").config.publicUrl) return;
  throw new AppError(
    "forbidden",
    "platform_page_required",
    "With a session cookie, only the platform's own pages can create credentials or change what accounts may do. Open the account page or the console of the platform, or send a bearer token.",
  );
}

const onlyOwnPage: MiddlewareHandler<AppEnv> = async (c, next) => {
  requireOwnPageForCookie(c);
  await next();
};

interface Common {
  middleware: MiddlewareHandler<AppEnv>[];
}

/** Returns the common properties of a route that creates a credential. */
export const createsCredential = <T extends Common>(common: T) => ({
  ...common,
  "x-creates-credential": true,
  middleware: [...common.middleware, onlyOwnPage],
});

/** Returns the common properties of a route that changes what accounts may do. */
export const changesRights = <T extends Common>(common: T) => ({
  ...common,
  "x-changes-rights": true,
  middleware: [...common.middleware, onlyOwnPage],
});
