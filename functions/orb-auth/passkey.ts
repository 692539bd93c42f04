import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { invalid } from "../../shared/kernel/errors.ts";
import { faultsOf } from "../http/problem.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { beginCeremony, ceremonyRoutes, completeCeremony } from "../realm/passkeys.ts";
import {
  AssertionSchema,
  AttestationSchema,
  BeginSchema,
  PublicKeySchema,
  TokenSchema,
} from "../realm/schemas.ts";
import type { Scope } from "../realm/scope.ts";

const CeremonySchema = z
  .object({ publicKey: PublicKeySchema, sessionId: z.string(), isRegistration: z.boolean() })
  .openapi("Ceremony");
const CompletionSchema = z.union([AttestationSchema, AssertionSchema]);
const SessionSchema = z.object({ token: TokenSchema }).openapi("UserSession");

const OneAddress = {
  path: "/api/{orbId}/passkey",
  operationId: "callOrbPasskey",
  summary: "Start or complete a registration or a sign-in",
  description:
    "The handler `access.passkey` itself. With the header `SessionID` the same as `POST …/passkey/complete`, without it the same as `POST …/passkey/begin`.",
} as const;

/** Adds `POST /api/{orbId}/passkey` to the OpenAPI document. `orbs.ts` maps its requests to other routes. */
export function describePasskey(router: Router, scope: Scope): void {
  const { params, begin } = ceremonyRoutes(scope);
  const { body: _, ...request } = begin.request;
  const described = defineRoute({
    ...begin,
    ...OneAddress,
    request: {
      ...request,
      params,
      headers: z.object({
        sessionid: z
          .string()
          .min(1)
          .max(4_096)
          .optional()
          .openapi({ description: "The sessionId from begin" }),
      }),
      body: jsonRequest(z.union([BeginSchema, CompletionSchema]), false),
    },
    responses: { 200: json("Begun, or signed in", z.union([CeremonySchema, SessionSchema])) },
  });
  router.openAPIRegistry.registerPath(described);
}

/**
 * Validates a body as a registration or as a sign-in, depending on which one it resembles. Returns the validation
 * errors.
 */
function completionFaults(body: unknown) {
  const response = typeof body === "object" && body !== null ? Reflect.get(body, "response") : undefined;
  const registers = typeof response === "object" && response !== null && "attestationObject" in response;
  const { error } = (registers ? AttestationSchema : AssertionSchema).safeParse(body);
  return error === undefined ? [] : faultsOf(error, body);
}

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
