/** Section B: /api/auth, and the same routes for each orb that uses the service `access`. */
import { sharedRealm } from "../../shared/access/realms.ts";
import { newRouter } from "../http/router.ts";
import { accountRoutes } from "../realm/account.ts";
import { invitationRoutes } from "../realm/invitations.ts";
import type { Scope } from "../realm/scope.ts";
import { bootstrapRoutes } from "./invitations.ts";
import { passkeyRoutes } from "./passkey.ts";
import { userRoutes } from "./users.ts";

/** All routes of a user realm, without the sign-in page. */
export function realmRoutes(mounted: Pick<Scope, "prefix" | "name" | "realm">) {
  const scope: Scope = {
    ...mounted,
    tag: "Orb-level authentication",
    accounts: { noun: "user", roles: ["owner", "admin", "user"] },
  };
  const router = newRouter();
  router.route("/", passkeyRoutes(scope));
  router.route("/", invitationRoutes(scope));
  router.route("/", bootstrapRoutes(scope));
  router.route("/", userRoutes(scope));
  router.route("/", accountRoutes(scope));
  return router;
}

/** The realm that all orbs without their own realm share. */
export function sharedAuthRoutes() {
  return realmRoutes({ prefix: "/api/auth", name: "Shared", realm: () => sharedRealm });
}
