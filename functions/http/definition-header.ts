/** The header `Orb-Definition`, by which a request names a revision of an orb's definition. */
import type { Context, MiddlewareHandler } from "hono";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

export const isDefinitionHeader = (text: string): boolean => /^[1-9]\d{0,8}$/.test(text);

/** Error 400: the header has no meaning for a request. */
export const refuseDefinition = (): AppError =>
  new AppError(
    "malformed",
    "invalid_header",
    "Orb-Definition is only for requests about the entries of an orb. This request has only the current shape. Send it without the header.",
  );

/** Rejects the header on routes that do not take it. */
export const withoutDefinition: MiddlewareHandler<AppEnv> = (c, next) => {
  requireNoDefinition(c);
  return next();
};

/** @throws AppError malformed if a request has the header, which its route does not take */
export function requireNoDefinition(c: Context<AppEnv>): void {
  if (c.req.header("orb-definition") !== undefined) throw refuseDefinition();
}
