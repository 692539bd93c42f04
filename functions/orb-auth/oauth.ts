/**
 * Routes for signing in with OpenID Connect providers, and for the identities that are linked to the signed-in account.
 */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { hostPrefix } from "../../shared/access/authenticate.ts";
import {
  beginLink,
  beginOAuth,
  endOfState,
  finishOAuth,
  listIdentities,
  type OAuthStart,
  STATE_SECONDS,
  unlink,
} from "../../shared/access/oauth/index.ts";
import type { Realm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, redirect } from "../http/schemas.ts";
import { cookieOf, identify } from "../middleware/session.ts";
import { byName, showRefusal } from "../pages/signin.ts";
import { profileOf } from "../realm/profile.ts";
import { accountPage, returnAddress } from "../realm/return-address.ts";
import {
  accountsOf,
  cookieScope,
  credentialRoute,
  pathParams,
  realmRoute,
  type Scope,
  setSessionCookie,
} from "../realm/scope.ts";
import type { AppEnv } from "../request/context.ts";

const IdentitySchema = z
  .object({
    id: z.string(),
    provider: z.string().nullable().openapi({
      description: "Id of the provider; null if the orb no longer has it",
      example: "google",
    }),
    issuer: z.string().openapi({ example: "https://accounts.google.com" }),
    label: z.string().nullable().openapi({
      description: "Email or name at the provider, to recognise the identity",
      example: "ann@example.com",
    }),
    createdAt: z.iso.datetime(),
  })
  .openapi("Identity");

const Return = z.string().max(2_000).optional().openapi({
  description:
    "Where to go afterwards: a path, or a URL whose origin is in ALLOWED_ORIGINS. Other values are ignored.",
});

/**
 * Returns the name and options of the cookie that stores an unfinished sign-in. With the prefix `__Host-`, sibling
 * subdomains cannot set the cookie, so another site cannot make the browser complete a sign-in that it began.
 */
function stateCookie(c: Context<AppEnv>, realm: Realm, provider: string) {
  const { config } = c.var.deps;
  return {
    name: `${statePrefix(c)}${realm.name}.${provider}`,
    options: { ...cookieScope(config), httpOnly: true, sameSite: "Lax" },
  } as const;
}

const statePrefix = (c: Context<AppEnv>) => `${hostPrefix(c.var.deps.config)}oauth_`;

/**
 * Maximum unfinished sign-ins that a browser keeps. Browsers send their cookies with every request, and a request with
 * too long headers is refused.
 */
const MOST_STATES = 3;

async function keepState(
  c: Context<AppEnv>,
  realm: Realm,
  provider: string,
  { cookie }: OAuthStart,
): Promise<void> {
  const { name, options } = stateCookie(c, realm, provider);
  const prefix = statePrefix(c);
  const others = Object.entries(getCookie(c)).filter(([other]) => other.startsWith(prefix) && other !== name);
  const aged = others.map(async ([other, value]) => ({ other, ends: await endOfState(c.var.deps, value) }));
  const oldestFirst = (await Promise.all(aged)).sort((a, b) => a.ends - b.ends);
  const surplus = Math.max(0, oldestFirst.length - (MOST_STATES - 1));
  for (const { other } of oldestFirst.slice(0, surplus)) deleteCookie(c, other, options);
  setCookie(c, name, cookie, { ...options, maxAge: STATE_SECONDS });
}

function backOf(c: Context<AppEnv>, realm: Realm, wanted: string | undefined): string {
  const { config } = c.var.deps;
  return returnAddress(config, wanted) ?? `${config.publicUrl}${accountPage(realm)}`;
}

/** Responds to an error with an HTML page if the client accepts HTML, otherwise with a problem document. */
async function forPeople(c: Context<AppEnv>, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    const isPerson = c.req.header("accept")?.includes("text/html") === true;
    if (!(error instanceof AppError) || !isPerson) throw error;
    return await showRefusal(c, c.var.realm, error);
  }
}

export function oauthRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const params = z.object(pathParams(prefix));
  const withProvider = params.extend({ provider: z.string() });
  const redirects = { 302: redirect("To the provider, or back to the page that began the sign-in") };

  const begin = defineRoute({
    ...realmRoute(scope, "anyone", "oauth"),
    method: "get",
    path: `${prefix}/oauth/{provider}`,
    operationId: `begin${name}OAuth`,
    summary: "Sign in with a provider",
    description:
      "Redirects to the provider. The first sign-in creates an account if sign-up is open, or if the request has an invitation.",
    request: {
      params: withProvider,
      query: z.strictObject({
        invite: z.string().max(200).optional().openapi({ description: "Invitation code" }),
        return: Return,
      }),
    },
    responses: redirects,
    problems: [404, 429, 502],
  });
  const callback = defineRoute({
    ...realmRoute(scope, "anyone", "oauth"),
    method: "get",
    path: `${prefix}/oauth/{provider}/callback`,
    operationId: `complete${name}OAuth`,
    summary: "Complete a sign-in with a provider",
    description:
      "The provider sends the browser here. Only the browser that began the sign-in can complete it, once. Sets the realm's session cookie.",
    request: {
      params: withProvider,
      query: z.looseObject({
        code: z.string().optional(),
        state: z.string().optional(),
        iss: z.string().optional(),
        error: z.string().optional(),
      }),
    },
    responses: redirects,
    problems: [401, 403, 404, 409, 410, 429, 502],
  });
  const link = defineRoute({
    ...credentialRoute(scope, "identities", "oauth"),
    method: "post",
    path: `${prefix}/oauth/{provider}/link`,
    operationId: `link${name}Identity`,
    summary: "Begin to link an identity to the signed-in account",
    description:
      "Open the returned URL in the browser that is signed in: the link completes only with the session that began it.",
    request: { params: withProvider, query: z.strictObject({ return: Return }) },
    responses: { 200: json("Begun", z.object({ url: z.string() }).openapi("OAuthStart")) },
    problems: [401, 403, 404, 429, 502],
  });
  const list = defineRoute({
    ...realmRoute(scope, "identities", "oauth"),
    method: "get",
    path: `${prefix}/identities`,
    operationId: `list${name}Identities`,
    summary: "List linked identities of the signed-in account",
    request: { params },
    responses: { 200: json("The identities", z.array(IdentitySchema)) },
    problems: [401, 403, 404],
  });
  const remove = defineRoute({
    ...realmRoute(scope, "identities", "oauth"),
    method: "delete",
    path: `${prefix}/identities/{id}`,
    operationId: `unlink${name}Identity`,
    summary: "Unlink an identity",
    description:
      "Ends the sessions that it started, except the one of this request. Removing the account's last way to sign in is refused (409).",
    request: { params: params.extend({ id: z.string() }) },
    responses: { 204: { description: "Unlinked" } },
    problems: [401, 403, 404, 409],
  });

  return newRouter()
    .openapi(begin, (c) =>
      forPeople(c, async () => {
        // Redirect to the host of the callback first. If another host sets the cookie, the browser does not send it
        // to the callback.
        const elsewhere = byName(c);
        if (elsewhere !== null) return elsewhere;
        const { deps, realm } = c.var;
        const { provider } = c.req.valid("param");
        const query = c.req.valid("query");
        const back = backOf(c, realm, query.return);
        const begun = await beginOAuth(deps, { realm, provider, invite: query.invite, back });
        await keepState(c, realm, provider, begun);
        return c.redirect(begun.url, 302);
      }),
    )
    .openapi(callback, (c) =>
      forPeople(c, async () => {
        const { deps, realm } = c.var;
        const { provider } = c.req.valid("param");
        const { name: cookie, options } = stateCookie(c, realm, provider);
        deleteCookie(c, cookie, options);
        const { back, session } = await finishOAuth(deps, {
          realm,
          provider,
          cookie: cookieOf(c.req.header("cookie"), cookie),
          parameters: new URL(c.req.url).searchParams,
          caller: () => identify(c, accountsOf(realm), "leader"),
          profileOf,
        });
        if (session !== null) setSessionCookie(c, realm, session);
        return c.redirect(back, 302);
      }),
    )
    .openapi(link, async (c) => {
      const { deps, actor, realm } = c.var;
      const { provider } = c.req.valid("param");
      const back = backOf(c, realm, c.req.valid("query").return);
      const begun = await beginLink(deps, actor, { realm, provider, back });
      await keepState(c, realm, provider, begun);
      return c.json({ url: begun.url }, 200);
    })
    .openapi(list, async (c) => {
      const { deps, actor, realm } = c.var;
      return c.json(await listIdentities(deps, actor, realm), 200);
    })
    .openapi(remove, async (c) => {
      const { deps, actor, realm } = c.var;
      await unlink(deps, actor, { realm, id: c.req.valid("param").id });
      return c.body(null, 204);
    });
}
