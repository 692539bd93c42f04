/** The rules by which a message of an orb's stream is delivered, without a broker. */
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import { MASK } from "../../shared/definition/document/text.ts";
import type { StoredMessage } from "../../shared/store/types.ts";
import { copyState, type HeadState, project, publicMessage } from "../../shared/streams/read/projection.ts";

const definition = compileOrb(
  checkDocument({
    id: "shop",
    languages: ["en", "de"],
    markets: ["US"],
    modules: [
      {
        id: "catalog",
        type: "CONTENT",
        schemas: [
          {
            id: "product",
            fields: [
              { name: "title", type: "string" },
              { name: "note", type: "string", sensitive: true, translatable: true, marketSpecific: true },
              { name: "keys", type: "json", sensitive: true },
            ],
          },
          { id: "secret", access: { read: "user" }, fields: [{ name: "title", type: "string" }] },
        ],
      },
    ],
  }).document,
);

function stored(subject: string, body: unknown): StoredMessage {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const data = new TextEncoder().encode(text);
  const message = { subject, seq: 7, time: 0, data, size: data.length, header: () => undefined };
  return { ...message, text: () => text, json: () => JSON.parse(text) };
}

const copy = (more: object = {}) => ({ v: 1, id: "a", revision: 3, values: { title: "Lamp" }, ...more });
const head = (more: Partial<HeadState> = {}): HeadState => ({
  status: "PUBLISHED",
  revision: 3,
  publishedRevision: 3,
  liveTo: null,
  ...more,
});
const NOW = Date.UTC(2026, 0, 1);

/** Returns the delivered form of a message, or undefined if it is withheld. */
function shown(body: object, of: HeadState | undefined = head(), schema = "product") {
  const read = publicMessage("shop", stored(`shop.content.public.${schema}.a`, body));
  return read === undefined ? undefined : project(read, definition, of, NOW);
}

test.each([
  "shop.content.owner.product.a",
  "shop.content.user.product.a",
  "shop.content.admin.product.a",
  "shop._ix.content.product.a",
  "shop._at.public.3.open",
  "shop.other.public.product.a",
  "shop.content.public.product",
  "shop.content.public.product.a.b",
  "shop.content.public.product.b",
  "other.content.public.product.a",
  "shop.content.public.ü.a",
])("withholds a live copy on %s", (subject) => {
  expect(publicMessage("shop", stored(subject, copy()))).toBeUndefined();
});

test.each(["", "text", "[]", "null", '{"id":"a"}', '{"id":"a","revision":"3","values":{}}'])(
  "withholds a body of %j",
  (body) => {
    expect(publicMessage("shop", stored("shop.content.public.product.a", body))).toBeUndefined();
  },
);

describe("a live copy", () => {
  test("is delivered with the fields of the definition only", () => {
    const event = shown(copy({ module: "old", values: { title: "Lamp", salary: 1 }, $more: 1 }))?.event;
    expect(event).toMatchObject({ id: "a", module: "catalog", schema: "product", values: { title: "Lamp" } });
    expect(JSON.stringify(event)).not.toMatch(/salary|more/);
  });

  test("has every sensitive value masked, including in maps by market and language", () => {
    const values = { note: { US: { en: "open", de: null } }, keys: { pin: 1 } };
    expect(shown(copy({ values }))?.event).toMatchObject({
      values: { note: { US: { en: MASK, de: null } }, keys: MASK },
    });
    expect(shown(copy({ values: { note: "open", keys: null } }))?.event).toMatchObject({
      values: { note: MASK, keys: null },
    });
  });

  test("names the change set that published or withdrew the entry", () => {
    expect(shown(copy({ change: "c1" }))?.event).toMatchObject({ id: "a", change: "c1" });
    expect(shown(copy())?.event).not.toHaveProperty("change");
    const gone = { v: 1, id: "a", revision: 4, tombstone: true, at: "2026-01-01T00:00:00.000Z" };
    expect(shown({ ...gone, change: "c2" })?.event).toMatchObject({ tombstone: true, change: "c2" });
    expect(shown(gone)?.event).not.toHaveProperty("change");
  });

  test.each([
    ["of a schema that the public cannot read", "secret"],
    ["of a removed schema", "gone"],
  ])("%s is withheld", (_, schema) => {
    expect(shown(copy(), head(), schema)).toBeUndefined();
  });

  test.each<[string, HeadState | undefined, string]>([
    ["published", head(), "live"],
    ["published, with a draft beside it", head({ revision: 5 }), "live"],
    ["published again", head({ revision: 4, publishedRevision: 4 }), "withdrawn"],
    ["unpublished", head({ status: "UNPUBLISHED", revision: 4, publishedRevision: null }), "withdrawn"],
    ["deleted", head({ status: "DELETED", revision: 4, publishedRevision: null }), "withdrawn"],
    ["older than the copy", head({ revision: 2, publishedRevision: 2 }), "unread"],
    ["missing", undefined, "unread"],
  ])("whose head is %s", (_, of, state) => {
    expect(copyState(copy() as unknown as Parameters<typeof copyState>[0], of)).toBe(state);
    const read = publicMessage("shop", stored("shop.content.public.product.a", copy()));
    const one = read === undefined ? undefined : project(read, definition, of, NOW);
    expect(one !== undefined).toBe(state === "live");
  });

  test("is delivered until its window closes, to the millisecond", () => {
    const closing = (at: number) => head({ liveTo: new Date(at).toISOString() });
    expect(shown(copy(), closing(NOW + 1))?.until).toBe(NOW + 1);
    expect(shown(copy(), closing(NOW))).toBeUndefined();
    expect(shown(copy())?.until).toBeUndefined();
  });
});

test("a tombstone is delivered without values, even for a removed schema", () => {
  const gone = {
    v: 1,
    id: "a",
    orb: "shop",
    module: "catalog",
    schema: "gone",
    tombstone: true,
    revision: 4,
    at: "t",
  };
  expect(shown({ ...gone, values: { title: "Lamp" } }, undefined, "gone")?.event).toEqual(gone);
});
