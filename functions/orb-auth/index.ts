/** Section B: /api/auth, and the same routes for each orb that uses the service `access`. */
import { sharedRealm } from "../../shared/access/realms.ts";
import { newRouter } from "../http/router.ts";
import { accountRoutes } from "../realm/account.ts";
import type { Scope } from "../realm/scope.ts";
import { invitationRoutes } from "./invitations.ts";
import { passkeyRoutes } from "./passkey.ts";
import { userRoutes } from "./users.ts";

/** All routes of a user realm, without the sign-in page. */
export function realmRoutes(scope: Scope) {
  const router = newRouter();
  router.route("/", passkeyRoutes(scope));
  router.route("/", invitationRoutes(scope));
  router.route("/", userRoutes(scope));
  router.route("/", accountRoutes(scope));
  return router;
}

/** The realm that all orbs without their own realm share. */
export function sharedAuthRoutes() {
  return realmRoutes({
    prefix: "/api/auth",
    name: "Shared",
    tag: "Orb-level authentication",
    realm: () => sharedRealm,
  });
}
