import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { AppError } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { beginCeremony, ceremonyRoutes, completeCeremony } from "../realm/passkeys.ts";
import {
  AdminSchema,
  AssertionSchema,
  AttestationSchema,
  adminResponse,
  PublicKeySchema,
  TokenSchema,
} from "../realm/schemas.ts";
import type { Scope } from "../realm/scope.ts";

const CeremonySchema = z
  .object({ sessionId: z.string(), options: z.object({ publicKey: PublicKeySchema }) })
  .openapi("PlatformCeremony");
const SessionSchema = z.object({ token: TokenSchema, admin: AdminSchema }).openapi("PlatformSession");
const EITHER = "must contain either credential or assertion";
const CompleteSchema = z
  .strictObject({
    sessionId: z.string().min(1).max(4_096),
    credential: AttestationSchema.optional().openapi({ description: "Registration" }),
    assertion: AssertionSchema.optional().openapi({ description: "Sign-in" }),
  })
  .refine((body) => (body.credential === undefined) !== (body.assertion === undefined), { message: EITHER });

export function passkeyRoutes(scope: Scope) {
  const { begin, complete } = ceremonyRoutes(scope);
  const beginRoute = defineRoute({
    ...begin,
    responses: { 200: json("Session id and WebAuthn options", CeremonySchema) },
  });
  const completeRoute = defineRoute({
    ...complete,
    request: { body: jsonRequest(CompleteSchema) },
    responses: { 200: json("Signed in", SessionSchema) },
  });
  return newRouter()
    .openapi(beginRoute, async (c) => {
      const { sessionId, publicKey } = await beginCeremony(c, c.req.valid("query"), c.req.valid("json"));
      return c.json({ sessionId, options: { publicKey } }, 200);
    })
    .openapi(completeRoute, async (c) => {
      const { sessionId, credential, assertion } = c.req.valid("json");
      const response = (credential ?? assertion) as
        | RegistrationResponseJSON
        | AuthenticationResponseJSON
        | undefined;
      if (response === undefined) throw new AppError("invalid", "validation_failed", EITHER);
      const { session, account } = await completeCeremony(c, sessionId, response);
      return c.json({ token: session.token, admin: adminResponse(account) }, 200);
    });
}
