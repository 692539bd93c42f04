/**
 * Every route with every kind of credential. The routes come from the API description, so that new routes join by
 * themselves: `x-role` names the accounts that may use a route, and `x-scope` the scopes that a token needs.
 */
import { decodeJwt } from "jose";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CANS, type Can } from "../../shared/access/credentials/rights.ts";
import { issueHandlerToken } from "../../shared/access/tokens.ts";
import { ACTS } from "../../shared/definition/document/acts.ts";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken, call, signIn, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { testRandom } from "../support/random.ts";
import { sendRequest } from "../support/request.ts";
import { createToken, inSeconds, scope } from "../support/tokens.ts";

const ORB = "walked";
const OTHER = "walked-by";
let platform: TestPlatform;
let root: string;
let routes: Route[];
let entry: string;

interface Route {
  method: string;
  path: string;
  role: string;
  scope: Can[] | "session" | undefined;
  /** Whether the route works without credentials too. */
  open: boolean;
  /** The realm whose accounts the route is about. */
  realm: "platform" | "auth" | typeof ORB | undefined;
}

const document = (id: string) => ({
  id,
  uses: [
    { service: "access", handlers: ["passkey", "invitations", "bootstrap", "oauth"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: { read: "user", write: "user" },
          fields: [{ name: "title", type: "string" }],
        },
      ],
    },
    { id: "choices", type: "SETTINGS", schemas: [{ id: "choice", fields: [{ name: "x", type: "string" }] }] },
  ],
});

interface Described {
  security: Record<string, unknown>[];
  "x-role": string;
  "x-scope"?: Can[] | "session";
}

async function readRoutes(): Promise<Route[]> {
  const { paths: described } = await describedWhole(platform, [ORB]);
  const paths = described as unknown as Record<string, Record<string, Described>>;
  return Object.entries(paths)
    .filter(([path]) => !path.startsWith("/api/_orbs"))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        role: operation["x-role"],
        scope: operation["x-scope"],
        open:
          operation.security.length === 0 || operation.security.some((way) => Object.keys(way).length === 0),
        realm: path.startsWith("/api/_auth/")
          ? ("platform" as const)
          : path.startsWith("/api/auth/")
            ? ("auth" as const)
            : path.startsWith(`/api/${ORB}/`)
              ? ORB
              : undefined,
      })),
    );
}

/** The address of a route. Every id but the orb's is unknown, so that an accepted request changes nothing. */
const addressOf = ({ path }: Route) =>
  path
    .replace("{orbId}", ORB)
    .replace(/\{(entryId|id)\}/, entry)
    .replace(/\{kind\}/, "modules")
    .replace("/api/streams/{name}", "/api/streams/heartbeat?offset=now")
    // Only a change set needs a credential here.
    .replace(/^\/api\/discovery$/, `/api/discovery?orb=${ORB}&change=unknown`)
    .replace(/\{[A-Za-z]+\}/g, "unknown");

/** Sends a request that no route carries out: a revision that does not exist, and a body that is not valid. */
async function send(
  route: Route,
  token: string | undefined,
): Promise<{ status: number; code: string | undefined }> {
  const bodiless = route.method === "GET" || route.method === "DELETE";
  const { status, headers, text } = await sendRequest(
    platform.origin + addressOf(route),
    route.method,
    {
      "if-match": '"999999"',
      SessionID: "none",
      ...(bodiless ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    bodiless ? undefined : JSON.stringify({ unknown: true }),
  );
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json") === true;
  const code = isProblem ? (JSON.parse(text) as { code: string }).code : undefined;
  return { status, code };
}

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  root = await adminToken(platform);
  for (const id of [ORB, OTHER]) {
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
      token: root,
      body: document(id),
    });
    expect(made.status).toBe(201);
  }
  const made = await call(platform, "POST", `/api/${ORB}/news?publish=true`, {
    token: root,
    body: { values: { title: "first" } },
  });
  entry = made.body.id;
  routes = await readRoutes();
});
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const REFUSED = (code: string | undefined) =>
  [
    "authentication_required",
    "invalid_token",
    "forbidden",
    "missing_scope",
    "session_required",
    "other_realm",
  ].includes(code ?? "");

/** Routes that end the session or the token that they get, or that answer 401 and 403 for reasons of their own. */
const LAST = (route: Route) =>
  route.path.endsWith("/signout") || /\/passkey(\/|$)|\/recovery|\/tokens\/current$/.test(route.path);
const secured = () => routes.filter((route) => !LAST(route));

/** Returns one of so many routes, where the reason of a refusal is the same on each. Each run takes others. */
function someOf(all: readonly Route[], part: number): Route[] {
  const first = testRandom().below(part);
  return all.filter((_, index) => index % part === first);
}

test("knows every route, and what each needs", () => {
  expect(routes.length).toBeGreaterThan(100);
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    if (!route.open) expect(route.scope, name).toBeDefined();
  }
});

test("without a credential, every route that needs one answers 401", async () => {
  for (const route of secured()) {
    if (route.open) continue;
    const { status, code } = await send(route, undefined);
    expect([`${route.method} ${route.path}`, status, code]).toEqual([
      expect.any(String),
      401,
      "authentication_required",
    ]);
  }
});

describe("every route that checks credentials refuses an invalid credential", () => {
  async function refusedEverywhere(token: string, among = secured()) {
    for (const route of among) {
      if (route.scope === undefined || route.path.endsWith("/mcp")) continue;
      const { status, code } = await send(route, token);
      const name = `${route.method} ${route.path}`;
      // Without a handler or an entry that it could be refused for, a runtime route may be missing first.
      expect([name, status, code]).toEqual([name, 401, "invalid_token"]);
    }
  }

  test("an expired token", async () => {
    const { token } = await createToken(platform, "/api/_auth", root, [scope("*", ...CANS)], {
      expiresAt: inSeconds(1),
    });
    await until(async () => (await call(platform, "GET", "/api/_auth/me", { token })).status === 401);
    await refusedEverywhere(token, someOf(secured(), 5));
  });

  test("a revoked token", async () => {
    const { token, id } = await createToken(platform, "/api/_auth", root, [scope("*", ...CANS)]);
    await call(platform, "DELETE", `/api/_auth/tokens/${id}`, { token: root });
    await refusedEverywhere(token);
  });

  test("a token of a disabled account", async () => {
    const owner = await user(platform, ORB, "owner");
    const { token } = await createToken(platform, `/api/${ORB}`, owner.token, [scope(ORB, ...CANS)]);
    const path = `/api/${ORB}/users/${owner.id}`;
    expect((await call(platform, "PUT", path, { token: root, body: { status: "disabled" } })).status).toBe(
      200,
    );
    await refusedEverywhere(token, someOf(secured(), 5));
  });

  test("a session that has ended", async () => {
    const owner = await user(platform, ORB, "owner");
    const again = await signIn(platform, `/api/${ORB}`, owner.authenticator);
    await call(platform, "POST", `/api/${ORB}/signout`, { token: again.token });
    await refusedEverywhere(again.token, someOf(secured(), 3));
  });
});

describe("a valid credential of another realm is refused by every route that needs one", () => {
  test.each([
    ["session", false],
    ["token", true],
  ])("%s", async (_, asToken) => {
    const stranger = await user(platform, OTHER, "owner");
    const token = asToken
      ? (await createToken(platform, `/api/${OTHER}`, stranger.token, [scope(OTHER, ...CANS)])).token
      : stranger.token;
    for (const route of asToken ? someOf(secured(), 3) : secured()) {
      if (route.open || route.path.startsWith("/api/streams")) continue;
      const { status, code } = await send(route, token);
      const name = `${route.method} ${route.path}`;
      // One route of the specification answers 401 to everyone but platform admins.
      const expected =
        name === "GET /api/_auth/invitations"
          ? [name, 401, "authentication_required"]
          : [name, 403, "other_realm"];
      expect([name, status, code]).toEqual(expected);
    }
  });
});

/** Whether a platform admin's token with these scopes gets past the checks of a route. */
function admits(route: Route, granted: readonly Can[], everywhere: boolean): boolean {
  if (route.scope === "session") return false;
  const ofOrb =
    route.path.includes("{orbId}") ||
    route.path === "/api/discovery" ||
    route.path.startsWith(`/api/${ORB}/`);
  return (
    (everywhere || ofOrb || route.scope?.length === 0) &&
    route.scope?.every((can) =>
      granted.includes(can === "propose" && granted.includes("write") ? "write" : can),
    ) === true
  );
}

describe("a platform admin's token gets as far as its scopes, on every route", () => {
  const granted: [string, readonly Can[], string][] = [
    ...CANS.map((can): [string, readonly Can[], string] => [`${can} everywhere`, [can], "*"]),
    ["read in the orb", ["read"], ORB],
    ["everything everywhere", CANS, "*"],
    ["everything in the orb", CANS, ORB],
    ["everything in another orb", CANS, OTHER],
  ];
  test.each(granted)("%s", async (_, can, orb) => {
    const { token } = await createToken(platform, "/api/_auth", root, [scope(orb, ...can)]);
    const inScopeOf = (route: Route) => admits(route, can, orb === "*");
    const refused = someOf(
      secured().filter((route) => !inScopeOf(route)),
      3,
    );
    for (const route of [...secured().filter(inScopeOf), ...refused]) {
      // Platform admins have no account in other realms, except for tokens of service accounts.
      const ownOnly = route.role === "user" && route.realm !== "platform" && !route.path.includes("/tokens");
      if (
        route.scope === undefined ||
        route.path.endsWith("/mcp") ||
        (route.realm !== undefined && isAccount(route) && ownOnly)
      )
        continue;
      const { status, code } = await send(route, token);
      const name = `${route.method} ${route.path}`;
      const inScope = orb === OTHER ? route.scope.length === 0 : admits(route, can, orb === "*");
      if (inScope) expect([name, REFUSED(code), code]).toEqual([name, false, code]);
      else
        expect([name, status, code]).toEqual([
          name,
          403,
          route.scope === "session" ? "session_required" : "missing_scope",
        ]);
    }
  });
});

/** Whether a route is about the caller's own account. */
function isAccount(route: Route): boolean {
  return /\/(me|passkeys|sessions|recovery-codes|identities|oauth|signin)(\/|$)/.test(route.path);
}

test("a platform admin's session gets past the checks of every route of the management API", async () => {
  for (const route of secured().filter(({ role }) => role === "platform")) {
    const { code } = await send(route, root);
    expect([`${route.method} ${route.path}`, REFUSED(code)]).toEqual([expect.any(String), false]);
  }
});

test.each(["user", "owner"] as const)(
  "a token of a %s gets no further than the session on any route",
  async (role) => {
    const member = await user(platform, ORB, role);
    const { token } = await createToken(platform, `/api/${ORB}`, member.token, [scope(ORB, ...CANS)]);
    for (const route of someOf(secured(), 2)) {
      if (route.scope === undefined) continue;
      const [bySession, byToken] = [await send(route, member.token), await send(route, token)];
      const name = `${route.method} ${route.path}`;
      if (route.scope === "session" && !REFUSED(bySession.code))
        expect([name, byToken.code]).toEqual([name, "session_required"]);
      else expect([name, byToken]).toEqual([name, bySession]);
    }
  },
);

test("the credential of a handler without a grant is refused by every route that needs an account", async () => {
  const { sub = "", sid } = decodeJwt<{ sid: string }>(root);
  const iat = Math.floor(Date.now() / 1000);
  const config = { jwtSigningKeys: platform.bindings.JWT_SIGNING_KEYS ?? "", publicUrl: platform.origin };
  const caller = { realm: "platform", sub, sid };
  const claims = {
    handler: "walker.go",
    orb: ORB,
    acts: ACTS,
    requestId: "walk",
    caller,
    iat,
    exp: iat + 300,
  };
  const token = await issueHandlerToken(config, claims);
  for (const route of secured()) {
    if (route.open || route.path.endsWith("/mcp")) continue;
    const { status, code } = await send(route, token);
    const name = `${route.method} ${route.path}`;
    const serves = /^\/api\/walked\/(news|changes|((call|settings)\/)?[gs]et)(\/|$)/.test(addressOf(route));
    const expected = serves
      ? [name, 403, "missing_act"]
      : name === "GET /api/_auth/invitations"
        ? [name, 401, "authentication_required"]
        : [name, 403, "handler_credential"];
    expect([name, status, code]).toEqual(expected);
  }
});
