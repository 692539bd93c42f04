/** Section A: /api/_auth. */
import { platformRealm } from "../../shared/access/realms.ts";
import { newRouter } from "../http/router.ts";
import { accountRoutes } from "../realm/account.ts";
import { adminRoutes } from "./admins.ts";
import { invitationRoutes } from "./invitations.ts";
import { passkeyRoutes } from "./passkey.ts";

/** The platform's sign-in, invitation and admin routes, without the sign-in page. */
export function platformAuthRoutes() {
  const router = newRouter();
  router.route("/", passkeyRoutes());
  router.route("/", invitationRoutes());
  router.route("/", adminRoutes());
  router.route(
    "/",
    accountRoutes({
      prefix: "/api/_auth",
      name: "Platform",
      tag: "Platform authentication",
      realm: () => platformRealm,
    }),
  );
  return router;
}
