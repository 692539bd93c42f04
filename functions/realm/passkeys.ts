import { z } from "@hono/zod-openapi";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { begin, beginAdding, complete } from "../../shared/access/ceremony/index.ts";
import { jsonRequest } from "../http/schemas.ts";
import { refuseForeignOrigin, requireOwnPageForCookie } from "../middleware/origin.ts";
import { identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { BeginQuery, BeginSchema, optionsResponse } from "./schemas.ts";
import { accountsOf, pathParams, realmRoute, type Scope, setSessionCookie } from "./scope.ts";

export function ceremonyRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const params = z.object(pathParams(prefix));
  const common = {
    method: "post",
    problems: [401, 403, 404, 409, 410, 429],
  } as const;
  return {
    params,
    begin: {
      ...realmRoute(scope, "anyone", "passkey", "begun"),
      ...common,
      path: `${prefix}/passkey/begin`,
      operationId: `begin${name}Passkey`,
      summary: "Start a registration, a recovery or a sign-in",
      description:
        "With an invitation, or where sign-up is open, this starts a registration. With a recovery link or a recovery code, it starts a recovery. Otherwise it starts a sign-in.",
      request: { params, query: BeginQuery, body: jsonRequest(BeginSchema, false) },
    },
    complete: {
      ...realmRoute(scope, "anyone", "passkey", "completed"),
      ...common,
      path: `${prefix}/passkey/complete`,
      operationId: `complete${name}Passkey`,
      summary: "Complete the registration, recovery or sign-in",
      description:
        "The response also sets the realm's session cookie. A recovery ends all other sessions of the account.",
    },
  };
}

export async function beginCeremony(
  c: Context<AppEnv>,
  query: z.infer<typeof BeginQuery>,
  { add, invite, ...given }: z.infer<typeof BeginSchema>,
) {
  refuseForeignOrigin(c);
  const { deps, realm } = c.var;
  const { publicKey, ...begun } =
    add === true
      ? await beginAdding(deps, await callerOnOwnPage(c), { realm, ...given })
      : await begin(deps, {
          realm,
          invite: query.invite ?? invite,
          signup: query.signup === "true",
          ...given,
        });
  return { ...begun, publicKey: optionsResponse(publicKey) };
}

/** Returns the caller of a request that adds a passkey to the caller's account. */
async function callerOnOwnPage(c: Context<AppEnv>): Promise<Actor> {
  const actor = await identify(c, accountsOf(c.var.realm));
  if (actor.kind !== "anonymous") requireOwnPageForCookie(c);
  return actor;
}

export async function completeCeremony(
  c: Context<AppEnv>,
  sessionId: string,
  response: RegistrationResponseJSON | AuthenticationResponseJSON,
) {
  refuseForeignOrigin(c);
  const { deps, realm } = c.var;
  const completed = await complete(deps, { realm, sessionId, response });
  setSessionCookie(c, realm, completed.session);
  return completed;
}
