import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { invalid } from "../../shared/kernel/errors.ts";
import { faultsOf } from "../http/problem.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { beginCeremony, ceremonyRoutes, completeCeremony } from "../realm/passkeys.ts";
import { AssertionSchema, AttestationSchema, PublicKeySchema, TokenSchema } from "../realm/schemas.ts";
import type { Scope } from "../realm/scope.ts";

const CeremonySchema = z
  .object({ publicKey: PublicKeySchema, sessionId: z.string(), isRegistration: z.boolean() })
  .openapi("Ceremony");
const CompletionSchema = z.union([AttestationSchema, AssertionSchema]);
const SessionSchema = z.object({ token: TokenSchema }).openapi("UserSession");

/** Validates against the form that the body resembles more, for useful errors. */
function completionFaults(body: unknown) {
  const response = typeof body === "object" && body !== null ? Reflect.get(body, "response") : undefined;
  const registers = typeof response === "object" && response !== null && "attestationObject" in response;
  const { error } = (registers ? AttestationSchema : AssertionSchema).safeParse(body);
  return error === undefined ? [] : faultsOf(error, body);
}

/** Registers passkeys and signs users in. */
export function passkeyRoutes(scope: Scope) {
  const { params, begin, complete } = ceremonyRoutes(scope);
  const beginRoute = defineRoute({
    ...begin,
    responses: { 200: json("Session id and WebAuthn options", CeremonySchema) },
  });
  const completeRoute = defineRoute({
    ...complete,
    request: {
      params,
      headers: z.object({
        sessionid: z.string().min(1).max(4_096).openapi({ description: "The sessionId from begin" }),
      }),
      body: jsonRequest(CompletionSchema),
    },
    responses: { 200: json("Signed in", SessionSchema) },
  });

  const router = newRouter();
  router.openapi(beginRoute, async (c) =>
    c.json(await beginCeremony(c, c.req.valid("query"), c.req.valid("json")), 200),
  );
  router.openapi(
    completeRoute,
    async (c) => {
      const response = c.req.valid("json") as RegistrationResponseJSON | AuthenticationResponseJSON;
      const { session } = await completeCeremony(c, c.req.valid("header").sessionid, response);
      return c.json({ token: session.token }, 200);
    },
    (result, c) => {
      if (result.success || result.target !== "json") return router.defaultHook?.(result, c);
      throw invalid(completionFaults(Reflect.get(result, "data")));
    },
  );
  return router;
}
