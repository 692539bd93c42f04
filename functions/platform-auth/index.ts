/** Account routes of platform admins. */
import { platformRealm } from "../../shared/access/realms.ts";
import { newRouter } from "../http/router.ts";
import { accountRoutes } from "../realm/account.ts";
import { invitationRoutes } from "../realm/invitations.ts";
import { programRoutes } from "../realm/programs.ts";
import { recoveryRoutes } from "../realm/recovery.ts";
import type { Scope } from "../realm/scope.ts";
import { sessionRoutes } from "../realm/sessions.ts";
import { tokenRoutes } from "../realm/tokens.ts";
import { adminRoutes } from "./admins.ts";
import { bootstrapAccess } from "./bootstrap.ts";
import { invitationList } from "./invitations.ts";
import { passkeyRoutes } from "./passkey.ts";
import { settingsRoutes } from "./settings.ts";

const scope: Scope = {
  prefix: "/api/_auth",
  name: "Platform",
  tags: {
    signin: "Platform: sign-in",
    account: "Platform: own account",
    recovery: "Platform: recovery",
    invitations: "Platform: admins",
    people: "Platform: admins",
  },
  accounts: { noun: "platform admin", roles: ["owner"] },
  realm: () => platformRealm,
  attempt: bootstrapAccess,
};

export function platformAuthRoutes() {
  const router = newRouter();
  router.route("/", passkeyRoutes(scope));
  router.route("/", invitationList(scope));
  router.route("/", invitationRoutes(scope));
  router.route("/", adminRoutes(scope));
  router.route("/", settingsRoutes(scope));
  router.route("/", recoveryRoutes(scope));
  router.route("/", accountRoutes(scope));
  router.route("/", sessionRoutes(scope));
  router.route("/", tokenRoutes(scope));
  router.route("/", programRoutes(scope));
  return router;
}
