/** What the command `orb migrate-from directus` makes of settings that a Directus without a licence cannot have. */
import { expect, test } from "vitest";
import { Names } from "../../scripts/cli/migrate/model/names.ts";
import type { Loss } from "../../scripts/cli/migrate/model/source.ts";
import { accessTo, directusRoles } from "../../scripts/cli/migrate/systems/directus/access.ts";
import { htmlOfBlocks } from "../../scripts/cli/migrate/systems/directus/editor-js.ts";
import { valueField } from "../../scripts/cli/migrate/systems/directus/fields.ts";
import { Relations } from "../../scripts/cli/migrate/systems/directus/relations.ts";
import { statesOf } from "../../scripts/cli/migrate/systems/directus/states.ts";

const choices = (...values: string[]) => ({
  meta: { options: { choices: values.map((value) => ({ value })) } },
});
const STATUS = { field: "status", type: "string", ...choices("published", "draft", "archived") };

const permission = (permissions: unknown, fields: unknown = ["*"]) => ({
  ...{ collection: "posts", action: "read", permissions, fields },
});
const isPublished = { status: { _eq: "published" } };

test.each([
  ["nothing", [], undefined],
  ["everything", [permission(null)], "public"],
  ["everything, with an empty filter", [permission({})], "public"],
  ["what is published", [permission(isPublished)], "public"],
  ["what is published, in a list of conditions", [permission({ _and: [isPublished] })], "public"],
  ["some fields", [permission({}, ["title"])], "admin"],
  ["what has another value", [permission({ kind: { _eq: "a" } })], "admin"],
  ["what is published and has another value", [permission({ _and: [isPublished, { kind: {} }] })], "admin"],
  ["what meets a condition beside a list", [permission({ _and: [isPublished], author: {} })], "admin"],
  [
    "what has another condition on the state",
    [permission({ status: { ...isPublished.status, _in: [] } })],
    "admin",
  ],
  ["another collection", [{ ...permission({}), collection: "pages" }], undefined],
] as const)("everyone may read %s: %j becomes %s", (_, permissions, expected) => {
  const losses: Loss[] = [];
  const states = statesOf({ collection: "posts" }, [STATUS], losses);
  const everyone = { name: "everyone", caller: "public", permissions };
  expect(accessTo("posts", [everyone], states, losses)?.read).toBe(expected);
  expect(losses.length).toBe(expected === "admin" ? 1 : 0);
});

test("roles have the permissions of their policies, and of those of the roles that contain them", () => {
  const roles = [
    { id: "staff", name: "Staff", parent: null },
    { id: "writers", name: "Writers", parent: "staff" },
    { id: "loop", name: "Loop", parent: "loop" },
    { id: "boss", name: "Boss", parent: null },
  ];
  const access = [
    { role: "staff", policy: "reading" },
    { role: "writers", policy: "writing" },
    { role: "boss", policy: "all" },
    { role: null, user: "ann", policy: "all" },
  ];
  const policies = [{ id: "reading" }, { id: "writing" }, { id: "all", admin_access: true }];
  const rights = [
    { ...permission({}), policy: "reading" },
    { ...permission({}), policy: "writing", action: "update" },
    { ...permission({}), policy: "all" },
  ];
  const found = directusRoles(roles, access, policies, rights);
  expect(
    found.map(({ id, isAdmin, permissions }) => [id, isAdmin, permissions.map((one) => one.action)]),
  ).toEqual([
    ["staff", false, ["read"]],
    ["writers", false, ["read", "update"]],
    ["loop", false, []],
    ["boss", true, ["read"]],
  ]);
});

test("a role may do with a collection what its permissions allow as a whole, and the rest is told", () => {
  const losses: Loss[] = [];
  const holder = (caller: string, permissions: object[]) => ({
    ...{ name: caller, caller },
    permissions: permissions.map((one) => ({ ...permission({}), ...one })),
  });
  const writers = holder("writers", [
    {},
    { action: "create" },
    { action: "update" },
    { action: "delete", fields: null },
  ]);
  const guests = holder("guests", [{ permissions: { user: { _eq: "$CURRENT_USER" } } }]);
  expect(accessTo("posts", [writers, guests], undefined, losses)).toEqual({
    ...{
      read: ["writers"],
      create: ["writers"],
      update: ["writers"],
      publish: ["writers"],
      delete: ["writers"],
    },
  });
  expect(losses.map(({ at, became }) => [at, became])).toEqual([
    ["collection posts, read for guests", "guests may not"],
  ]);
  // Rules for what may be written, and writes without an account, have no counterpart.
  const careful = holder("writers", [{ action: "update", validation: { title: { _nnull: true } } }]);
  const open = holder("public", [{}, { action: "create" }]);
  expect(accessTo("posts", [careful, open], undefined, losses)).toEqual({ read: "public" });
  expect(losses.slice(1).map(({ at, became }) => [at, became])).toEqual([
    ["collection posts, update for writers", "writers may not"],
    ["collection posts, create for public", "only accounts may"],
  ]);
  // A part of the items for a role does not become open as a whole, whatever readers the command is given.
  expect(accessTo("posts", [guests], undefined, [])).toEqual({ read: "admin" });
  // A part of the items for everyone, and all of them for a role.
  const part = holder("public", [{ fields: ["title"] }]);
  expect(accessTo("posts", [part, writers], undefined, [])?.read).toEqual(["writers"]);
});

test("states come of the usual field, of the archive field, or of none", () => {
  const losses: Loss[] = [];
  const usual = statesOf({ collection: "posts" }, [STATUS], losses);
  expect(["published", "draft", "archived", "x", null].map((value) => usual?.of(value))).toEqual([
    ...["PUBLISHED", "SAVED", "ARCHIVED", "SAVED", "SAVED"],
  ]);
  expect([usual?.isKept, losses]).toEqual([false, []]);
  const more = { ...STATUS, ...choices("published", "review") };
  expect(statesOf({ collection: "posts" }, [more], losses)?.isKept).toBe(true);
  expect(losses[0]?.why).toBe("there are no states review");
  const hidden = { field: "hidden", type: "boolean" };
  const meta = { archive_field: "hidden", archive_value: "true" };
  const flag = statesOf({ meta }, [hidden, STATUS], losses);
  expect([flag?.field, flag?.of(true), flag?.of(false)]).toEqual(["hidden", "ARCHIVED", "PUBLISHED"]);
  expect(statesOf({}, [{ ...STATUS, ...choices("open", "closed") }], losses)).toBeUndefined();
});

test.each([
  [{ type: "geometry.Point" }, { type: "point" }],
  [{ type: "geometry.Polygon" }, { type: "json" }],
  [
    { type: "decimal", schema: { numeric_scale: 3 } },
    { type: "decimal", scale: 3 },
  ],
  [{ type: "bigInteger" }, { type: "decimal", scale: 0 }],
  [{ type: "string", schema: { max_length: 255 } }, { type: "string" }],
  [
    { type: "string", schema: { max_length: 40, is_unique: true } },
    { type: "string", max: 40, unique: true },
  ],
  [
    { type: "boolean", schema: { default_value: 1 } },
    { type: "boolean", default: true },
  ],
  [
    { type: "integer", meta: { validation: { _and: [{ x: { _gte: 1, _lte: 5 } }] } } },
    { type: "integer", min: 1, max: 5 },
  ],
  [
    { type: "json", meta: { interface: "select-multiple-checkbox", ...choices("a").meta } },
    { type: "string", list: true, enum: ["a"] },
  ],
  [
    { type: "string", meta: { interface: "select-dropdown", options: { allowOther: true } } },
    { type: "string" },
  ],
])("a field %j becomes %j", (source, expected) => {
  const losses: Loss[] = [];
  const names = new Names("field", "", losses);
  const { definition } = valueField({ field: "x", ...source }, "x", names, losses);
  expect(definition).toEqual({ name: "x", ...expected });
});

test("what has no counterpart is told", () => {
  const losses: Loss[] = [];
  const names = new Names("field", "", losses);
  const tell = (source: object) => valueField({ field: "x", ...source }, "x", names, losses);
  tell({ type: "unknown" });
  tell({ type: "text", schema: { is_unique: true } });
  tell({ type: "timestamp", schema: { default_value: "CURRENT_TIMESTAMP" } });
  tell({ type: "string", meta: { validation: { x: { _ncontains: "y" } } } });
  expect(losses.map(({ why }) => why)).toEqual([
    "there is no type unknown",
    "values of this type cannot be unique",
    'there is no counterpart of the default "CURRENT_TIMESTAMP"',
    'there is no counterpart of {"x":{"_ncontains":"y"}}',
  ]);
});

test("blocks of Editor.js become HTML, and unknown ones code", () => {
  const told: string[] = [];
  const blocks = [
    { type: "paragraph", data: { text: "a <i>b</i>" } },
    { type: "list", data: { style: "unordered", items: ["x", { content: "y", items: [{ content: "z" }] }] } },
    { type: "table", data: { withHeadings: true, content: [["h"], ["c"]] } },
    { type: "code", data: { code: "<b>" } },
    { type: "image", data: { file: { url: '/assets/"x' }, caption: "c" } },
    { type: "poll", data: {} },
  ];
  expect(htmlOfBlocks({ blocks }, ({ why }) => told.push(why)).split("\n")).toEqual([
    "<p>a <i>b</i></p>",
    "<ul><li>x</li><li>y<ul><li>z</li></ul></li></ul>",
    "<table><tbody><tr><th>h</th></tr><tr><td>c</td></tr></tbody></table>",
    "<pre><code>&lt;b&gt;</code></pre>",
    '<img src="/assets/&quot;x" alt="c">',
    "<pre><code>{&quot;type&quot;:&quot;poll&quot;,&quot;data&quot;:{}}</code></pre>",
  ]);
  expect(told).toEqual(["rich text has no block for poll"]);
});

test("a field that refers to one of several collections names the field of the collection", () => {
  const meta = { one_collection_field: "kind", one_allowed_collections: ["a", "b"] };
  const relations = new Relations([{ collection: "links", field: "item", related_collection: null, meta }]);
  expect(relations.wayOf("links", "item", [])).toEqual({
    ...{ kind: "any", collectionField: "kind", targets: ["a", "b"] },
  });
  expect(relations.wayOf("links", "other", [])).toBeUndefined();
});
