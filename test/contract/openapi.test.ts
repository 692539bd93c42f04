/**
 * Tests the running platform against its own OpenAPI document. Requests are generated from it (json-schema-faker, and
 * its examples) and sent with every role. openapi-response-validator checks each response: every status, media type and
 * body must be described, and no 5xx may occur.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { generateSync, type JsonSchema } from "json-schema-faker";
import type validatorModule from "openapi-response-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ApiDocument,
  type Operation,
  operationsOf,
  type Parameter,
} from "../../functions/discovery/document.ts";
import { EXPOSED_HEADERS } from "../../functions/middleware/headers.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { seededRandom } from "../support/random.ts";

const shop = JSON.parse(readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"));

/** Operations that would break the other requests. Only the caller without credentials sends them. */
const FINAL = /\/signout$|^\/api\/_auth\/admins\/|\/import$/;
/** Requests of each caller to each operation. TEST_EXAMPLES sends more. */
const ROUNDS = Number(process.env.TEST_EXAMPLES ?? 1);
/** The operator sends as many times more, because only it succeeds everywhere. */
const OPERATOR = 3;

type Node = Record<string, unknown>;

// A CommonJS module whose types declare an ES module.
const { default: ResponseValidator } = createRequire(import.meta.url)(
  "openapi-response-validator",
) as typeof validatorModule;

let platform: TestPlatform;
let document: ApiDocument;
let callers: Map<string, string | undefined>;
let known: Record<string, string[]>;
const { next, pick } = seededRandom(7);

/** Inlines references as far as generated values need them, and converts the schema to JSON Schema. */
function inlined(schema: unknown, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => inlined(item, depth));
  const { $ref, nullable: _, example: __, ...rest } = schema as Node;
  if (typeof $ref === "string") {
    const name = $ref.split("/").at(-1) ?? "";
    return depth > 6 ? {} : inlined(document.components.schemas[name], depth + 1);
  }
  const out = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, inlined(value, depth + 1)]),
  );
  if (typeof out.maxLength === "number")
    out.maxLength = Math.min(out.maxLength, 40 + Number(out.minLength ?? 0));
  if (typeof out.maxItems === "number") out.maxItems = Math.min(out.maxItems, 3);
  return out;
}

function madeUp(schema: unknown): unknown {
  return generateSync(inlined(schema) as JsonSchema, {
    seed: Math.floor(next() * 1e9),
    optionalsProbability: 0.5,
  });
}

function shared<T>(part: T | { $ref: string }): T {
  const ref = Reflect.get(Object(part), "$ref") as string | undefined;
  if (ref === undefined) return part as T;
  const [, , group = "", name = ""] = ref.split("/");
  return (Reflect.get(document.components, group) as Record<string, T>)[name] as T;
}

const NONSENSE = ["", "*", "a.b", "%00", "🙂", "../..", "0", "null", "x".repeat(300)];

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

/** `plain`: without optional parts; `full`: as described; `wild`: invalid. */
type Manner = "plain" | "full" | "wild";
const MANNERS: readonly Manner[] = ["plain", "full", "wild"];

/** Builds one request for an operation. */
function requestFor(path: string, method: string, operation: Operation, manner: Manner): Sent {
  const wild = manner === "wild";
  const headers: Record<string, string> = {};
  const query = new URLSearchParams();
  let real = path;
  for (const each of operation.parameters ?? []) {
    const parameter = shared<Parameter>(each);
    const { name, schema } = parameter;
    const value = (): string => {
      if (wild && next() < 0.4) return pick(NONSENSE);
      const spare = method !== "get" && name === "orbId" && !path.includes("/entries") ? "spare" : name;
      const own = name === "id" ? known[path.split("/{")[0] ?? ""] : undefined;
      const names = parameter.in === "path" ? (own ?? known[spare]) : undefined;
      if (names !== undefined && next() < 0.9) return pick(names);
      const made = madeUp(schema);
      if (Array.isArray(made)) return made.join(",");
      return typeof made === "string" ? made : JSON.stringify(made);
    };
    const isFilter = name.startsWith("filter[");

    if (parameter.in === "path") real = real.replace(`{${name}}`, encodeURIComponent(value()) || "x");
    else if (parameter.required !== true && (manner === "plain" || next() < (isFilter ? 0.95 : 0.6)))
      continue;
    else if (parameter.in === "header") {
      const text = value().replace(/[^\x20-\x7e]/g, "");
      headers[name] = name.startsWith("If-") && !wild ? '"1"' : text;
    } else query.append(name, value());
  }
  if (wild && next() < 0.2)
    query.append(`filter[${pick(["title", "nothing", "createdAt"])}][${pick(["eq", "gt", "no"])}]`, "x");
  if (wild && next() < 0.1) query.append("unknown", "1");
  // Without an offset, the response would never end.
  if (path === "/api/streams/{name}") query.set("offset", "-1");
  query.delete("live");
  const content = Reflect.get(Object(operation.requestBody), "content") as Record<string, Node> | undefined;
  const type = content === undefined ? undefined : Object.keys(content)[0];
  let body: string | undefined;
  if (type !== undefined && content?.[type] !== undefined) {
    const { schema, example } = content[type];
    headers["content-type"] = wild && next() < 0.1 ? "text/plain" : type;
    const made = example !== undefined && (manner === "plain" || next() < 0.5) ? example : madeUp(schema);
    body = JSON.stringify(made);
    if (wild)
      body = pick([body, "{", "[]", "null", '"x"', '{"values":{"title":7}}', body.replace(/"/g, "'")]);
  }
  const search = query.toString();
  return { method: method.toUpperCase(), path: real + (search === "" ? "" : `?${search}`), headers, body };
}

/** Cached by schema: most refusals have the same one, and building a validator is expensive. */
const validators = new Map<string, InstanceType<typeof ResponseValidator>>();

/** Returns the named schemas that a schema refers to, directly and indirectly. */
function referred(schema: unknown, found: Record<string, unknown> = {}): Record<string, unknown> {
  for (const [, name = ""] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (name in found) continue;
    found[name] = document.components.schemas[name];
    referred(found[name], found);
  }
  return found;
}

/** Headers that clients of other origins can read, except those of every response, which are documented once. */
const RELIED_ON = EXPOSED_HEADERS.toLowerCase()
  .split(", ")
  .filter((name) => name !== "x-request-id" && name !== "traceparent");

interface Described {
  headers?: Node;
  content?: Record<string, { schema: Node }>;
}

/** Returns what is wrong with a response, or undefined if it is as described. */
async function judged(operation: Operation, answer: Response, partial: boolean): Promise<string | undefined> {
  const status = String(answer.status);
  const text = await answer.text();
  const described = operation.responses[status];
  if (described === undefined) return `status ${status} is not described: ${text.slice(0, 200)}`;
  if (answer.status >= 500) return `${status}: ${text.slice(0, 200)}`;
  const { content, headers = {} } = shared<Described>(described as Described);
  const told = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const untold = RELIED_ON.filter((name) => answer.headers.has(name) && !told.has(name));
  // Pages for browsers and 304 responses are exempt.
  const isRead = answer.status !== 304 && !/^text\/html\b/.test(answer.headers.get("content-type") ?? "");
  if (isRead && untold.length > 0) return `${status} has ${untold.join(", ")}, which is not described`;
  if (content === undefined) return text === "" ? undefined : `${status} has a body: ${text.slice(0, 100)}`;
  const type = (answer.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const schema = content[type]?.schema;
  if (schema === undefined) return `${status} is ${type}, not ${Object.keys(content).join(" or ")}`;
  if (!/json$/.test(type)) return undefined;
  const key = JSON.stringify([schema, partial]);
  let validator = validators.get(key);
  if (validator === undefined) {
    const parts = structuredClone({
      responses: { default: { schema } },
      components: { schemas: referred(schema) },
    });
    // OpenAPI cannot express that `fields` leaves values out, and that `fallback=none` answers null for missing ones.
    for (const [name, part] of Object.entries(parts.components.schemas)) {
      if (!partial || !name.endsWith(".Values")) continue;
      Reflect.deleteProperty(Object(part), "required");
      const { properties = {} } = part as { properties?: Record<string, unknown> };
      for (const [field, value] of Object.entries(properties))
        properties[field] = { anyOf: [value, { type: "string", nullable: true, enum: [null] }] };
    }
    validator = new ResponseValidator(parts as unknown as ConstructorParameters<typeof ResponseValidator>[0]);
    validators.set(key, validator);
  }
  // JSON lines of several kinds are described as text.
  if (schema.type === "string") return undefined;
  const values = type.endsWith("ndjson") ? text.split("\n").filter((line) => line !== "") : [text];
  for (const value of values) {
    const faults = validator.validateResponse(status, JSON.parse(value));
    if (faults !== undefined)
      return `${status}: ${JSON.stringify(faults.errors).slice(0, 400)} in ${value.slice(0, 300)}`;
  }
  return undefined;
}

afterAll(() => platform?.stop());
beforeAll(async () => {
  platform = await startPlatform({ link: true });
  const token = await adminToken(platform);
  const post = async (path: string, body: unknown) => {
    const answer = await call(platform, "POST", path, { token, body });
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  };
  await post("/api/admin/orbs?publish=true", shop);
  for (const id of ["draft", "spare"]) await post("/api/admin/orbs", { ...shop, id });
  const make = (path: string, values: unknown) => post(`/api/shop/${path}?publish=true`, { values });
  const category = await make("catalog/category", { title: { en: "Chairs" }, slug: "chairs" });
  const values = { title: { en: "Chair" }, sku: "AB-1234", price: { US: 1 }, category: category.id };
  const product = await make("catalog/product", values);
  const article = await make("news", { headline: { en: "News" } });
  document = await describedWhole(platform);
  callers = new Map([
    ["anonymous", undefined],
    ["user", (await user(platform, "shop", "user")).token],
    ["operator", token],
  ]);
  const ids = [category.id, product.id, article.id];
  known = {
    service: ["access", "rules"],
    kind: ["messages", "modules"],
    orbId: ["shop", "draft"],
    spare: ["draft", "spare"],
    id: ids,
    "/api/shop/catalog/category": [category.id],
    "/api/shop/catalog/product": [product.id],
    "/api/shop/news": [article.id],
    entryId: ids,
    name: ["heartbeat", "wallet"],
    revision: ["1"],
  };
});

test("the examples of new entries can be sent unchanged", async () => {
  const token = callers.get("operator");
  let tried = 0;
  for (const { path, method, operation } of operationsOf(document.paths)) {
    if (method !== "post" || !operation.operationId.startsWith("createEntryOf")) continue;
    const body = Reflect.get(Object(operation.requestBody), "content") as Record<string, Node>;
    const example = body["application/json"]?.example;
    if (example === undefined) continue;
    tried++;
    const answer = await call(platform, "POST", path, { token: token ?? "", body: example });
    expect([path, answer.status, answer.body]).toEqual([path, 201, expect.anything()]);
  }
  expect(tried).toBeGreaterThan(0);
});

test("every operation responds as described to any request from any role", async () => {
  const faults: string[] = [];
  const answered = new Set<string>();
  // Hide entries late and delete them last.
  const rank = ({ path, method }: { path: string; method: string }) =>
    method === "delete" ? 2 : /\/(unpublish|archive|restore)$/.test(path) ? 1 : 0;
  const all = operationsOf(document.paths).sort((a, b) => rank(a) - rank(b));
  for (const { path, method, operation } of all) {
    for (const [caller, token] of callers) {
      if (caller !== "anonymous" && FINAL.test(path)) continue;
      const operator = caller === "operator";
      for (let round = 0; round < (operator ? OPERATOR * ROUNDS : ROUNDS); round++) {
        const manner = operator ? (MANNERS[round % MANNERS.length] ?? "plain") : pick(MANNERS);
        const sent = requestFor(path, method, operation, manner);
        const answer = await fetch(platform.origin + sent.path, {
          method: sent.method,
          headers: {
            "accept-encoding": "identity",
            ...sent.headers,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          ...(sent.body === undefined ? {} : { body: sent.body }),
          redirect: "manual",
        });
        answered.add(`${operation.operationId} ${Math.floor(answer.status / 100)}`);
        const fault = await judged(operation, answer, /[?&](fields|fallback)=/.test(sent.path));
        if (fault !== undefined)
          faults.push(`${caller}: ${sent.method} ${sent.path} ${sent.body?.slice(0, 200) ?? ""} → ${fault}`);
      }
    }
  }
  expect(faults).toEqual([]);
  // A test in which every request is refused would prove little. Random requests reach about four of ten operations.
  const reached = all.filter(({ operation }) => answered.has(`${operation.operationId} 2`));
  expect(reached.length).toBeGreaterThan(all.length / 4);
}, 180_000);
