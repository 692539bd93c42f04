import { z } from "@hono/zod-openapi";
import { anonymous } from "../../shared/access/actor.ts";
import { listInBootstrapMode } from "../../shared/access/bootstrap.ts";
import { listInvitations } from "../../shared/access/invitations.ts";
import { refusal } from "../../shared/access/refusals.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, OPERATOR_SESSION } from "../http/schemas.ts";
import { identify } from "../middleware/session.ts";
import { InvitationSchema, invitationResponse } from "../realm/schemas.ts";
import { realmRoute, type Scope } from "../realm/scope.ts";

/** Lists invitations. Until the first admin has registered, anyone may list them. */
export function invitationList(scope: Scope) {
  const list = defineRoute({
    ...realmRoute(scope, "anyone", "invitations", "listed"),
    security: [{}, ...OPERATOR_SESSION],
    "x-role": "platform",
    ...scopesFor("invitations.read"),
    method: "get",
    path: "/api/_auth/invitations",
    operationId: "listPlatformInvitations",
    summary: "List invitations of platform admins",
    description:
      "Needs no authentication in bootstrap mode, while there is no platform admin, and returns the bootstrap invitation. Otherwise needs a platform admin's token (401 without).",
    responses: { 200: json("The invitations, newest first", z.array(InvitationSchema)) },
    problems: [401, 422, 429],
  });
  return newRouter().openapi(list, async (c) => {
    const { deps, realm } = c.var;
    const actor = await identify(c, { platform: true }).catch((error: unknown) => error as Error);
    if (!(actor instanceof Error) && actor.kind === "platform") {
      return c.json((await listInvitations(deps, actor, realm)).map(invitationResponse), 200);
    }
    const open = await listInBootstrapMode(deps);
    if (open !== null) return c.json(open.map(invitationResponse), 200);
    // Respond with 401 to every caller who is not a platform admin, even with a valid token of another account.
    if (actor instanceof AppError && actor.kind === "forbidden") throw refusal(anonymous, "platform admin");
    throw actor instanceof Error ? actor : refusal(actor, "platform admin");
  });
}
