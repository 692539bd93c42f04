import { z } from "@hono/zod-openapi";
import { createRecovery, createRecoveryCodes, recoveryCodesOf } from "../../shared/access/recovery/index.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json } from "../http/schemas.ts";
import { InvitationSchema, invitationResponse } from "./schemas.ts";
import { credentialRoute, pathParams, realmRoute, type Scope } from "./scope.ts";

const StateSchema = z
  .object({
    remaining: z.int().openapi({ description: "Codes that work. Using one voids all.", example: 10 }),
    createdAt: z.iso.datetime().nullable(),
  })
  .openapi("RecoveryCodesState");
const CodesSchema = StateSchema.extend({
  codes: z.array(z.string()).openapi({ example: ["K7QM-2XWB-9HTC-PD4R-VN3E-8JZL"] }),
}).openapi("RecoveryCodes");

/** Routes for recovering accounts whose passkeys are lost. */
export function recoveryRoutes(scope: Scope) {
  const { prefix, name, accounts } = scope;
  const create = defineRoute({
    ...credentialRoute(scope, "users.write", "passkey"),
    tags: [scope.tags.recovery],
    method: "post",
    path: `${prefix}/${name === "Platform" ? "admins" : "users"}/{id}/recovery`,
    operationId: `create${name}Recovery`,
    summary: `Create a recovery link for a ${accounts.noun}`,
    description:
      "For callers who may manage the account. The link works once, for 24 hours, and adds a passkey to the account. It replaces an earlier link. A change of the account's role or status ends it. A service account has no passkeys (409).",
    request: { params: z.object(pathParams(prefix)).extend({ id: z.string() }) },
    responses: { 201: json("The recovery link", InvitationSchema) },
    problems: [401, 403, 404, 409],
  });
  const own = {
    tags: [scope.tags.recovery],
    path: `${prefix}/recovery-codes`,
    request: { params: z.object(pathParams(prefix)) },
    problems: [401, 403] as const,
  };
  const state = defineRoute({
    ...realmRoute(scope, "recovery", "passkey"),
    ...own,
    method: "get",
    operationId: `get${name}RecoveryCodes`,
    summary: "Count the recovery codes of the signed-in account",
    responses: { 200: json("How many are left", StateSchema) },
  });
  const replace = defineRoute({
    ...credentialRoute(scope, "recovery", "passkey"),
    ...own,
    method: "post",
    operationId: `create${name}RecoveryCodes`,
    summary: "Create ten recovery codes for the signed-in account",
    description:
      "Needs a session; an API token is not enough. The new codes replace earlier ones, and only this response contains them. Using a code adds a passkey to the account and voids all codes.",
    responses: { 201: json("The codes", CodesSchema) },
  });
  return newRouter()
    .openapi(create, async (c) => {
      const { deps, actor, realm } = c.var;
      const made = await createRecovery(deps, actor, { realm, id: c.req.valid("param").id });
      return c.json(invitationResponse(made), 201);
    })
    .openapi(state, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(await recoveryCodesOf(deps, actor, realm), 200);
    })
    .openapi(replace, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(await createRecoveryCodes(deps, actor, realm), 201, { "cache-control": "no-store" });
    });
}
