/** Exports entries with random values of every type with the command `orb`, and imports the files again. */
import { readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { FIELD_TYPE_NAMES } from "../../shared/definition/types/traits.ts";
import { adminToken, call } from "../support/auth.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { type Random, testRandom } from "../support/random.ts";
import { TRICKY_TEXTS } from "../support/texts.ts";

const LANGUAGES = ["en", "de"];
const MARKETS = ["US", "EU"];
const ORB = "import-exact";
/** Entries with random values in each format. Each run makes up others. */
const ENTRIES = 12;
const FORMATS = ["csv", "tsv", "ndjson"] as const;

interface Field {
  name: string;
  type: string;
  list?: boolean;
  translatable?: boolean;
  marketSpecific?: boolean;
  default?: unknown;
  ref?: string;
  scale?: number;
}

const DEFAULTS: Record<string, unknown> = {
  ...{ string: "none", text: "null", number: 1.5, integer: 7, boolean: true },
  ...{ decimal: "-1.50" },
  ...{ email: "none@example.org", url: "https://example.org", time: "10:00" },
  ...{ date: "2026-03-01", datetime: "2026-03-01T10:00:00.000Z", json: { a: 1 } },
};

/** Each type alone, with each attribute that changes how a value is written, and with two of them. */
/** Objects and blocks have tests of their own: their fields are columns of tables. */
const NESTED: readonly string[] = ["object", "blocks", "richText"];
const FLAT = FIELD_TYPE_NAMES.filter((type) => !NESTED.includes(type));

const fields: Field[] = FLAT.flatMap((type) => {
  const ref = type === "reference" ? { ref: `${ORB}/stock/target` } : type === "decimal" ? { scale: 2 } : {};
  const forms: [string, Partial<Field>][] = [
    ["", {}],
    ["List", { list: true }],
    ["Each", { translatable: true }],
    ["Market", { marketSpecific: true }],
    ["Both", { translatable: true, marketSpecific: true }],
    ["ListEach", { list: true, translatable: true }],
  ];
  if (type in DEFAULTS) {
    forms.push(["Default", { default: DEFAULTS[type] }]);
    forms.push(["EachDefault", { translatable: true, default: DEFAULTS[type] }]);
  }
  return forms.map(([form, more]) => ({ name: `${type}${form}`, type, ...ref, ...more }));
});

const document = {
  id: ORB,
  languages: LANGUAGES,
  markets: MARKETS,
  modules: [
    {
      id: "stock",
      type: "CONTENT",
      schemas: [
        ...FORMATS.flatMap((format) => [`from-${format}`, `copy-${format}`].map((id) => ({ id, fields }))),
        { id: "target", fields: [{ name: "name", type: "string" }] },
      ],
    },
  ],
};

const CHARACTERS = [..."ab\"',;\t\r\n =+-@\\{}[]:\u2028\u0085\u00a0é🎉\u202e\ufeff'0"];

function textOf(random: Random): string {
  if (random.below(2) === 0) return random.pick(TRICKY_TEXTS);
  return Array.from({ length: random.below(12) }, () => random.pick(CHARACTERS)).join("");
}

function numberOf(random: Random): number {
  const some = [0, -0.1, 5e-324, 1.7976931348623157e308, 6.02214076e23, 1e21, 0.1 + 0.2, -1e-7, 2 ** 53];
  return random.below(2) === 0 ? random.pick(some) : (random.next() - 0.5) * 10 ** (random.below(40) - 20);
}

function jsonOf(random: Random, depth = 0): unknown {
  const simple = [() => textOf(random), () => numberOf(random), () => true, () => false];
  if (depth > 3 || random.below(3) === 0) return random.pick(simple)();
  const size = random.below(4);
  if (random.below(2) === 0)
    return Array.from({ length: size }, () => (random.below(5) === 0 ? null : jsonOf(random, depth + 1)));
  const name = () => `${textOf(random)}x`;
  return Object.fromEntries(
    Array.from({ length: size }, () => [name(), random.below(5) === 0 ? null : jsonOf(random, depth + 1)]),
  );
}

interface Known {
  targets: readonly string[];
  files: readonly string[];
}

const two = (value: number) => String(value).padStart(2, "0");
const dateOf = (random: Random) =>
  `${random.pick(["0001", "1948", "2026", "9999"])}-${two(random.below(12) + 1)}-${two(random.below(28) + 1)}`;

function one(type: string, random: Random, known: Known): unknown {
  const making: Record<string, () => unknown> = {
    string: () => textOf(random),
    text: () => textOf(random),
    decimal: () => `${random.pick(["", "-"])}${random.below(1e9)}.${two(random.below(99) + 1)}`,
    slug: () => `${random.pick(["null", "5", "true", "größe"])}-${random.below(1e6)}`,
    email: () => `${random.pick(["-5", "+49", "=1", "ann"])}@example.org`,
    url: () => `https://example.org/${random.below(9)}?a=b,c;d`,
    time: () => `10:${two(random.below(60))}${random.pick(["", ":00", ":07"])}`,
    number: () => numberOf(random),
    integer: () =>
      random.below(2) === 0 ? random.pick([0, -1, 2 ** 53 - 1, -(2 ** 53) + 1]) : random.below(1e6),
    boolean: () => random.below(2) === 0,
    date: () => dateOf(random),
    datetime: () =>
      `${dateOf(random)}T10:${two(random.below(60))}:30.${random.below(900) + 100}${random.pick(["Z", "+0200", "-05:30"])}`,
    json: () => jsonOf(random),
    point: () => ({ lat: random.next() * 180 - 90, lon: random.pick([-180, 180, 0, random.next()]) }),
    reference: () => random.pick(known.targets),
    file: () => ({ file: random.pick(known.files) }),
  };
  return making[type]?.();
}

/** Returns a value of a field in all its languages and markets. Some have none. */
function randomValue(field: Field, random: Random, known: Known): unknown {
  if (random.below(8) === 0) return null;
  const { list, translatable, marketSpecific, type } = field;
  const single = () =>
    list === true
      ? Array.from({ length: random.below(4) }, () => one(type, random, known))
      : one(type, random, known);
  const among = (keys: readonly string[], make: () => unknown) =>
    Object.fromEntries(
      keys.flatMap((key) => (random.below(4) === 0 ? [] : [[key, random.below(6) === 0 ? null : make()]])),
    );
  const each = () => (translatable === true ? among(LANGUAGES, single) : single());
  return marketSpecific === true ? among(MARKETS, each) : each();
}

interface Entry {
  id: string;
  values: Record<string, unknown>;
  validFrom: string | null;
  validTo: string | null;
}

test.each(FORMATS)(
  "values of every type come back from a file of %s as they were",
  async (format) => {
    const platform = await sharedPlatform();
    const token = await adminToken(platform);
    const orb = await orbCommand(platform.origin, token);
    const random = testRandom();
    const [from, copy] = [`from-${format}`, `copy-${format}`];
    const base = `/api/admin/orbs/${ORB}`;
    const created = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
    expect([201, 409]).toContain(created.status);
    const target = async (name: string): Promise<string> => {
      const body = { module: "stock", schema: "target", values: { name } };
      return (await call(platform, "POST", `${base}/entries?publish=true`, { token, body })).body.id;
    };
    const upload = async (text: string): Promise<string> => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "text/plain" };
      const response = await fetch(`${platform.origin}/api/${ORB}/files`, {
        method: "POST",
        headers,
        body: text,
      });
      return ((await response.json()) as { id: string }).id;
    };
    const known = {
      targets: [await target("a"), await target("b")],
      // A file can be in 100 entries.
      files: await Promise.all(Array.from({ length: 12 }, (_, at) => upload(`${format} ${at}`))),
    };
    const stored = async (schema: string): Promise<Entry[]> => {
      const path = `${base}/entries?module=stock&schema=${schema}&limit=200`;
      return (await call(platform, "GET", path, { token })).body.items;
    };
    const shown = (entries: readonly Entry[]) =>
      entries.map(({ values, validFrom, validTo }) => ({ values, validFrom, validTo }));
    for (let at = 0; at < ENTRIES; at++) {
      const values = Object.fromEntries(
        fields.flatMap((field) => {
          const value = randomValue(field, random, known);
          return random.below(8) === 0 ? [] : [[field.name, value]];
        }),
      );
      const body = {
        ...{ module: "stock", schema: from, values },
        ...(random.below(2) === 0 ? { validFrom: "2027-01-02T03:04:05.678Z" } : {}),
        ...(random.below(2) === 0 ? { validTo: "2028-01-02T03:04:05.678+02:00" } : {}),
      };
      const answer = await call(platform, "POST", `${base}/entries`, { token, body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    }
    const before = shown(await stored(from));
    expect(before).toHaveLength(ENTRIES);
    const path = `exact.${format}`;
    const exported = await orb.run(
      "entries",
      "export",
      ORB,
      `stock/${from}`,
      "--out",
      path,
      "--format",
      format,
    );
    expect([exported.code, exported.err]).toEqual([0, expect.stringMatching(/^Exported \d+ entries\.\n$/)]);
    // Only the user may read what the user exported.
    expect(statSync(`${orb.folder}/${path}`).mode & 0o777).toBe(0o600);
    // A line of JSON names the collection that it comes from.
    const text = readFileSync(`${orb.folder}/${path}`, "utf8");
    orb.file(path, format === "ndjson" ? text.replaceAll(`"schema":"${from}"`, `"schema":"${copy}"`) : text);
    const imported = await orb.run("entries", "import", ORB, `stock/${copy}`, path);
    expect([imported.err, imported.out]).toEqual([
      "Left out status, createdAt, createdBy. To store them as the file says, add --keep.\n",
      expect.stringMatching(/^Created \d+ entries, refused 0\.\n$/),
    ]);
    const after = shown(await stored(copy));
    for (const [at, entry] of after.entries()) expect(entry).toEqual(before[at]);
    expect(after).toHaveLength(ENTRIES);
  },
  180_000,
);
