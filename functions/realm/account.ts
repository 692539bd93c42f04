/** Routes for the signed-in account: profile, sign-out, passkeys. */
import { z } from "@hono/zod-openapi";
import { audit } from "../../shared/access/audit.ts";
import { listPasskeys, removePasskey, renamePasskey } from "../../shared/access/passkeys.ts";
import { endSession } from "../../shared/access/sessions.ts";
import { changeOwnAccount, ownAccount } from "../../shared/access/users.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { refuseForeignOrigin } from "../middleware/origin.ts";
import { identify } from "../middleware/session.ts";
import { PasskeySchema, ProfileSchema, RenameSchema, UserSchema, userResponse } from "./schemas.ts";
import { accountOnly, accountsOf, clearSessionCookie, pathParams, type Scope } from "./scope.ts";

const json = <T extends z.ZodType>(description: string, schema: T) => ({
  description,
  content: { "application/json": { schema } },
});

const security = [{ bearer: [] }, { cookie: [] }];

export function accountRoutes(scope: Scope) {
  const router = newRouter();
  addAccount(router, scope);
  addPasskeys(router, scope);
  return router;
}

function addAccount(router: Router, scope: Scope): void {
  const { prefix, name, tag } = scope;
  const orb = pathParams(prefix);

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/me`,
      operationId: `get${name}Me`,
      summary: "Get the signed-in account",
      tags: [tag],
      security,
      middleware: [accountOnly(scope)],
      request: { params: z.object(orb) },
      responses: { 200: json("The account", UserSchema) },
      problems: [401],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      return c.json(userResponse(await ownAccount(c.var.deps, actor, realm)), 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "put",
      path: `${prefix}/me`,
      operationId: `put${name}Me`,
      summary: "Change name or email of the signed-in account",
      tags: [tag],
      security,
      middleware: [accountOnly(scope)],
      request: {
        params: z.object(orb),
        body: { required: true, content: { "application/json": { schema: ProfileSchema } } },
      },
      responses: { 200: json("The account", UserSchema) },
      problems: [401, 403],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      const { name: called, email } = c.req.valid("json");
      return c.json(
        userResponse(await changeOwnAccount(c.var.deps, actor, { realm, name: called, email })),
        200,
      );
    },
  );

  router.openapi(
    defineRoute({
      method: "post",
      path: `${prefix}/signout`,
      operationId: `signOut${name}`,
      summary: "Sign out",
      description: "Ends the session, so that its token no longer works, and clears the cookie.",
      tags: [tag],
      security,
      request: { params: z.object(orb) },
      responses: { 204: { description: "Signed out" } },
      problems: [401, 403],
    }),
    async (c) => {
      // A form on another site sends no cookie, so the request is anonymous. The response clears the cookie anyway.
      refuseForeignOrigin(c);
      const realm = await scope.realm(c);
      const actor = await identify(c, accountsOf(realm));
      if (actor.kind === "platform" || actor.kind === "orb") {
        const { deps } = c.var;
        await endSession(deps, realm.name, actor.sub, actor.sid);
        await audit(deps, {
          realm: realm.name,
          action: "signout",
          actor,
          target: actor.sub,
          outcome: "ok",
        });
      }
      clearSessionCookie(c, realm);
      return c.body(null, 204);
    },
  );
}

function addPasskeys(router: Router, scope: Scope): void {
  const { prefix, name, tag } = scope;
  const orb = pathParams(prefix);

  router.openapi(
    defineRoute({
      method: "get",
      path: `${prefix}/passkeys`,
      operationId: `list${name}Passkeys`,
      summary: "List passkeys of the signed-in account",
      tags: [tag],
      security,
      middleware: [accountOnly(scope)],
      request: { params: z.object(orb) },
      responses: { 200: json("The passkeys", z.array(PasskeySchema)) },
      problems: [401],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      return c.json(await listPasskeys(c.var.deps, actor, realm), 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "put",
      path: `${prefix}/passkeys/{id}`,
      operationId: `rename${name}Passkey`,
      summary: "Rename a passkey",
      tags: [tag],
      security,
      middleware: [accountOnly(scope)],
      request: {
        params: z.object({ ...orb, id: z.string() }),
        body: { required: true, content: { "application/json": { schema: RenameSchema } } },
      },
      responses: { 200: json("The passkey", PasskeySchema) },
      problems: [401, 403, 404],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      const { id } = c.req.valid("param");
      const renamed = await renamePasskey(c.var.deps, actor, { realm, id, name: c.req.valid("json").name });
      return c.json(renamed, 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "delete",
      path: `${prefix}/passkeys/{id}`,
      operationId: `remove${name}Passkey`,
      summary: "Remove a passkey",
      description: "The last one cannot be removed (409).",
      tags: [tag],
      security,
      middleware: [accountOnly(scope)],
      request: { params: z.object({ ...orb, id: z.string() }) },
      responses: { 204: { description: "Removed" } },
      problems: [401, 403, 404, 409],
    }),
    async (c) => {
      const realm = await scope.realm(c);
      const { actor } = c.var;
      await removePasskey(c.var.deps, actor, { realm, id: c.req.valid("param").id });
      return c.body(null, 204);
    },
  );
}
