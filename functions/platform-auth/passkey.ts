import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { begin, beginAdding } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { platformRealm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { refuseForeignOrigin } from "../middleware/origin.ts";
import { identify } from "../middleware/session.ts";
import {
  AdminSchema,
  AssertionSchema,
  AttestationSchema,
  adminResponse,
  BeginSchema,
  InviteQuery,
  optionsResponse,
  PublicKeySchema,
  TokenSchema,
} from "../realm/schemas.ts";
import { setSessionCookie } from "../realm/scope.ts";
import { bootstrapAccess } from "./bootstrap.ts";

const tags = ["Platform authentication"];

const beginRoute = defineRoute({
  method: "post",
  path: "/api/_auth/passkey/begin",
  operationId: "beginPlatformPasskey",
  summary: "Start a registration (with an invitation) or a sign-in",
  tags,
  security: [],
  middleware: [bootstrapAccess("begun")],
  request: {
    query: InviteQuery,
    body: { required: false, content: { "application/json": { schema: BeginSchema } } },
  },
  responses: {
    200: {
      description: "Session id and WebAuthn options",
      content: {
        "application/json": {
          schema: z
            .object({ sessionId: z.string(), options: z.object({ publicKey: PublicKeySchema }) })
            .openapi("PlatformCeremony"),
        },
      },
    },
  },
  problems: [401, 403, 404, 409, 410, 429],
});

const CompleteSchema = z
  .strictObject({
    sessionId: z.string().min(1).max(4_096),
    credential: AttestationSchema.optional().openapi({ description: "Registration" }),
    assertion: AssertionSchema.optional().openapi({ description: "Sign-in" }),
  })
  .refine((body) => (body.credential === undefined) !== (body.assertion === undefined), {
    message: "must contain either credential or assertion",
  });

const completeRoute = defineRoute({
  method: "post",
  path: "/api/_auth/passkey/complete",
  operationId: "completePlatformPasskey",
  summary: "Complete the registration or sign-in",
  description: "Also sets the realm's session cookie.",
  tags,
  security: [],
  middleware: [bootstrapAccess("completed")],
  request: { body: { required: true, content: { "application/json": { schema: CompleteSchema } } } },
  responses: {
    200: {
      description: "Signed in",
      content: {
        "application/json": {
          schema: z.object({ token: TokenSchema, admin: AdminSchema }).openapi("PlatformSession"),
        },
      },
    },
  },
  problems: [401, 403, 404, 409, 410, 429],
});

export function passkeyRoutes() {
  const router = newRouter();
  router.openapi(beginRoute, async (c) => {
    refuseForeignOrigin(c);
    const { deps } = c.var;
    const body = c.req.valid("json");
    const invite = c.req.valid("query").invite ?? body.invite;
    const begun =
      body.add === true
        ? await beginAdding(deps, await identify(c, { platform: true }), platformRealm)
        : await begin(deps, { realm: platformRealm, invite, name: body.name, email: body.email });
    return c.json(
      { sessionId: begun.sessionId, options: { publicKey: optionsResponse(begun.publicKey) } },
      200,
    );
  });
  router.openapi(completeRoute, async (c) => {
    refuseForeignOrigin(c);
    const { sessionId, credential, assertion } = c.req.valid("json");
    const response = (credential ?? assertion) as
      | RegistrationResponseJSON
      | AuthenticationResponseJSON
      | undefined;
    if (response === undefined) {
      throw new AppError("invalid", "validation_failed", "must contain either credential or assertion");
    }
    const { session, account } = await complete(c.var.deps, { realm: platformRealm, sessionId, response });
    setSessionCookie(c, platformRealm, session);
    return c.json({ token: session.token, admin: adminResponse(account) }, 200);
  });
  return router;
}
