import { z } from "@hono/zod-openapi";
import { refusal } from "../../shared/access/authorize.ts";
import { listInBootstrapMode } from "../../shared/access/bootstrap.ts";
import { checkInvitation } from "../../shared/access/check-invitation.ts";
import { createInvitation, listInvitations, revokeInvitation } from "../../shared/access/invitations.ts";
import { platformRealm } from "../../shared/access/realms.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { identify, platformAdmin } from "../middleware/session.ts";
import { InvitationSchema, InvitationStateSchema, invitationResponse } from "../realm/schemas.ts";
import { bootstrapAccess } from "./bootstrap.ts";

const tags = ["Platform authentication"];
const security = [{ bearer: [] }, { cookie: [] }];
const params = z.object({ token: z.string() });

const list = defineRoute({
  method: "get",
  path: "/api/_auth/invitations",
  operationId: "listPlatformInvitations",
  summary: "List invitations of platform admins",
  description:
    "Needs no authentication in bootstrap mode, while there is no platform admin, and returns the bootstrap invitation. Otherwise needs a platform admin's token (401 without).",
  tags,
  security: [{}, ...security],
  middleware: [bootstrapAccess("listed")],
  responses: {
    200: {
      description: "The invitations, newest first",
      content: { "application/json": { schema: z.array(InvitationSchema) } },
    },
  },
  problems: [401, 429],
});

const NewInvitation = z.strictObject({
  role: z.enum(["owner"]).optional().openapi({ description: "The role that the invitation grants" }),
});

const create = defineRoute({
  method: "post",
  path: "/api/_auth/invitations",
  operationId: "createPlatformInvitation",
  summary: "Invite a platform admin",
  tags,
  security,
  middleware: [bootstrapAccess("invited"), platformAdmin],
  request: { body: { required: false, content: { "application/json": { schema: NewInvitation } } } },
  responses: {
    201: {
      description: "The invitation",
      content: { "application/json": { schema: InvitationSchema } },
    },
  },
  problems: [401, 403, 429],
});

const check = defineRoute({
  method: "get",
  path: "/api/_auth/invitations/{token}",
  operationId: "getPlatformInvitation",
  summary: "Check an invitation",
  tags,
  security: [],
  middleware: [bootstrapAccess("checked")],
  request: { params },
  responses: {
    200: {
      description: "The invitation is valid",
      content: { "application/json": { schema: InvitationStateSchema } },
    },
  },
  problems: [404, 410, 429],
});

const revoke = defineRoute({
  method: "delete",
  path: "/api/_auth/invitations/{token}",
  operationId: "revokePlatformInvitation",
  summary: "Revoke an unused invitation",
  tags,
  security,
  middleware: [bootstrapAccess("revoked"), platformAdmin],
  request: { params },
  responses: { 204: { description: "Revoked" } },
  problems: [401, 403, 404, 410, 429],
});

export function invitationRoutes() {
  const router = newRouter();
  router.openapi(list, async (c) => {
    const { deps } = c.var;
    const actor = await identify(c, { platform: true }).catch((error: unknown) => error as Error);
    if (!(actor instanceof Error) && actor.kind === "platform") {
      return c.json((await listInvitations(deps, actor, platformRealm)).map(invitationResponse), 200);
    }
    const open = await listInBootstrapMode(deps);
    if (open !== null) return c.json(open.map(invitationResponse), 200);
    throw actor instanceof Error ? actor : refusal(actor, "platform admin");
  });
  router.openapi(create, async (c) => {
    const made = await createInvitation(c.var.deps, c.var.actor, { realm: platformRealm, role: "owner" });
    return c.json(invitationResponse(made), 201);
  });
  router.openapi(check, async (c) =>
    c.json(
      await checkInvitation(c.var.deps, { realm: platformRealm, code: c.req.valid("param").token }),
      200,
    ),
  );
  router.openapi(revoke, async (c) => {
    const { token } = c.req.valid("param");
    await revokeInvitation(c.var.deps, c.var.actor, { realm: platformRealm, code: token });
    return c.body(null, 204);
  });
  return router;
}
