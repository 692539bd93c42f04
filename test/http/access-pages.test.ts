/** Routes that create credentials, asked by pages of other origins that may use the session cookie. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { admin, call, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

const ALLOWED = "https://app.example";
const ORB = "club";
/** Routes that hand out a credential without a session cookie: the ceremony itself proves who the caller is. */
const CEREMONIES = /\/(passkey\/(begin|complete)|signin\/program(\/token)?)$/;

interface Schema {
  $ref?: string;
  properties?: Record<string, { description?: string }>;
}

interface Operation {
  "x-creates-credential"?: boolean;
  "x-changes-rights"?: boolean;
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
  requestBody?: { content?: Record<string, { schema?: Schema }> };
}

interface Described {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let platform: TestPlatform;
let described: Described;
/** The cookie of an account that may do everything in the realm of a path. */
let cookies: Record<string, string>;

beforeAll(async () => {
  platform = await startPlatform({ env: { ALLOWED_ORIGINS: ALLOWED } });
  const root = await admin(platform);
  const providers = [
    { id: "main", issuer: "https://issuer.example", clientId: "club", clientSecret: "secret" },
  ];
  await createOrb(platform, root.token, {
    id: ORB,
    access: { signup: "open", providers },
    uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap", "oauth"] }],
  });
  const [shared, owner] = await Promise.all([user(platform, "auth", "owner"), user(platform, ORB, "owner")]);
  cookies = {
    _auth: `session_platform=${root.token}`,
    admin: `session_platform=${root.token}`,
    auth: `session_auth=${shared.token}`,
    [ORB]: `session_${ORB}=${owner.token}`,
  };
  described = (await describedWhole(platform)) as unknown as Described;
});
afterAll(() => platform?.stop());
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const realmOf = (path: string) => path.split("/")[2] ?? "";

/** Only platform admins bootstrap a realm, and create its service accounts. */
const cookieFor = ({ method, path }: Route) =>
  cookies[
    path.endsWith("/bootstrap") || (method === "POST" && path.endsWith("/users")) ? "_auth" : realmOf(path)
  ] ?? "";

interface Route {
  method: string;
  path: string;
  operation: Operation;
}

function routes(): Route[] {
  return Object.entries(described.paths).flatMap(([path, operations]) =>
    realmOf(path) in cookies
      ? Object.entries(operations).map(([method, operation]) => ({
          method: method.toUpperCase(),
          path,
          operation,
        }))
      : [],
  );
}

const creating = () => routes().filter(({ operation }) => operation["x-creates-credential"] === true);
const granting = () => routes().filter(({ operation }) => operation["x-changes-rights"] === true);

async function send(
  { method, path }: Route,
  origin: string | undefined,
  credentials: Record<string, string>,
) {
  const address = path
    .replace("{orbId}", ORB)
    .replace("{provider}", "main")
    .replace(/\{\w+\}/g, "unknown");
  const headers = { ...credentials, ...(origin === undefined ? {} : { origin }) };
  const { status, body } = await call(platform, method, address, { body: { unknown: true }, headers });
  return { status, code: body?.code as string | undefined };
}

test("every route whose response is a credential is marked", () => {
  const reveals = ({ operation: { responses } }: Route) =>
    Object.values(responses).some(({ content }) => {
      const schema = content?.["application/json"]?.schema;
      const named = schema?.$ref?.split("/").at(-1);
      const { properties = {} } = (named === undefined ? schema : described.components.schemas[named]) ?? {};
      const isId = (name: string) => /^Id of the API token/.test(properties[name]?.description ?? "");
      return ["token", "codes", "secret"].some((name) => name in properties && !isId(name));
    });
  const unmarked = routes()
    .filter(({ method, path }) => method === "POST" && !CEREMONIES.test(path))
    .filter((one) => reveals(one) && one.operation["x-creates-credential"] !== true);
  expect(unmarked.map(({ path }) => path)).toEqual([]);
  expect(
    creating()
      .map(({ path }) => path.replace(/^\/api\/[^/]+/, ""))
      .sort(),
  ).toEqual(
    expect.arrayContaining([
      "/invitations",
      "/tokens",
      "/recovery-codes",
      "/bootstrap",
      "/oauth/{provider}/link",
    ]),
  );
});

test("every route that changes what accounts may do is marked", () => {
  // Their bodies name a role, who may sign up, or the document with the access rules of an application.
  const decides = new Set(["role", "shared", "access"]);
  const grants = ({ operation }: Route) => {
    const schema = operation.requestBody?.content?.["application/json"]?.schema;
    const named = schema?.$ref?.split("/").at(-1);
    const { properties = {} } = (named === undefined ? schema : described.components.schemas[named]) ?? {};
    return Object.keys(properties).some((name) => decides.has(name));
  };
  const unmarked = routes().filter(
    // A saved view names the role whose accounts see it.
    (one) =>
      grants(one) &&
      !one.path.includes("/views/") &&
      !creating().includes(one) &&
      !granting().includes(one) &&
      one.method !== "GET",
  );
  const marks = [...creating(), ...granting()].map(({ method, path }) => `${method} ${path}`);
  expect(
    unmarked.map(({ method, path }) => `${method} ${path}`).filter((one) => !marks.includes(one)),
  ).toEqual([]);
  expect(granting().map(({ method, path }) => `${method} ${path}`)).toEqual(
    expect.arrayContaining([
      "PUT /api/auth/users/{id}",
      "POST /api/auth/users",
      `PUT /api/${ORB}/users/{id}`,
      "POST /api/_auth/admins",
      "PUT /api/_auth/settings",
      "POST /api/admin/orbs",
      "PUT /api/admin/orbs/{orbId}",
      "PATCH /api/admin/orbs/{orbId}",
      "POST /api/admin/orbs/{orbId}/publish",
      "POST /api/admin/orbs/{orbId}/revisions/{revision}/restore",
      "POST /api/admin/orbs/import",
    ]),
  );
});

test("a session cookie creates no credential and changes no rights on a page of another origin, although the origin is allowed", async () => {
  for (const route of [...creating(), ...granting()]) {
    const path = `${route.method} ${route.path}`;
    const cookie = cookieFor(route);
    const refused = { status: 403, code: "platform_page_required" };
    expect(await send(route, ALLOWED, { cookie }), path).toEqual(refused);
    expect((await send(route, undefined, { cookie })).status, `${path} without an origin`).toBe(403);
    expect((await send(route, "https://evil.example", { cookie })).status, `${path} on another site`).toBe(
      403,
    );
    expect((await send(route, platform.origin, { cookie })).code, `${path} on our page`).not.toBe(
      refused.code,
    );
    const authorization = `Bearer ${cookie.split("=")[1]}`;
    expect((await send(route, ALLOWED, { authorization })).code, `${path} with a token`).not.toBe(
      refused.code,
    );
  }
});

test("a session cookie adds no passkey on a page of another origin", async () => {
  for (const realm of ["_auth", "auth", ORB]) {
    const begin = (origin: string) =>
      call(platform, "POST", `/api/${realm}/passkey/begin`, {
        body: { add: true },
        headers: { cookie: cookies[realm] ?? "", origin },
      });
    expect(await begin(ALLOWED)).toMatchObject({ status: 403, body: { code: "platform_page_required" } });
    expect((await begin(platform.origin)).status).toBe(200);
  }
});

test("a page of an allowed origin may still read and write with the cookie", async () => {
  const headers = { cookie: cookies[ORB] ?? "", origin: ALLOWED };
  expect((await call(platform, "GET", `/api/${ORB}/me`, { headers })).status).toBe(200);
  expect((await call(platform, "PUT", `/api/${ORB}/me`, { headers, body: { name: "Ann" } })).status).toBe(
    200,
  );
});
