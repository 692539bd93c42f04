/** Account routes of users: under /api/auth, and under each application that has user accounts. */
import { sharedRealm } from "../../shared/access/realms.ts";
import { newRouter } from "../http/router.ts";
import { accountRoutes } from "../realm/account.ts";
import { invitationRoutes } from "../realm/invitations.ts";
import { programRoutes } from "../realm/programs.ts";
import { recoveryRoutes } from "../realm/recovery.ts";
import type { Scope } from "../realm/scope.ts";
import { sessionRoutes } from "../realm/sessions.ts";
import { tokenRoutes } from "../realm/tokens.ts";
import { bootstrapRoutes } from "./invitations.ts";
import { oauthRoutes } from "./oauth.ts";
import { describePasskey, passkeyRoutes } from "./passkey.ts";
import { userRoutes } from "./users.ts";

export function realmRoutes(mounted: Pick<Scope, "prefix" | "name" | "realm">) {
  const scope: Scope = {
    ...mounted,
    tags:
      mounted.name === "Orb"
        ? {
            signin: "sign-in",
            account: "own account",
            recovery: "recovery",
            invitations: "invitations",
            people: "users",
          }
        : {
            signin: "Users: sign-in",
            account: "Users: own account",
            recovery: "Users: recovery",
            invitations: "Users: management",
            people: "Users: management",
          },
    accounts: { noun: "user", roles: ["owner", "admin", "user"] },
  };
  const router = newRouter();
  router.route("/", passkeyRoutes(scope));
  if (mounted.name === "Orb") describePasskey(router, scope);
  router.route("/", invitationRoutes(scope));
  router.route("/", bootstrapRoutes(scope));
  router.route("/", userRoutes(scope));
  router.route("/", recoveryRoutes(scope));
  router.route("/", accountRoutes(scope));
  router.route("/", sessionRoutes(scope));
  router.route("/", tokenRoutes(scope));
  router.route("/", programRoutes(scope));
  if (mounted.name === "Orb") router.route("/", oauthRoutes(scope));
  return router;
}

export function sharedAuthRoutes() {
  return realmRoutes({ prefix: "/api/auth", name: "Shared", realm: () => sharedRealm });
}
