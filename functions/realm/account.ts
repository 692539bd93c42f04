import { z } from "@hono/zod-openapi";
import { audit } from "../../shared/access/audit.ts";
import { requireOwn } from "../../shared/access/authorize.ts";
import { listPasskeys, removePasskey, renamePasskey } from "../../shared/access/passkeys.ts";
import { endSession } from "../../shared/access/sessions.ts";
import { changeOwnAccount, ownAccount } from "../../shared/access/users.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest, OPERATOR_SESSION, SESSION } from "../http/schemas.ts";
import { refuseForeignOrigin } from "../middleware/origin.ts";
import { identify } from "../middleware/session.ts";
import {
  OwnAccountSchema,
  ownAccountResponse,
  PasskeySchema,
  ProfileSchema,
  RenameSchema,
  UserSchema,
  userResponse,
} from "./schemas.ts";
import { accountsOf, clearSessionCookie, pathParams, realmRoute, type Scope } from "./scope.ts";

export function accountRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const params = z.object(pathParams(prefix));
  const withId = params.extend({ id: z.string() });

  const me = defineRoute({
    ...realmRoute(scope, "account.read"),
    method: "get",
    path: `${prefix}/me`,
    operationId: `get${name}Me`,
    summary: "Get the signed-in account",
    request: { params },
    responses: { 200: json("The account", OwnAccountSchema) },
    problems: [401, 403],
  });
  const change = defineRoute({
    ...realmRoute(scope, "account.write"),
    method: "put",
    path: `${prefix}/me`,
    operationId: `put${name}Me`,
    summary: "Change name or email of the signed-in account",
    request: { params, body: jsonRequest(ProfileSchema) },
    responses: { 200: json("The account", UserSchema) },
    problems: [401, 403],
  });
  const signOut = defineRoute({
    ...realmRoute(scope, "anyone"),
    // Signing out needs no valid session: a client whose session has ended is already signed out.
    security: [...(name === "Platform" ? OPERATOR_SESSION : SESSION), {}],
    ...scopesFor("sessions"),
    method: "post",
    path: `${prefix}/signout`,
    operationId: `signOut${name}`,
    summary: "Sign out",
    description:
      "Ends the session, so that its token no longer works, and clears the cookie. Without a session, it only clears the cookie.",
    request: { params },
    responses: { 204: { description: "Signed out" } },
    problems: [401, 403],
  });
  const passkeys = defineRoute({
    ...realmRoute(scope, "passkeys.read"),
    method: "get",
    path: `${prefix}/passkeys`,
    operationId: `list${name}Passkeys`,
    summary: "List passkeys of the signed-in account",
    request: { params },
    responses: { 200: json("The passkeys", z.array(PasskeySchema)) },
    problems: [401, 403],
  });
  const rename = defineRoute({
    ...realmRoute(scope, "passkeys.write"),
    method: "put",
    path: `${prefix}/passkeys/{id}`,
    operationId: `rename${name}Passkey`,
    summary: "Rename a passkey",
    request: { params: withId, body: jsonRequest(RenameSchema) },
    responses: { 200: json("The passkey", PasskeySchema) },
    problems: [401, 403, 404],
  });
  const remove = defineRoute({
    ...realmRoute(scope, "passkeys.write"),
    method: "delete",
    path: `${prefix}/passkeys/{id}`,
    operationId: `remove${name}Passkey`,
    summary: "Remove a passkey",
    description: "Removing the account's last way to sign in is refused (409).",
    request: { params: withId },
    responses: { 204: { description: "Removed" } },
    problems: [401, 403, 404, 409],
  });

  return newRouter()
    .openapi(me, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(ownAccountResponse(await ownAccount(deps, actor, realm), realm), 200);
    })
    .openapi(change, async (c) => {
      const { deps, actor, realm } = c.var;
      const account = await changeOwnAccount(deps, actor, { realm, ...c.req.valid("json") });
      return c.json(userResponse(account), 200);
    })
    .openapi(signOut, async (c) => {
      // Reject requests from other sites. The browser sends no cookie with them, but the response would still delete
      // the cookie.
      refuseForeignOrigin(c);
      const { deps, realm } = c.var;
      const actor = await identify(c, accountsOf(realm));
      if (actor.kind === "platform" || actor.kind === "orb") {
        requireOwn(actor, realm.name, "sessions");
        const { sub, sid } = actor;
        await endSession(deps, realm.name, sub, sid);
        await audit(deps, { realm: realm.name, action: "signout", actor, target: sub });
      }
      clearSessionCookie(c, realm);
      return c.body(null, 204);
    })
    .openapi(passkeys, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(await listPasskeys(deps, actor, realm), 200);
    })
    .openapi(rename, async (c) => {
      const { deps, actor, realm } = c.var;
      const input = { realm, id: c.req.valid("param").id, name: c.req.valid("json").name };
      return c.json(await renamePasskey(deps, actor, input), 200);
    })
    .openapi(remove, async (c) => {
      const { deps, actor, realm } = c.var;
      await removePasskey(deps, actor, { realm, id: c.req.valid("param").id });
      return c.body(null, 204);
    });
}
