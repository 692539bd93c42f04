import { z } from "@hono/zod-openapi";
import type { AccessHandler, Realm } from "../../shared/access/realms.ts";
import { notFound } from "../../shared/errors.ts";

/** The path's parameters that a prefix brings. */
export function pathParams(prefix: string): { orbId?: z.ZodString } {
  return prefix.includes("{orbId}") ? { orbId: z.string() } : {};
}

/** An orb has only those routes whose handlers it uses. @throws AppError not_found */
export function requireHandler(realm: Realm, handler: AccessHandler): Realm {
  if (!realm.handlers.has(handler)) throw notFound("route", "There is nothing at this address.");
  return realm;
}
