import { describe, expect, it } from "vitest";
import type { CompiledField, CompiledSchema } from "../../shared/definition/compile.ts";
import type { ReferenceTarget } from "../../shared/definition/document/targets.ts";
import { parseAcceptLanguage } from "../../shared/definition/languages.ts";
import { positionAt, readCursor, writeCursor } from "../../shared/entry/model/cursor.ts";
import { choose, fallbackOf, isLocale, isMarket, resolveField } from "../../shared/entry/model/localize.ts";
import { compareRanked, type FilterInput, matches, sortValues } from "../../shared/entry/query/filter.ts";
import {
  conditionsIn,
  isCondition,
  isLacking,
  isRelated,
  isSearch,
  type Where,
} from "../../shared/entry/query/parameters.ts";
import { creationOrder, parseListQuery, parseOneQuery } from "../../shared/entry/query/query.ts";
import {
  add,
  decimalOf,
  divided,
  numberOf,
  parseDecimal,
  textOf,
  ZERO,
} from "../../shared/kernel/decimal.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { fingerprint } from "../../shared/kernel/tags.ts";
import { definition, SHOP } from "../support/entries.ts";

function productSchema(): CompiledSchema {
  const schema = definition(SHOP).compiled.schema("catalog", "product");
  if (schema === undefined) throw new Error("the shop has no products");
  return schema;
}
const schema = productSchema();

function fieldOf(name: string): CompiledField {
  const field = schema.fields.get(name);
  if (field === undefined) throw new Error(`no field ${name}`);
  return field;
}

const parse = (query: string) => parseListQuery(new URLSearchParams(query), schema, ["locale", "market"]);

function faults(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== "malformed") throw error;
    return (error.errors ?? [{ path: "", code: error.code, message: "" }]).map((f) => `${f.path} ${f.code}`);
  }
  throw new Error("it should have been refused");
}

describe("list query", () => {
  it("is refused with a short response, however many errors it has", () => {
    const fields = Array.from({ length: 500 }, (_, i) => ({
      name: `${"long".repeat(14)}${i}`,
      type: "string" as const,
    }));
    const wide = definition({
      id: "wide",
      modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "m", fields }] }],
    }).compiled.schema("m");
    const many = Array.from({ length: 7000 }, (_, i) => `a${i}`);
    for (const query of [
      `sort=${many}`,
      `fields=${many}`,
      `expand=${many}`,
      many
        .slice(0, 20)
        .map((name) => `filter[${name}]=1`)
        .join("&"),
      many.map((name) => `${name}=1`).join("&"),
      many.map((name) => `filter[${name}]=1`).join("&"),
    ]) {
      let told = "";
      try {
        parseListQuery(new URLSearchParams(query), wide, []);
      } catch (error) {
        told = JSON.stringify((error as AppError).errors);
      }
      expect(told.length).toBeGreaterThan(50);
      expect(told.length).toBeLessThan(64 * 1024);
    }
  });

  it("does not compare a stored value of a former type with gt or lt", () => {
    const count = fieldOf("count");
    const subject = { kind: "field" as const, name: "count", type: count.type, field: count };
    const entry = { values: { count: "plain words" } } as unknown as FilterInput;
    for (const operator of ["gt", "gte", "lt", "lte"] as const)
      expect(matches([{ subject, operator, values: [5] }], entry, undefined)).toBe(false);
  });

  it("has defaults", () => {
    expect(parse("")).toEqual({
      limit: 50,
      cursor: undefined,
      conditions: [],
      sort: [],
      fields: undefined,
      expand: [],
      count: false,
      explain: false,
      aggregation: undefined,
      extra: {},
    });
  });

  it("is parsed by the types of the fields", () => {
    const query = parse(
      "filter[count][gte]=3&filter[hot]=true&filter[day][lt]=2026-01-31&filter[sku][in]=a,b&filter[sku][in]=c&filter[state][in]=%5B%22new%22%5D",
    );
    const read = conditionsIn(query.conditions)
      .filter(isCondition)
      .map(({ subject, operator, values }) => [subject.name, operator, values]);
    expect(read).toEqual([
      ["count", "gte", [3]],
      ["hot", "eq", [true]],
      ["day", "lt", ["2026-01-31"]],
      ["sku", "in", ["a", "b", "c"]],
      ["state", "in", ["new"]],
    ]);
  });

  it.each([
    ["filter[constructor]=1", ["/filter[constructor] unknown_field"]],
    ["filter[day]=2026-02-30", ["/filter[day] invalid_value"]],
    ["filter[count]=1e400", ["/filter[count] invalid_value"]],
    ["filter[state]=nonsense", ["/filter[state] invalid_value"]],
    ["filter[state][ne]=nonsense", ["/filter[state][ne] invalid_value"]],
    ["filter[state][in]=new,nonsense", ["/filter[state][in] invalid_value"]],
    ["filter[id]=../x", ["/filter[id] invalid_value"]],
    ["filter[tags]=x", ["/filter[tags] unknown_operator"]],
    ["filter[data]=x", ["/filter[data] unknown_operator"]],
    ["filter[serial]=x", ["/filter[serial] sensitive_field"]],
    ["sort=count,-count", ["/sort repeated"]],
    ["sort=", ["/sort unknown_field"]],
    ["limit=0", ["/limit invalid_value"]],
    ["limit=1.5", ["/limit invalid_value"]],
    ["expand=nope,sku", ["/expand unknown_field", "/expand not_a_reference"]],
    ["market=a.b", ["/market invalid_value"]],
    ["filter[or][0][nope]=1", ["/filter[or][0][nope] unknown_field"]],
    ["filter[or][0]=1", ["/filter[or][0] unknown_field"]],
    ["filter[count][gte][x]=1", ["/filter[count][gte][x] unknown_parameter"]],
    ["filter[not]=1", ["/filter[not] unknown_field"]],
    [`filter${"[not]".repeat(6)}[count]=1`, [`/filter${"[not]".repeat(6)}[count] too_deep`]],
    ["explain=yes", ["/explain invalid_value"]],
    ["a=1&b=2&limit=x", ["/a unknown_parameter", "/b unknown_parameter", "/limit invalid_value"]],
  ])("%s is refused", (query, expected) => {
    expect(faults(() => parse(query))).toEqual(expected);
  });

  it("limits the number and length of values", () => {
    const many = Array.from({ length: 21 }, (_, i) => `filter[count][${i % 2 ? "gt" : "lt"}]=${i}`).join("&");
    expect(faults(() => parse(`filter[sku][in]=${"a,".repeat(200)}`))).toEqual(["/filter[sku][in] too_many"]);
    expect(faults(() => parse(`filter[sku]=${"a".repeat(1001)}`))).toEqual(["/filter[sku] too_many"]);
    expect(faults(() => parse(many)).length).toBeGreaterThan(0);
  });

  it("needs a schema for fields", () => {
    const bare = (query: string) => parseListQuery(new URLSearchParams(query), undefined, []);
    expect(bare("sort=-createdAt&filter[createdBy]=ann").sort).toHaveLength(1);
    expect(faults(() => bare("filter[sku]=a"))).toEqual(["/filter[sku] needs_schema"]);
    expect(faults(() => bare("fields=sku"))).toEqual(["/fields needs_schema"]);
    expect(faults(() => bare("search=a"))).toEqual(["/search needs_schema"]);
    expect(faults(() => parse("search=a"))).toEqual(["/search not_searchable"]);
  });

  it("detects creation order", () => {
    expect(
      ["", "sort=createdAt", "sort=-createdAt", "sort=sku", "sort=createdAt,sku"].map((q) =>
        creationOrder(parse(q)),
      ),
    ).toEqual(["asc", "asc", "desc", undefined, undefined]);
  });

  it("refuses filters for a single entry", () => {
    expect(faults(() => parseOneQuery(new URLSearchParams("filter[sku]=a"), schema, []))).toEqual([
      "/filter[sku] unknown_parameter",
    ]);
  });
});

describe("decimal sums", () => {
  const sum = (values: number[]) => numberOf(values.map(decimalOf).reduce(add, ZERO));

  it("are exact", () => {
    expect(sum(Array.from({ length: 10 }, () => 0.1))).toBe(1);
    expect(sum([0.1, 0.2])).toBe(0.3);
    expect(sum([1e16, 1, -1e16])).toBe(1);
    expect(sum([1e308, 1e-308, -1e308])).toBe(1e-308);
    expect(sum([1.5e300, 5e-324, -0])).toBe(1.5e300);
    expect(sum([1e308, 1e308])).toBeNull();
    expect(numberOf(divided(decimalOf(1), 3))).toBe(1 / 3);
    const whole = decimalOf(-12.75e-8);
    expect(parseDecimal(textOf(whole))).toEqual(whole);
    for (const text of ["", "1", "1e", "1e9", "1e-9999", "x", 1, null])
      expect(parseDecimal(text)).toBeUndefined();
  });
});

describe("cursor", () => {
  const position = { kind: "sorted", seq: 0, density: 0, id: "0abc", keys: ["größer", 1, null] } as const;

  it("is read back unchanged", () => {
    expect(readCursor(writeCursor({ ...position, keys: [...position.keys] }, "q"), "q")).toEqual(position);
    // The longest cursor: five sort keys of the maximum length, with characters that JSON escapes.
    const longest = { ...position, keys: Array.from({ length: 5 }, () => "\u0001".repeat(200)) };
    expect(readCursor(writeCursor(longest, "q"), "q")).toEqual(longest);
  });

  it("is validated if a client forged it", () => {
    const made = (position: object) => {
      const text = JSON.stringify(position).replace('"1e999"', "1e999");
      return Buffer.from(`${fingerprint(`q\n${text}`)}.${text}`).toString("base64url");
    };
    const wrong: object[] = [
      { ...position, density: "x" },
      { ...position, density: -1 },
      { ...position, density: 7 },
      { ...position, density: undefined },
      { ...position, seq: 1e300 },
      { ...position, seq: "1e999" },
      { ...position, seq: -1 },
      { ...position, seq: 1.5 },
      { ...position, id: undefined },
      { ...position, id: 1 },
      { ...position, keys: undefined },
      { ...position, keys: [{}] },
      { ...position, kind: "else" },
      { ...position, more: 1 },
      [],
    ];
    for (const position of wrong)
      expect(faults(() => readCursor(made(position), "q"))).toEqual(["/cursor invalid_cursor"]);
    const text = `${fingerprint("q\n{")}.{`;
    expect(faults(() => readCursor(Buffer.from(text).toString("base64url"), "q"))).toEqual([
      "/cursor invalid_cursor",
    ]);
    expect(readCursor(made(position), "q")).toEqual(position);
  });

  it("is refused if it was altered or belongs to another query", () => {
    const cursor = writeCursor(positionAt("index", { seq: 17, density: 0.2 }), "q");
    const wrong = [`${cursor}A`, cursor.slice(1), cursor.replace(/.$/, "!"), "", "AAAA", "x".repeat(9000)];
    for (const text of wrong) expect(faults(() => readCursor(text, "q"))).toEqual(["/cursor invalid_cursor"]);
    expect(faults(() => readCursor(cursor, "r"))).toEqual(["/cursor invalid_cursor"]);
    expect(fingerprint("a")).not.toBe(fingerprint("b"));
  });
});

describe("languages", () => {
  const offer = { languages: ["en", "de", "de-CH", "zh-Hant"], markets: ["US", "EU"] };
  const chosen = (acceptLanguage: string) => choose(offer, { acceptLanguage }).languages;

  it.each([
    ["", ["en"]],
    ["de", ["de", "en"]],
    ["de-CH", ["de-CH", "de", "en"]],
    ["de-AT, fr;q=0.9", ["de", "en"]],
    ["fr, de;q=0.2, en;q=0.8", ["en", "de"]],
    ["DE-ch;q=0.5, *;q=0.1", ["de-CH", "de", "en"]],
    ["zh", ["zh-Hant", "en"]],
    ["de;q=0", ["en"]],
    [";;;,q=1,=,de;q=x", ["en"]],
    ["*", ["en"]],
  ])("%s selects %j", (header, expected) => {
    expect(chosen(header)).toEqual(expected);
  });

  it("are limited in number", () => {
    expect(parseAcceptLanguage("de,".repeat(5000)).length).toBeLessThanOrEqual(32);
  });

  it("are taken from the parameter before the header", () => {
    const choice = choose(offer, { locale: "de", market: "EU", acceptLanguage: "zh" });
    expect([choice.languages, choice.markets, choice.negotiated]).toEqual([
      ["de", "en"],
      ["EU", "US"],
      false,
    ]);
    expect(choose(offer, { locale: "fr", market: "XX" })).toMatchObject({
      languages: ["en"],
      markets: ["US"],
    });
    expect(choose(offer, { locale: "*" }).allLocales).toBe(true);
    expect([isLocale("de-CH"), isLocale("*"), isLocale("!"), isMarket("US"), isMarket("a.b")]).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
  });

  it("are chosen after the market", () => {
    const choice = choose(SHOP as typeof offer, { locale: "de", market: "EU" });
    const stored = { US: { de: "us-de" }, EU: { en: "eu-en" } };
    expect(resolveField(fieldOf("slogan"), stored, choice)).toEqual({
      value: "eu-en",
      language: "en",
      market: "EU",
    });
    expect(fallbackOf(fieldOf("slogan"), stored, choice)).toEqual({ language: "en" });
    expect(resolveField(fieldOf("slogan"), { US: { de: "us-de" } }, choice).value).toBe("us-de");
    expect(resolveField(fieldOf("title"), { fr: "x" }, choice).value).toBeNull();
    expect(resolveField(fieldOf("title"), "not a map", choice).value).toBeNull();
    expect(resolveField(fieldOf("price"), { EU: 0 }, choice).value).toBe(0);
  });
});

describe("conditions and sort orders", () => {
  const base = {
    id: "0a",
    revision: 3,
    createdAt: "2026-01-01T00:00:00.000Z",
    createdBy: "ann",
    updatedAt: "2026-01-02T00:00:00.000Z",
    updatedBy: "bob",
    validFrom: null,
    validTo: null,
  };
  const entry = (values: Record<string, unknown>, more: Partial<FilterInput> = {}): FilterInput => ({
    ...base,
    ...more,
    values,
  });
  const choice = choose(SHOP as { languages: string[]; markets: string[] }, {});
  const holds = (query: string, values: Record<string, unknown>, localized = true) =>
    matches(parse(query).conditions, entry(values), localized ? choice : undefined);

  it.each([
    ["filter[count]=0", { count: 0 }, true],
    ["filter[count]=-0", { count: 0 }, true],
    ["filter[count][ne]=1", {}, true],
    ["filter[count][null]=true", {}, true],
    ["filter[count][null]=false", { count: 0 }, true],
    ["filter[tags][null]=true", { tags: [] }, true],
    ["filter[tags][contains]=a", { tags: ["b", "a"] }, true],
    ["filter[tags][contains]=A", { tags: ["b", "a"] }, false],
    ["filter[sku][contains]=BC", { sku: "abcd" }, true],
    ["filter[sku][startsWith]=bc", { sku: "abcd" }, false],
    ["filter[sku]=ABCD", { sku: "abcd" }, false],
    ["filter[day][gte]=2026-01-01&filter[day][lt]=2026-02-01", { day: "2026-01-31" }, true],
    ["filter[revision]=3&filter[createdBy]=ann", {}, true],
    ["filter[validTo][null]=true&filter[validFrom][gt]=2020-01-01T00:00:00Z", {}, false],
    ["filter[title]=Stuhl", { title: { en: "Chair", de: "Stuhl" } }, false],
  ])("%s on %j is %s", (query, values, expected) => {
    expect(holds(query, values)).toBe(expected);
  });

  it.each([
    ["filter[or][0][count]=1&filter[or][1][sku]=a", { sku: "a" }, true],
    ["filter[or][0][count]=1&filter[or][1][sku]=a", { count: 2 }, false],
    ["filter[or][0][count]=1&filter[or][00][sku]=a&filter[or][7][count]=3", { count: 1 }, false],
    ["filter[not][count]=1&filter[not][sku]=a", { count: 1, sku: "b" }, true],
    ["filter[not][count]=1&filter[not][sku]=a", { count: 1, sku: "a" }, false],
    ["filter[not][count][gt]=1", {}, true],
    ["filter[and][0][not][count]=1&filter[and][1][not][count]=2", { count: 2 }, false],
    [
      "filter[hot]=true&filter[not][or][0][count]=1&filter[not][or][1][count]=2",
      { hot: true, count: 3 },
      true,
    ],
    [
      "filter[hot]=true&filter[not][or][0][count]=1&filter[not][or][1][count]=2",
      { hot: true, count: 2 },
      false,
    ],
  ])("join groups: %s on %j is %s", (query, values, expected) => {
    expect(holds(query, values)).toBe(expected);
  });

  it("take fields called or, and, and not by their short form", () => {
    const odd = definition({
      id: "odd",
      modules: [
        {
          id: "m",
          type: "CONTENT",
          schemas: [
            {
              id: "m",
              fields: ["or", "and", "not", "gte"].map((name) => ({ name, type: "integer" as const })),
            },
          ],
        },
      ],
    }).compiled.schema("m");
    const { conditions } = parseListQuery(
      new URLSearchParams(
        "filter[or]=1&filter[and][gte]=2&filter[not][gte]=3&filter[not][gte][eq]=4&filter[or][0][or]=5&filter[or][1][not]=6",
      ),
      odd,
      [],
    );
    const plain = (where: Where): unknown =>
      "join" in where
        ? [where.join, ...where.of.map(plain)]
        : isSearch(where)
          ? where.words
          : isRelated(where)
            ? where
            : isLacking(where)
              ? where.lacks
              : [where.subject.name, where.operator, ...where.values];
    expect(conditions.map(plain)).toEqual([
      ["or", "eq", 1],
      ["and", "gte", 2],
      ["not", "gte", 3],
      ["or", ["or", "eq", 5], ["not", "eq", 6]],
      ["not", ["gte", "eq", 4]],
    ]);
  });

  it("lead to a limited number of combinations of schemas", () => {
    const parsed = (count: number, query: string) => {
      const ids = Array.from({ length: count }, (_, i) => `s${i}`);
      const next = { name: "next", type: "reference" as const, ref: ids.map((id) => `web/m/${id}`) };
      const fields = [{ name: "name", type: "string" as const }, next];
      const schemas = ids.map((id) => ({ id, fields }));
      const { compiled } = definition({ id: "web", modules: [{ id: "m", type: "CONTENT", schemas }] });
      let lookups = 0;
      const targetOf = ({ module, schema }: ReferenceTarget) => {
        lookups++;
        return compiled.schemaNamed(module, schema);
      };
      const start = compiled.schema("m", "s0");
      const work = () => parseListQuery(new URLSearchParams(query), start, [], start, targetOf);
      return { work, lookups: () => lookups };
    };
    const allowed = parsed(10, "filter[next.next.name]=x&filter[name]=y").work().conditions;
    expect(conditionsIn(allowed).filter(isRelated)).toHaveLength(100);
    expect(faults(parsed(10, "filter[next.next.name]=x&filter[not][next.name]=y").work)).toEqual([
      "/filter too_broad",
    ]);
    const twenty = Array.from({ length: 20 }, (_, i) => `filter[or][${i}][next.next.name]=x`).join("&");
    const wide = parsed(50, twenty);
    expect(faults(wide.work)).toEqual(["/filter too_broad"]);
    expect(wide.lookups()).toBeLessThan(1_500);
  });

  it("consider every language where all are shown", () => {
    expect(holds("filter[title]=Stuhl", { title: { en: "Chair", de: "Stuhl" } }, false)).toBe(true);
  });

  it("search long texts in linear time", () => {
    const sku = "a".repeat(500_000);
    const part = `ab${"a".repeat(990)}`;
    // A list may search thousands of texts.
    for (let times = 0; times < 60; times++) {
      expect(holds(`filter[sku][contains]=${part}`, { sku })).toBe(false);
      expect(holds(`filter[sku][contains]=${part}`, { sku: sku + part })).toBe(true);
    }
  });

  it("sort missing values first, and equal ones by id", () => {
    const { sort } = parse("sort=-count,sku");
    const rank = (id: string, values: Record<string, unknown>) => {
      const judged = entry(values, { id });
      return { id, keys: sortValues(sort, judged, choice) };
    };
    const ranks = [
      rank("0c", { count: 1, sku: "b" }),
      rank("0a", {}),
      rank("0b", { count: 2 }),
      rank("0d", { count: 1 }),
    ];
    ranks.sort((a, b) => compareRanked(sort, a, b));
    expect(ranks.map(({ id }) => id)).toEqual(["0b", "0d", "0c", "0a"]);
  });
});
