/** Opens adapters of live systems against a server whose answers harm. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandError } from "../../scripts/cli/command/context.ts";
import type { Source, SourceOptions } from "../../scripts/cli/migrate/model/source.ts";
import { openDirectus } from "../../scripts/cli/migrate/systems/directus/directus.ts";
import { openPocketbase } from "../../scripts/cli/migrate/systems/pocketbase.ts";
import { openStrapi } from "../../scripts/cli/migrate/systems/strapi/strapi.ts";

const OPENERS: Readonly<Record<string, (options: SourceOptions) => Promise<Source>>> = {
  directus: openDirectus,
  pocketbase: openPocketbase,
  strapi: openStrapi,
};

let answer: unknown;
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
});
let url = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const names = ["__proto__", "constructor", "../x", "", "a", "\u001b[2J"];
/** Objects with members that all systems have, whose values are of every type. */
const items = [null, 1, "text", [], {}, true].flatMap((value) =>
  names.map((name) => ({
    ...{
      id: name,
      uid: name,
      apiID: name,
      collection: name,
      field: name,
      name,
      type: value,
      meta: value,
      schema: value,
    },
    ...{
      related_collection: name,
      special: value,
      options: value,
      attributes: { [name]: value },
      info: value,
    },
    ...{ item: value, key: value, fields: [value], data: value, code: name, relation: value, system: value },
  })),
);
const ANSWERS: Readonly<Record<string, unknown>> = {
  nothing: null,
  "a number": 1,
  "a list of lists": [[[]]],
  "members of other types": { data: 1, items: "x", results: {}, totalPages: "y" },
  "lists of other types": { data: [1, null, "x", [[]]], items: [1, null], docs: [null], results: [1] },
  "names of the prototype, and values of every type": {
    ...{ data: items, items, results: items, docs: items, totalPages: 1, collections: { ...items } },
  },
  "an object instead of a list": {
    data: { contentTypes: items, components: items, ...items[0] },
    results: items,
  },
};

test.each(
  Object.entries(OPENERS).flatMap(([system, open]) =>
    Object.keys(ANSWERS).map((what) => [system, what, open] as const),
  ),
)("%s: an answer with %s is an error with a text, or a source", async (_, what, open) => {
  answer = ANSWERS[what];
  const source = await open({ source: url, env: { SOURCE_TOKEN: "secret" } }).catch(
    (error: unknown) => error,
  );
  if (source instanceof Error) {
    expect(source).toBeInstanceOf(CommandError);
    expect(source.message).not.toContain("secret");
    return;
  }
  const { document, entries } = source as Source;
  for (const { id } of document.schemas.slice(0, 5)) {
    let count = 0;
    for await (const entry of entries(id)) {
      expect(typeof entry.id).toBe("string");
      if (++count > 100) break;
    }
  }
  expect(Object.prototype).not.toHaveProperty("a");
});

/** A full page of rows, and a description with one collection that has them. */
const rows = Array.from({ length: 200 }, (_, at) => ({ id: at, documentId: `d${at}` }));
const field = { collection: "a", field: "x", type: "string" };
const collection = { ...{ collection: "a", schema: {}, id: "a", name: "a", type: "base" }, fields: [] };
const type = { uid: "api::a.a", schema: { singularName: "a", pluralName: "as", attributes: {} } };

test.each([
  ["directus", { data: [...rows.slice(0, 99), { ...field, ...collection, id: "x" }] }],
  ["pocketbase", { items: [...rows.slice(0, 199), collection], totalPages: 1 }],
  ["strapi", { data: [...rows.slice(0, 99), type] }],
] as const)("%s: the same page again and again ends", async (system, same) => {
  answer = same;
  const source = await OPENERS[system]?.({ source: url, env: { SOURCE_TOKEN: "secret" } });
  const schema = source?.document.schemas.find(({ id }) => id === "a")?.id ?? "";
  const read = async () => {
    let count = 0;
    for await (const _ of source?.entries(schema) ?? []) if (++count > 1_000) return "it does not end";
    return "it ends";
  };
  await expect(read()).rejects.toThrow("sent the same page twice");
});
