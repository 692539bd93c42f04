/** Tests the API of an orb against its description with schemathesis, which makes up valid and invalid requests. */
import { beforeAll, expect, test } from "vitest";
import {
  type ApiDocument,
  operationsOf,
  type Parameter,
  resolvedParameter,
} from "../../functions/discovery/document.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { everything } from "../support/everything.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { schemathesis } from "../support/schemathesis.ts";
import { createToken, scope } from "../support/tokens.ts";

const MOST_FILTERS = 20;

/**
 * Parameters that are left out. A cursor belongs to one list. `fields` changes what responses contain. workerd does not
 * pass on an empty `If-Match`, so it looks as if it was not sent.
 */
const LEFT_OUT: readonly string[] = ["cursor", "fields", "If-Match"];

/** Statuses that valid requests can get, because the state of the platform decides about them. */
const CONFIG = `
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 410, 412, 413, 422, 429]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429]
`;

let platform: TestPlatform;
let token: string;
/** Ids of entries by the address of their collection. */
const known: Record<string, string[]> = {};

/** Removes what a tool cannot know from the description, as docs/reference/discovery.md lists it. */
function testable(document: ApiDocument): ApiDocument {
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
    const id = operation.parameters.find((each) => "name" in each && each.name === "id");
    if (ids !== undefined && id !== undefined) Reflect.set(id, "schema", { type: "string", enum: ids });
    const sort = operation.parameters.find((each) => "name" in each && each.name === "sort");
    const { items } = (Reflect.get(Object(sort), "schema") ?? {}) as { items?: { enum: string[] } };
    if (items !== undefined) items.enum = items.enum.filter((name) => !name.startsWith("-"));
  }
  // The cursor of the handler transactions.list.
  for (const schema of Object.values(document.components.schemas)) {
    if (schema.properties !== undefined) Reflect.deleteProperty(Object(schema.properties), "cursor");
  }
  return document;
}

beforeAll(async () => {
  platform = await sharedPlatform();
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
  // Several of each, because requests delete them.
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

test("every response to entries and built-in handlers is as described, and only valid requests are accepted", async () => {
  const document = (await call(platform, "GET", "/api/openapi?orb=everything")).body as ApiDocument;
  const { code, output } = await schemathesis({
    origin: platform.origin,
    document: testable(document),
    token,
    config: CONFIG,
    args: [
      "--include-path-regex=^/api/everything/(library|desks|record|list|get|set|evaluate)",
      "--phases=fuzzing",
      `--max-examples=${process.env.TEST_EXAMPLES ?? "8"}`,
      `--seed=${process.env.TEST_SEED ?? "1"}`,
      "--continue-on-failure",
      "--generation-database=none",
      "--no-shrink",
      "--suppress-health-check=all",
      "--no-color",
    ],
  });
  expect(code, output).toBe(0);
}, 600_000);
