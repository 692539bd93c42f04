import { z } from "@hono/zod-openapi";
import { createRecovery } from "../../shared/access/recovery/links.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";
import { InvitationSchema, invitationResponse } from "./schemas.ts";
import { pathParams, realmRoute, type Scope } from "./scope.ts";

/** Recovery of accounts whose passkeys are lost. */
export function recoveryRoutes(scope: Scope) {
  const { prefix, name, accounts } = scope;
  const create = defineRoute({
    ...realmRoute(scope, "users.write", "passkey"),
    tags: [scope.tags.recovery],
    method: "post",
    path: `${prefix}/${name === "Platform" ? "admins" : "users"}/{id}/recovery`,
    operationId: `create${name}Recovery`,
    summary: `Create a recovery link for a ${accounts.noun}`,
    description:
      "For callers who may manage the account. The link works once, for 24 hours, and adds a passkey to the account. It replaces an earlier link. A change of the account's role or status ends it.",
    request: { params: z.object(pathParams(prefix)).extend({ id: z.string() }) },
    responses: { 201: json("The recovery link", InvitationSchema) },
    problems: [401, 403, 404],
  });
  return newRouter().openapi(create, async (c) => {
    const { deps, actor, realm } = c.var;
    const made = await createRecovery(deps, actor, { realm, id: c.req.valid("param").id });
    return c.json(invitationResponse(made), 201);
  });
}
