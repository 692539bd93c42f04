/** Tests the API of an orb against its description with schemathesis, which makes up valid and invalid requests. */
import { beforeAll, expect, test } from "vitest";
import {
  type ApiDocument,
  operationsOf,
  type Parameter,
  resolvedParameter,
} from "../../functions/discovery/document.ts";
import { adminToken, call, register, signIn, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { everything } from "../support/everything.ts";
import { missingPython, need } from "../support/lacking.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { schemathesis } from "../support/schemathesis.ts";
import { createToken, inSeconds, scope } from "../support/tokens.ts";

const MOST_FILTERS = 20;

/**
 * Parameters that are left out. A cursor belongs to one list. `fields` changes what responses contain. workerd does not
 * pass on an empty `If-Match`, so it looks as if it was not sent. A list with `live` does not end.
 * `aggregate` excludes other parameters, and `group` needs it, which OpenAPI cannot say.
 * The same goes for `at`, which excludes `revision`, and for `change`, which excludes `publish`. `missing` takes only languages of the orb, and
 * with `fallback` a required value can be null.
 */
const LEFT_OUT: readonly string[] = [
  "cursor",
  "fields",
  "If-Match",
  "live",
  "aggregate",
  "group",
  "at",
  "missing",
  "fallback",
  "change",
];

/** Statuses that valid requests can get, because the state of the platform decides about them. */
const CONFIG = `
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 410, 412, 413, 422, 429]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431]
`;

let platform: TestPlatform;
let token: string;
/** Ids of entries by the address of their collection. */
const known: Record<string, string[]> = {};

/**
 * Removes what a tool cannot know from the description, as docs/reference/discovery.md lists it.
 * @param revision of the definition that the document describes
 */
function testable(document: ApiDocument, revision: number): ApiDocument {
  for (const { path, operation } of operationsOf(document.paths)) {
    const ids = known[path.split("/{")[0] ?? ""];
    const all = (operation.parameters ?? []).map((given) =>
      structuredClone(resolvedParameter(document, given)),
    );
    const isFilter = ({ name }: Parameter) => name.startsWith("filter[");
    const filters = all.filter(isFilter);
    const step = Math.ceil(filters.length / MOST_FILTERS);
    operation.parameters = [
      ...all.filter((each) => !isFilter(each) && !LEFT_OUT.includes(each.name)),
      ...filters.filter((_, index) => index % step === 0),
    ];
    // Other revisions have other shapes. With any, `explain` is refused.
    const hasPlan = operation.parameters.some((each) => "name" in each && each.name === "explain");
    if (hasPlan)
      operation.parameters = operation.parameters.filter(
        (each) => !("name" in each) || each.name !== "Orb-Definition",
      );
    const pin = operation.parameters.find((each) => "name" in each && each.name === "Orb-Definition");
    if (pin !== undefined) Reflect.set(pin, "schema", { type: "string", enum: [String(revision)] });
    const id = operation.parameters.find((each) => "name" in each && each.name === "id");
    if (ids !== undefined && id !== undefined) Reflect.set(id, "schema", { type: "string", enum: ids });
    const sort = operation.parameters.find((each) => "name" in each && each.name === "sort");
    const { items } = (Reflect.get(Object(sort), "schema") ?? {}) as { items?: { enum: string[] } };
    // workerd itself rejects an address of many kilobytes.
    Reflect.set(operation.responses, "431", { description: "Too large" });
    if (items !== undefined) items.enum = items.enum.filter((name) => !name.startsWith("-"));
  }
  // The cursor of the handler transactions.list.
  for (const schema of Object.values(document.components.schemas)) {
    if (schema.properties !== undefined) Reflect.deleteProperty(Object(schema.properties), "cursor");
  }
  return document;
}

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  const admin = await adminToken(platform);
  await createOrb(platform, admin, everything);
  const owner = await user(platform, "everything", "owner");
  const rights = [scope("everything", "read", "write", "publish", "manage")];
  ({ token } = await createToken(platform, "/api/everything", owner.token, rights));
  const add = async (path: string, values: object) => {
    const body = { values };
    const made = await call(platform, "POST", `/api/everything/${path}?publish=true`, { token, body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const ids = known[`/api/everything/${path}`] ?? [];
    known[`/api/everything/${path}`] = [...ids, made.body.id];
    return made.body.id as string;
  };
  // Create several of each, because the requests delete some.
  for (let i = 10; i < 14; i++) {
    const author = await add("library/author", { name: "Ann" });
    const book = {
      title: { en: "One" },
      code: `AB-${i}`,
      price: { US: 1 },
      author,
      note: "x",
      pin: { US: 7 },
    };
    await add("library/book", book);
    await add("desks", { label: `Desk ${i}` });
  }
});

const run = (document: ApiDocument, credential: string, config: string) =>
  schemathesis({
    origin: platform.origin,
    document,
    token: credential,
    config,
    args: [
      "--phases=fuzzing",
      `--max-examples=${process.env.TEST_EXAMPLES ?? 1}`,
      `--seed=${process.env.TEST_SEED ?? "1"}`,
      "--continue-on-failure",
      "--generation-database=none",
      "--no-shrink",
      "--suppress-health-check=all",
      "--no-color",
    ],
  });

/** Each operation is tested once in so many runs. */
const RUNS = 4;
/** Which part of the operations this run tests. With TEST_EXAMPLES, it tests all. */
const PART = process.env.TEST_EXAMPLES === undefined ? Date.now() % RUNS : undefined;

/**
 * Removes the operations of other paths, and three of four others: schemathesis makes a generator for each, which takes
 * most of the time. test/contract/openapi.test.ts sends requests to all operations in each run.
 */
function only(pattern: RegExp, document: ApiDocument): ApiDocument {
  const paths = Object.entries(document.paths)
    .filter(([path]) => pattern.test(path))
    .filter((_, at) => PART === undefined || at % RUNS === PART);
  return { ...document, paths: Object.fromEntries(paths) };
}

/** Says how to repeat a run that failed: with TEST_EXAMPLES, it sends the same requests to all operations. */
const said = (output: string) => `${output}\nRepeat this with TEST_EXAMPLES=1.`;

test("every response to entries and built-in handlers is as described, and only valid requests are accepted", async (context) => {
  need(context, missingPython());
  const document = (await call(platform, "GET", "/api/openapi?orb=everything")).body as ApiDocument;
  const tested = only(/^\/api\/everything\/(library|desks|record|list|get|set|evaluate)/, document);
  const { orbs } = (await call(platform, "GET", "/api/discovery?orb=everything")).body;
  const { code, output } = await run(testable(tested, orbs[0].revision), token, CONFIG);
  expect(code, said(output)).toBe(0);
}, 600_000);

/** Names that parameters take in requests, by method and path. The last match counts. */
type Names = (readonly [pattern: RegExp, parameter: string, names: readonly string[]])[];

function withNames(document: ApiDocument, names: Names): ApiDocument {
  for (const { path, method, operation } of operationsOf(document.paths)) {
    operation.parameters = (operation.parameters ?? [])
      .map((given) => structuredClone(resolvedParameter(document, given)))
      .filter(({ name }) => ![...LEFT_OUT, "expand", "search"].includes(name) && !name.startsWith("filter["))
      // Lists refuse the header together with explain, and descriptions without the name of an orb.
      .filter(({ name }) => name !== "Orb-Definition" || /\{orbId\}\/(entries\/|batch)/.test(path))
      // This address takes the parameters only if it does not get the header SessionID.
      .filter(({ in: place }) => place !== "query" || !path.endsWith("/passkey"));
    for (const [pattern, name, list] of names) {
      if (!pattern.test(`${method.toUpperCase()} ${path}`)) continue;
      const parameter = operation.parameters.find((each) => "name" in each && each.name === name);
      if (parameter !== undefined) Reflect.set(parameter, "schema", { type: "string", enum: list });
    }
  }
  // Made-up times are in the past, and made-up accounts do not exist.
  const values = Object(document.components.schemas.ApiTokenInput?.properties) as object;
  Reflect.set(values, "expiresAt", { type: "string", enum: [inSeconds(3600)] });
  Reflect.deleteProperty(values, "account");
  return document;
}

/** Orbs that requests may read, change and delete. */
const SPARE = ["managed", "changed", "gone"];

/** Addresses that are left out. */
const OTHERS = [
  "/_orbs", // the same as /admin/orbs
  "/everything/call/", // the same without call/
  "/everything/(library|desks|record|list|get|set|evaluate)", // the test above
  `/(${SPARE.join("|")})/`,
  "/streams/\\{name\\}", // continues until the client leaves
  "/discovery/names", // takes either ids or search, which OpenAPI cannot say
  "/admin/orbs/import", // takes JSON Lines, which schemathesis cannot write
  "/admin/orbs/\\{orbId\\}/entries/bulk", // also
];

/** Accounts, tokens and invitations of a realm, for requests that change or end them. */
async function prepareRealm(realm: string, admin: string) {
  const base = `/api/${realm}`;
  const isPlatform = realm === "_auth";
  const account = async () => {
    if (!isPlatform) return user(platform, realm, realm === "auth" ? "admin" : "owner");
    const { body } = await call(platform, "POST", `${base}/invitations`, { token: admin, body: {} });
    return register(platform, base, body.token);
  };
  const [own, leaving] = [isPlatform ? admin : (await account()).token, await account()];
  const sessions = await call(platform, "GET", `${base}/sessions`, { token: leaving.token });
  const rights = [scope(realm === "everything" ? realm : "*", "read")];
  const several = <T>(make: () => Promise<T>) => Promise.all([make(), make(), make()]);
  const tokens = await several(() => createToken(platform, base, own, rights));
  const [current, revoked] = await several(() => createToken(platform, base, own, rights));
  const invitations = await several(() =>
    call(platform, "POST", `${base}/invitations`, { token: own, body: isPlatform ? {} : { role: "user" } }),
  );
  const again = await signIn(platform, base, leaving.authenticator);
  const people = await several(isPlatform ? account : () => user(platform, realm));
  const names: Names = [
    [new RegExp(` ${base}/(users|admins)/`), "id", people.map(({ id }) => id)],
    [new RegExp(` ${base}/tokens/\\{id`), "id", tokens.map(({ id }) => id)],
    [new RegExp(` ${base}/sessions/`), "id", [sessions.body[0].id]],
    [new RegExp(` ${base}/invitations/`), "code", invitations.map(({ body }) => body.token)],
  ];
  const credentials: Record<string, string | undefined> = {
    [`GET ${base}/tokens/current`]: current?.token,
    [`DELETE ${base}/tokens/current`]: revoked?.token,
    [`POST ${base}/signout`]: leaving.token,
    [`DELETE ${base}/sessions`]: again.token,
    [`DELETE ${base}/sessions/{id}`]: again.token,
  };
  return { base, own, names, credentials };
}

test("every response to admins and to accounts is as described, and only valid requests are accepted", async (context) => {
  need(context, missingPython());
  const admin = await adminToken(platform);
  for (const id of SPARE) {
    const text = JSON.stringify({ ...everything, id }).replaceAll("everything/", `${id}/`);
    await createOrb(platform, admin, JSON.parse(text));
  }
  const entries: string[] = [];
  for (const label of ["One", "Two", "Three"]) {
    const made = await call(platform, "POST", "/api/managed/desks", {
      token: admin,
      body: { values: { label } },
    });
    entries.push(made.body.id);
  }
  for (const id of ["first", "second"]) {
    const body = { module: { ...everything.modules[3], id } };
    await call(platform, "PUT", `/api/admin/definitions/modules/${id}`, { token: admin, body });
  }
  const names: Names = [
    [/ \/api\/admin\/orbs\//, "orbId", ["changed"]],
    [/^DELETE \/api\/admin\/orbs\/\{orbId\}$/, "orbId", ["gone"]],
    [/\{orbId\}\/(entries|export|revisions$)/, "orbId", ["managed"]],
    [/\{orbId\}\/entries/, "entryId", entries],
    [/\{orbId\}\/entries.*\{revision\}/, "revision", ["1", "2"]],
    // The description of the platform does not name what belongs to one orb.
    [/\{orbId\}\/entries/, "locale", everything.languages],
    [/\{orbId\}\/entries/, "locales", everything.languages],
    [/\{orbId\}\/entries/, "market", everything.markets],
    [/\{orbId\}\/entries/, "module", ["desks"]],
    [/\{orbId\}\/entries/, "schema", ["desk"]],
    [/\{orbId\}\/entries$/, "sort", ["createdAt"]],
    [/\{orbId\}\/(entries\/|batch)/, "Orb-Definition", ["1"]],
    [/\/definitions\/\{kind\}/, "id", ["first", "second"]],
    [/\/streams\//, "name", ["books", "desks"]],
    [/\/registry\//, "service", ["rules", "settings", "unknown"]],
  ];
  const all = await describedWhole(platform, ["everything"]);
  const document = only(new RegExp(`^/api(?!${OTHERS.join("|")})`), all);
  const given: string[] = [];
  for (const realm of ["_auth", "auth", "everything"]) {
    const { base, own, names: ofRealm, credentials } = await prepareRealm(realm, admin);
    names.push(...ofRealm);
    for (const { path, method, operation } of operationsOf(document.paths)) {
      if (!path.startsWith(`${base}/`)) continue;
      const name = `${method.toUpperCase()} ${path}`;
      const credential = credentials[name] ?? (operation["x-role"] === "platform" ? admin : own);
      const headers = `headers = { Authorization = "Bearer ${credential}" }`;
      given.push(`[[operations]]\ninclude-name = "${name}"\n${headers}\n`);
    }
  }
  const config = [CONFIG, ...given].join("\n");
  const { code, output } = await run(withNames(document, names), admin, config);
  expect(code, said(output)).toBe(0);
}, 600_000);
