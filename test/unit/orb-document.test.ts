import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/check.ts";
import { type Bag, faults, faultsOf, withFields } from "../support/documents.ts";

const at = "/modules/0/schemas/0/fields/0";
/** Returns the errors of one field, relative to it. */
const field = (definition: Bag, more: Bag = {}, module: Bag = {}): string[] =>
  faults(withFields([{ name: "x", ...definition }], more, module)).map((line) => line.replace(at, ""));

test("accepts the example shop unchanged", () => {
  const shop: unknown = JSON.parse(
    readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
  );
  expect(checkDocument(shop).document).toEqual(shop);
});

test("adds defaults to a minimal document", () => {
  expect(checkDocument({ id: "ab" }).document).toEqual({
    id: "ab",
    languages: ["en"],
    markets: [],
    uses: [],
    modules: [],
  });
});

test.each([
  ["shop", ""],
  ["a1", ""],
  ["a-", ""],
  [`a${"b".repeat(62)}`, ""],
  ["a", "format"],
  [`a${"b".repeat(63)}`, "format"],
  ["Shop", "format"],
  ["1shop", "format"],
  ["sh.op", "format"],
  ["shop>", "format"],
  ["*", "format"],
  ["", "format"],
  ["søp", "format"],
  ["my_shop", ""],
  ["shop\n", "format"],
  ["admin", "reserved"],
  ["openapi", "reserved"],
  ["discovery", "reserved"],
  ["health", "reserved"],
  ["metrics", "reserved"],
  ["auth", "reserved"],
  ["streams", "reserved"],
  ["platform", "reserved"],
  ["svc", "reserved"],
  ["wallet", "reserved"],
  ["heartbeat", "reserved"],
])("orb id %j reports %j", (id, code) => {
  expect(faults({ id })).toEqual(code === "" ? [] : [`/id ${code}`]);
});

test("refuses an orb id with a leading underscore as reserved and malformed", () => {
  expect(faults({ id: "_auth" })).toEqual(["/id format", "/id reserved"]);
});

test.each([[null], [[]], ["x"], [1], [undefined]])("refuses %j as a document", (input) => {
  expect(faults(input)).toEqual([" type"]);
});

test("refuses unknown properties at every level", () => {
  const document = {
    id: "shop",
    version: 1,
    session: { ttl: 60, x: 1 },
    uses: [{ service: "access", handlers: ["passkey"], a: 1 }],
    modules: [
      {
        id: "m",
        type: "CONTENT",
        y: 1,
        schemas: [
          { id: "s", z: 1, access: { list: "x" }, fields: [{ name: "f", type: "string", "a/b": 1 }] },
        ],
      },
    ],
  };
  expect(faults(document).sort()).toEqual(
    [
      "/version unknown_property",
      "/session/x unknown_property",
      "/uses/0/a unknown_property",
      "/modules/0/y unknown_property",
      "/modules/0/schemas/0/z unknown_property",
      "/modules/0/schemas/0/access/list unknown_property",
      "/modules/0/schemas/0/fields/0/a~1b unknown_property",
    ].sort(),
  );
});

test("refuses __proto__ and constructor as unknown properties, and pollutes no prototype", () => {
  const text = `{"id":"shop","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},
    "modules":[{"id":"m","type":"CONTENT","schemas":[],"__proto__":{"id":"other"}}]}`;
  expect(faults(JSON.parse(text)).sort()).toEqual(
    [
      "/__proto__ unknown_property",
      "/constructor unknown_property",
      "/modules/0/__proto__ unknown_property",
    ].sort(),
  );
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

test("reports structural errors and cross-checks together", () => {
  const document = {
    id: "Shop",
    languages: ["en", "en", "english language"],
    modules: [
      { id: "call", type: "CONTENT", schemas: [] },
      {
        id: "a",
        type: "NOPE",
        schemas: [{ id: "s", fields: [{ name: "x", type: "number", min: 2, max: 1 }, { name: "x" }] }],
      },
      { id: "a", type: "CONFIG" },
    ],
  };
  expect(faults(document).sort()).toEqual(
    [
      "/id format",
      "/languages/1 duplicate",
      "/languages/2 format",
      "/modules/0/id reserved",
      "/modules/1/type enum",
      "/modules/1/schemas/0/fields/0/min bounds",
      "/modules/1/schemas/0/fields/1/type required",
      "/modules/1/schemas/0/fields/1/name duplicate",
      "/modules/2/schemas required",
      "/modules/2/id duplicate",
    ].sort(),
  );
});

test("applies the text rules of entries to names and descriptions", () => {
  const flawed = { name: "a\u0000b", description: "\ud800" };
  const document = withFields(
    [{ name: "x", type: "string", label: "\udc00!", description: "\u0000" }],
    flawed,
  );
  expect(faults(document).sort()).toEqual([
    "/description text",
    `${at}/description text`,
    `${at}/label text`,
    "/name text",
  ]);
  expect(faultsOf(document).find(({ path }) => path === "/name")?.message).toBe(
    "must not contain a NUL character",
  );
  expect(faults({ id: "shop", name: "🙂 \t\n", description: "😀" })).toEqual([]);
});

describe("names", () => {
  const modules = (...list: Bag[]) => ({ id: "shop", modules: list });
  const module = (id: string, schemas: string[] = [], type = "CONTENT") => ({
    id,
    type,
    schemas: schemas.map((schema) => ({ id: schema, fields: [] })),
  });

  test("module ids are unique, and schema ids are unique among modules of one type", () => {
    expect(faults(modules(module("a", ["s"]), module("b", ["s"])))).toEqual([
      "/modules/1/schemas/0/id duplicate",
    ]);
    expect(faults(modules(module("a", ["s", "s"])))).toEqual(["/modules/0/schemas/1/id duplicate"]);
    expect(faults(modules(module("a", ["s"]), module("b", ["s"], "CONFIG")))).toEqual([]);
    expect(faults(modules(module("a"), module("a")))).toEqual(["/modules/1/id duplicate"]);
  });

  test.each(["call", "signin"])("a module cannot be named %s", (id) => {
    expect(faults(modules(module(id)))).toEqual(["/modules/0/id reserved"]);
  });

  test("a module cannot have the name of one of the orb's handlers", () => {
    const document = {
      ...modules(module("record")),
      uses: [{ service: "transactions", handlers: ["record"] }],
    };
    expect(faults(document)).toEqual(["/modules/0/id reserved"]);
  });

  test("a handler cannot have the name of an account route", () => {
    const own = { service: "own", handlers: ["signin", "me", "users", "signout", "passkeys", "bootstrap"] };
    expect(faults({ id: "shop", uses: [own] })).toEqual(["/uses/0/handlers/0 reserved"]);
    const access = { service: "access", handlers: ["passkey", "invitations"] };
    expect(faults({ id: "shop", uses: [access, own] })).toEqual(
      own.handlers.map((_, i) => `/uses/1/handlers/${i} reserved`),
    );
    expect(faults({ id: "shop", uses: [access, { service: "own", handlers: ["passkey"] }] })).toEqual([
      "/uses/1/handlers/0 reserved",
    ]);
  });

  test("a module cannot have the name of an account route", () => {
    const names = ["users", "me", "signout", "sessions", "recovery-codes", "passkeys", "bootstrap"];
    const all = { modules: names.map((id) => ({ id, type: "CONTENT", schemas: [] })) };
    expect(faults({ id: "shop", ...all })).toEqual([]);
    const access = { service: "access", handlers: ["passkey"] };
    expect(faults({ id: "shop", ...all, uses: [access] })).toEqual(
      names.map((_, i) => `/modules/${i}/id reserved`),
    );
  });

  test("a handler or a service cannot be listed twice", () => {
    const uses = [
      { service: "a", handlers: ["x", "y", "x"] },
      { service: "b", handlers: ["y"] },
      { service: "a", handlers: ["z"] },
    ];
    expect(faults({ id: "shop", uses }).sort()).toEqual(
      ["/uses/0/handlers/2 duplicate", "/uses/2/service duplicate"].sort(),
    );
  });

  test("handlers of two services can share a name, unless something hides their routes", () => {
    const shared = (...services: string[]) => services.map((service) => ({ service, handlers: ["list"] }));
    const news = (id: string) => [{ id, type: "CONTENT", schemas: [] }];
    expect(faults({ id: "shop", uses: shared("orders", "users"), modules: news("news") })).toEqual([]);
    expect(faults({ id: "shop", uses: shared("orders", "users"), modules: news("orders") })).toEqual([
      "/modules/0/id reserved",
    ]);
    expect(faults({ id: "shop", uses: shared("orders"), modules: news("orders") })).toEqual([]);
    expect(faults({ id: "shop", uses: shared("orders", "call", "signin") })).toEqual([
      "/uses/1/service reserved",
      "/uses/2/service reserved",
    ]);
    const access = { service: "access", handlers: ["passkey"] };
    expect(faults({ id: "shop", uses: [...shared("orders", "users"), access] })).toEqual([
      "/uses/1/service reserved",
    ]);
    expect(faults({ id: "shop", uses: [...shared("users"), access] })).toEqual([]);
  });

  test.each([
    ["id", "reserved"],
    ["revision", "reserved"],
    ["createdAt", "reserved"],
    ["createdBy", "reserved"],
    ["updatedAt", "reserved"],
    ["updatedBy", "reserved"],
    ["validFrom", "reserved"],
    ["validTo", "reserved"],
    ["constructor", "reserved"],
    ["prototype", "reserved"],
    ["toString", "reserved"],
    ["hasOwnProperty", "reserved"],
    ["status", ""],
    ["a_1", ""],
    ["1a", "format"],
    ["a-b", "format"],
    ["a.b", "format"],
    ["", "format"],
    ["a".repeat(64), "format"],
  ])("field name %j reports %j", (name, code) => {
    expect(faults(withFields([{ name, type: "string" }]))).toEqual(code === "" ? [] : [`${at}/name ${code}`]);
  });

  test("__proto__ is not a valid field name", () => {
    expect(faults(withFields([{ name: "__proto__", type: "string" }]))).toEqual([
      `${at}/name format`,
      `${at}/name reserved`,
    ]);
  });
});

describe("languages, markets, session", () => {
  test.each([
    [["en", "de-CH", "zh-Hant"], []],
    [["en-us"], ["/languages/0 format"]],
    [["iw"], ["/languages/0 format"]],
    [["e"], ["/languages/0 format"]],
    [["valueOf"], ["/languages/0 format"]],
    [[], ["/languages too_few"]],
    [[1], ["/languages/0 type"]],
    ["en", ["/languages type"]],
  ])("languages %j report %j", (languages, expected) => {
    expect(faults({ id: "shop", languages })).toEqual(expected);
  });

  test.each([
    [["US", "emea-north"], []],
    [["US", "US"], ["/markets/1 duplicate"]],
    [["U S"], ["/markets/0 format"]],
    [["constructor"], ["/markets/0 reserved"]],
  ])("markets %j report %j", (markets, expected) => {
    expect(faults({ id: "shop", markets })).toEqual(expected);
  });

  test.each([
    [60, []],
    [31_536_000, []],
    [59, ["/session/ttl too_small"]],
    [31_536_001, ["/session/ttl too_big"]],
    [60.5, ["/session/ttl type"]],
    ["24h", ["/session/ttl type"]],
  ])("session.ttl of %j seconds reports %j", (ttl, expected) => {
    const uses = [{ service: "access", handlers: ["passkey"] }];
    expect(faults({ id: "shop", uses, session: { ttl } })).toEqual(expected);
  });

  test("refuses session without the service access, where it has no effect", () => {
    expect(faults({ id: "shop", session: { ttl: 60 } })).toEqual(["/session needs_access"]);
    expect(faults({ id: "shop", branding: { name: "Shop" } })).toEqual(["/branding needs_access"]);
  });
});

describe("attributes", () => {
  const sound: Bag[] = [
    { type: "string", pattern: "^a", message: "must begin with a" },
    {
      type: "string",
      list: true,
      pattern: "^a",
      message: { en: "must begin with a", "de-CH": "beginnt mit a" },
    },
    { type: "integer", format: "plain" },
    { type: "number", list: true, format: "grouped" },
    { type: "string", min: 1, max: 5, pattern: "^[a-z]+$", default: "abc", unique: true, required: true },
    { type: "string", enum: ["a", "b"], default: "b" },
    { type: "text", translatable: true, sensitive: true },
    { type: "number", min: -1.5, max: 1.5, default: 0, enum: [0, 1] },
    { type: "integer", list: true, default: [1, 2], min: 1 },
    { type: "boolean", default: false },
    { type: "date", min: "2026-01-01", max: "2026-12-31", default: "2026-02-28" },
    { type: "datetime", min: "2026-01-01T00:00:00+02:00", default: "2026-01-01T00:00:00Z" },
    { type: "json", default: { a: [1, null] } },
    { type: "reference", ref: "other/module/schema", list: true },
    { type: "reference", ref: "shop/catalog/product", unique: true },
  ];
  test.each(sound.map((definition) => [definition]))("%j is valid", (definition) => {
    expect(field(definition)).toEqual([]);
  });

  const faulty: [Bag, string[]][] = [
    [{ type: "varchar" }, ["/type enum"]],
    [{ type: "string", min: 3, max: 2 }, ["/min bounds"]],
    [{ type: "string", min: -1 }, ["/min bounds"]],
    [{ type: "string", max: 1.5 }, ["/max bounds"]],
    [{ type: "string", max: "5" }, ["/max bounds"]],
    [{ type: "number", min: "1" }, ["/min bounds"]],
    [{ type: "integer", min: 1.5 }, ["/min bounds"]],
    [{ type: "number", max: true }, ["/max type"]],
    [{ type: "date", min: "2026-02-30" }, ["/min bounds"]],
    [{ type: "date", min: 20260101 }, ["/min bounds"]],
    [{ type: "datetime", min: "2026-01-01T00:00:00+02:00", max: "2025-12-31T21:00:00Z" }, ["/min bounds"]],
    [{ type: "boolean", min: 1 }, ["/min not_applicable"]],
    [
      { type: "json", max: 1, pattern: "a", unique: true, enum: ["a"] },
      ["/max", "/pattern", "/enum", "/unique"].map((p) => `${p} not_applicable`),
    ],
    [{ type: "number", pattern: "a" }, ["/pattern not_applicable"]],
    [{ type: "string", message: "must be short" }, ["/message not_applicable"]],
    [{ type: "string", pattern: "a", message: { EN: "must have an a" } }, ["/message format"]],
    [{ type: "string", pattern: "a", message: {} }, ["/message format"]],
    [{ type: "string", pattern: "a", message: "" }, ["/message too_short"]],
    [{ type: "string", format: "plain" }, ["/format not_applicable"]],
    [{ type: "integer", format: "year" }, ["/format enum"]],
    [{ type: "string", pattern: "(" }, ["/pattern unsafe_pattern"]],
    [{ type: "string", pattern: "(?=a)" }, ["/pattern unsafe_pattern"]],
    [{ type: "string", pattern: "(a)\\1" }, ["/pattern unsafe_pattern"]],
    [{ type: "string", pattern: "a".repeat(501) }, ["/pattern unsafe_pattern"]],
    [{ type: "string", pattern: ".{1000}.{1000}.{1000}" }, ["/pattern unsafe_pattern"]],
    [{ type: "string", enum: [] }, ["/enum too_few"]],
    [{ type: "string", enum: ["a", "a"] }, ["/enum/1 duplicate"]],
    [{ type: "string", enum: ["a", 1] }, ["/enum/1 type"]],
    [{ type: "string", enum: [{}] }, ["/enum/0 type"]],
    [{ type: "integer", enum: [1, 1.5] }, ["/enum/1 type"]],
    [{ type: "string", enum: ["abc"], max: 2 }, ["/enum/0 too_long"]],
    [{ type: "string", enum: ["a"], default: "b" }, ["/default enum"]],
    [{ type: "string", default: 1 }, ["/default type"]],
    [{ type: "string", default: null }, ["/default type"]],
    [{ type: "string", default: "abc", max: 2 }, ["/default too_long"]],
    [{ type: "string", default: "abc", pattern: "^x" }, ["/default pattern"]],
    [{ type: "string", default: "a\u0000" }, ["/default text"]],
    [{ type: "number", default: 5, max: 4 }, ["/default too_big"]],
    [{ type: "date", default: "2026-02-30" }, ["/default format"]],
    [{ type: "integer", list: true, default: 1 }, ["/default type"]],
    [{ type: "integer", list: true, default: [1, "2"] }, ["/default/1 type"]],
    [{ type: "string", list: true, unique: true }, ["/unique not_applicable"]],
    [{ type: "text", unique: true }, ["/unique not_applicable"]],
    [{ type: "text", index: "ordered" }, ["/index not_applicable"]],
    [{ type: "boolean", index: "ordered" }, ["/index not_applicable"]],
    [{ type: "number", index: "ordered", sensitive: true }, ["/index not_applicable"]],
    [{ type: "date", index: "ordered", list: true }, ["/index not_applicable"]],
    [{ type: "string", index: "ordered", translatable: true }, ["/index not_applicable"]],
    [{ type: "integer", search: true }, ["/search not_applicable"]],
    [{ type: "text", search: true, sensitive: true }, ["/search not_applicable"]],
    [
      { type: "string", sensitive: true, default: "a", enum: ["a"] },
      ["/default not_applicable", "/enum not_applicable"],
    ],
    [{ type: "reference" }, ["/ref required"]],
    [{ type: "reference", ref: "shop/catalog" }, ["/ref format"]],
    [{ type: "reference", ref: "shop/catalog/nothing" }, ["/ref unknown_reference"]],
    [{ type: "reference", ref: "shop/nothing/product" }, ["/ref unknown_reference"]],
    [
      { type: "reference", ref: "other/m/s", default: "0abcdefg", sensitive: true },
      ["/default not_applicable", "/sensitive not_applicable"],
    ],
    [{ type: "string", ref: "other/m/s" }, ["/ref not_applicable"]],
    [{ type: "string", marketSpecific: true }, ["/marketSpecific not_applicable"]],
    [{ type: "string", required: "yes", unique: 1 }, ["/required type", "/unique type"]],
  ];
  test.each(faulty)("refuses %j", (definition, expected) => {
    expect(field(definition).sort()).toEqual([...expected].sort());
  });

  test("a CONFIG module allows market-specific fields, but no translatable ones", () => {
    const more = { markets: ["US"] };
    expect(field({ type: "string", translatable: true }, more, { type: "CONFIG" })).toEqual([
      "/translatable not_applicable",
    ]);
    expect(field({ type: "string", translatable: false }, more, { type: "CONFIG" })).toEqual([]);
    expect(field({ type: "string", marketSpecific: true }, more, { type: "CONFIG" })).toEqual([]);
  });
});

describe("branding", () => {
  const uses = [{ service: "access", handlers: ["passkey"] }];
  const branded = (branding: object) => faults({ id: "shop", uses, branding });

  test.each([
    "https://cdn.example/logo.svg",
    "https://cdn.example:8443/a;b,c.png?v=2",
    "data:image/png;base64,iVBORw0=",
  ])("accepts the logo %s", (logo) => {
    expect(branded({ name: "Shop", logo, color: "#0b6038" })).toEqual([]);
  });

  test.each([
    "http://cdn.example/logo.svg",
    "https://*.example/logo.svg",
    "https://me:secret@cdn.example/logo.svg",
    "https://cdn.example; script-src *",
    "data:text/html;base64,iVBORw0=",
    "data:image/svg+xml,<svg/>",
    "javascript:alert(1)",
    "/logo.svg",
  ])("rejects the logo %s", (logo) => {
    expect(branded({ logo })).toEqual(["/branding/logo format"]);
  });

  test("rejects other colours, a long logo and unknown properties", () => {
    for (const color of ["red", "#fff", "#12345g", "#0b6038;"]) {
      expect(branded({ color })).toEqual(["/branding/color format"]);
    }
    const long = `data:image/png;base64,${"A".repeat(32_768)}`;
    expect(branded({ logo: long })).toEqual([expect.stringMatching(/^\/branding\/logo too_/)]);
    expect(branded({ font: "serif" })).toEqual(["/branding/font unknown_property"]);
  });
});

describe("access of a schema", () => {
  const withAccess = (access: unknown) => ({
    id: "shop",
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access, fields: [] }] }],
  });
  const path = "/modules/0/schemas/0/access";
  test.each<[unknown, string[]]>([
    [{ read: "own", write: "owner" }, []],
    [
      { read: ["public"], create: ["user"], update: ["own", "admin"], publish: ["owner"], delete: ["own"] },
      [],
    ],
    [{ read: ["owner"], write: "user" }, []],
    [{ read: [] }, ["/read too_few"]],
    [{ read: ["user", "user"] }, ["/read duplicate"]],
    [{ create: ["own"] }, ["/create not_applicable"]],
    [{ write: "user", update: ["user"] }, ["/write conflicting"]],
    [{ create: "user" }, ["/create type"]],
    [{ read: ["ghost"], update: ["user", "Ghost"] }, ["/update/1 format", "/read/0 unknown_role"]],
  ])("checks %j", (access, expected) => {
    expect(faults(withAccess(access))).toEqual(expected.map((line) => path + line));
  });
});

describe("roles of an orb's own", () => {
  const uses = [{ service: "access", handlers: ["passkey"] }];
  const withRoles = (roles: unknown, more: Bag = { uses }) => ({ id: "shop", roles, ...more });
  const editor = { id: "editor", name: "Editors" };
  test.each<[unknown, string[]]>([
    [[editor, { id: "chief", name: "Chief", extends: "admin" }], []],
    [[editor, editor], ["/roles/1/id duplicate"]],
    [[{ id: "editor" }], ["/roles/0/name required"]],
    [[{ ...editor, extends: "owner" }], ["/roles/0/extends enum"]],
    [[{ ...editor, id: "Editor" }], ["/roles/0/id format"]],
    [Array.from({ length: 51 }, (_, at) => ({ id: `r${at}`, name: "R" })), ["/roles too_many"]],
    ...["public", "user", "admin", "owner", "own", "platform", "anonymous", "system"].map(
      (id): [unknown, string[]] => [[{ ...editor, id }], ["/roles/0/id reserved"]],
    ),
  ])("checks %j", (roles, expected) => {
    expect(faults(withRoles(roles))).toEqual(expected);
  });

  test("refuses roles without accounts of the orb's own", () => {
    expect(faults(withRoles([editor], {}))).toEqual(["/roles needs_access"]);
  });
});

describe("access of a field", () => {
  const uses = [{ service: "access", handlers: ["passkey"] }];
  const roles = [{ id: "editor", name: "Editors" }];
  test.each<[unknown, string[]]>([
    [{ read: ["editor", "own"], write: ["owner"] }, []],
    [{}, []],
    [{ read: [] }, ["/read too_few"]],
    [{ read: "editor" }, ["/read type"]],
    [{ write: ["ghost"] }, ["/write/0 unknown_role"]],
    [{ create: ["user"] }, ["/create unknown_property"]],
  ])("checks %j", (access, expected) => {
    const document = withFields([{ name: "x", type: "string", access }], { roles, uses });
    expect(faults(document)).toEqual(expected.map((line) => `${at}/access${line}`));
  });
});
