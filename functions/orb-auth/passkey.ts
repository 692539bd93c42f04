import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { begin, beginAdding } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { invalid } from "../../shared/kernel/errors.ts";
import { faultsOf } from "../http/problem.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { refuseForeignOrigin } from "../middleware/origin.ts";
import { identify } from "../middleware/session.ts";
import {
  AssertionSchema,
  AttestationSchema,
  BeginSchema,
  InviteQuery,
  optionsResponse,
  PublicKeySchema,
  TokenSchema,
} from "../realm/schemas.ts";
import { accountsOf, pathParams, type Scope, setSessionCookie } from "../realm/scope.ts";
import { requireHandler } from "./scope.ts";

const CompletionSchema = z.union([AttestationSchema, AssertionSchema]);

/** Faults of a body that matches neither form: those of the form that it resembles more. */
function completionFaults(body: unknown) {
  const response = typeof body === "object" && body !== null ? Reflect.get(body, "response") : undefined;
  const registers = typeof response === "object" && response !== null && "attestationObject" in response;
  const { error } = (registers ? AttestationSchema : AssertionSchema).safeParse(body);
  return error === undefined ? [] : faultsOf(error, body);
}

/** Passkey ceremonies in the format of section B: the session id in a header, the credential as the body. */
export function passkeyRoutes(scope: Scope) {
  const { prefix, name, tag } = scope;
  const router = newRouter();

  router.openapi(
    defineRoute({
      method: "post",
      path: `${prefix}/passkey/begin`,
      operationId: `begin${name}Passkey`,
      summary: "Start a registration (with an invitation) or a sign-in",
      tags: [tag],
      security: [],
      request: {
        params: z.object(pathParams(prefix)),
        query: InviteQuery,
        body: { required: false, content: { "application/json": { schema: BeginSchema } } },
      },
      responses: {
        200: {
          description: "Session id and WebAuthn options",
          content: {
            "application/json": {
              schema: z
                .object({ publicKey: PublicKeySchema, sessionId: z.string(), isRegistration: z.boolean() })
                .openapi("Ceremony"),
            },
          },
        },
      },
      problems: [401, 403, 404, 409, 410, 429],
    }),
    async (c) => {
      refuseForeignOrigin(c);
      const realm = requireHandler(await scope.realm(c), "passkey");
      const { deps } = c.var;
      const body = c.req.valid("json");
      const invite = c.req.valid("query").invite ?? body.invite;
      const { publicKey, sessionId, isRegistration } =
        body.add === true
          ? await beginAdding(deps, await identify(c, accountsOf(realm)), realm)
          : await begin(deps, { realm, invite, name: body.name, email: body.email });
      return c.json({ publicKey: optionsResponse(publicKey), sessionId, isRegistration }, 200);
    },
  );

  router.openapi(
    defineRoute({
      method: "post",
      path: `${prefix}/passkey/complete`,
      operationId: `complete${name}Passkey`,
      summary: "Complete the registration or sign-in",
      description: "Also sets the realm's session cookie.",
      tags: [tag],
      security: [],
      request: {
        params: z.object(pathParams(prefix)),
        headers: z.object({
          sessionid: z.string().min(1).max(4_096).openapi({ description: "The sessionId from begin" }),
        }),
        body: {
          required: true,
          content: { "application/json": { schema: CompletionSchema } },
        },
      },
      responses: {
        200: {
          description: "Signed in",
          content: {
            "application/json": { schema: z.object({ token: TokenSchema }).openapi("UserSession") },
          },
        },
      },
      problems: [401, 403, 404, 409, 410, 429],
    }),
    async (c) => {
      refuseForeignOrigin(c);
      const realm = requireHandler(await scope.realm(c), "passkey");
      const { session } = await complete(c.var.deps, {
        realm,
        sessionId: c.req.valid("header").sessionid,
        response: c.req.valid("json") as RegistrationResponseJSON | AuthenticationResponseJSON,
      });
      setSessionCookie(c, realm, session);
      return c.json({ token: session.token }, 200);
    },
    (result, c) => {
      if (result.success || result.target !== "json") return router.defaultHook?.(result, c);
      throw invalid(completionFaults(Reflect.get(result, "data")));
    },
  );

  return router;
}
