import type { AccessHandler, Realm } from "../../shared/access/realms.ts";
import { notFound } from "../../shared/kernel/errors.ts";

/** An orb has only the routes of the handlers that it uses. @throws AppError not_found */
export function requireHandler(realm: Realm, handler: AccessHandler): Realm {
  if (!realm.handlers.has(handler))
    throw notFound("route", "No route matches this address. The orb does not use this handler of access.");
  return realm;
}
