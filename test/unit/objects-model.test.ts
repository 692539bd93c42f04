/**
 * A model of nested values: random writes of objects, lists and blocks, compared with maps of texts. Reads, filters,
 * languages and the history must agree with it, and writes of different items must not depend on their order.
 */
import fc from "fast-check";
import { applyPatch } from "rfc6902";
import { expect, test } from "vitest";
import type { Principal } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { patch } from "../../shared/definition/document/diff.ts";
import { type Values, validateValues } from "../../shared/definition/validate.ts";
import { choose, presentValues } from "../../shared/entry/model/localize.ts";
import { type FilterInput, matches } from "../../shared/entry/query/filter.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { admitted, merged } from "../../shared/entry/values/admitted.ts";
import type { Fault } from "../../shared/kernel/errors.ts";
import { admin, definition } from "../support/entries.ts";
import { testSeed } from "../support/random.ts";

const DOCUMENT = {
  id: "model",
  languages: ["en", "de"],
  components: [
    {
      id: "quote",
      fields: [
        { name: "text", type: "string", translatable: true },
        { name: "by", type: "string" },
      ],
    },
  ],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            {
              name: "seo",
              type: "object",
              fields: [
                { name: "title", type: "string", translatable: true },
                { name: "rank", type: "integer" },
                { name: "parts", type: "blocks", components: ["quote"] },
              ],
            },
          ],
        },
      ],
    },
  ],
};

const live = definition(DOCUMENT as never);
const schema = live.compiled.schema("pages", "page") as CompiledSchema;
const caller = { actor: admin, role: "admin", scope: undefined } as unknown as Principal;
const sender = { caller, createdBy: "admin1" };

interface Place {
  locale?: string;
}

/** Applies a patch as an update does: merges it, then validates the result. */
function written(stored: Values, sent: unknown, place: Place): { values: Values; faults: Fault[] } {
  const faults: Fault[] = [];
  const whole = merged(schema, sender, sent, stored, place, faults);
  const { given, faults: refused } = admitted(schema, sender, whole, stored, place);
  const checked = validateValues(schema, given, { existing: stored });
  return { values: checked.values, faults: [...faults, ...refused, ...checked.faults] };
}

type Texts = Record<string, string>;
interface Model {
  title: Texts;
  rank: number | undefined;
  parts: { key: string; text: Texts; by: string | undefined }[];
}

type Step =
  | { do: "title"; language: string; text: string }
  | { do: "rank"; rank: number }
  | { do: "text"; at: number; language: string; text: string; local: boolean }
  | { do: "by"; at: number; by: string }
  | { do: "add"; after: number; text: string }
  | { do: "move"; at: number; after: number }
  | { do: "remove"; at: number };

const word = fc.constantFrom("ox", "elk", "emu", "yak", "bee");
const language = fc.constantFrom("en", "de");
const spot = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("title" as const), language, text: word }),
  fc.record({ do: fc.constant("rank" as const), rank: fc.nat(9) }),
  fc.record({ do: fc.constant("text" as const), at: spot, language, text: word, local: fc.boolean() }),
  fc.record({ do: fc.constant("by" as const), at: spot, by: word }),
  fc.record({ do: fc.constant("add" as const), after: spot, text: word }),
  fc.record({ do: fc.constant("move" as const), at: spot, after: spot }),
  fc.record({ do: fc.constant("remove" as const), at: spot }),
);

/** Changes the model, and returns the patch that does the same. Undefined if the step has nothing to change. */
function applied(model: Model, one: Step, next: () => string): { sent: unknown; place: Place } | undefined {
  const inParts = (parts: unknown, place: Place = {}) => ({ sent: { seo: { parts } }, place });
  if (one.do === "title") {
    model.title[one.language] = one.text;
    return { sent: { seo: { title: one.text } }, place: { locale: one.language } };
  }
  if (one.do === "rank") {
    model.rank = one.rank;
    return { sent: { seo: { rank: one.rank } }, place: {} };
  }
  if (one.do === "add") {
    const key = next();
    const after = model.parts[one.after - 1]?.key ?? null;
    const at = after === null ? 0 : one.after;
    model.parts.splice(at, 0, { key, text: { en: one.text }, by: undefined });
    return inParts({ [key]: { _type: "quote", text: { en: one.text }, _after: after } });
  }
  const part = model.parts[one.at];
  if (part === undefined) return undefined;
  if (one.do === "remove") {
    model.parts.splice(one.at, 1);
    return inParts({ [part.key]: null });
  }
  if (one.do === "by") {
    part.by = one.by;
    return inParts({ [part.key]: { by: one.by } });
  }
  if (one.do === "text") {
    part.text[one.language] = one.text;
    if (one.local) return inParts({ [part.key]: { text: one.text } }, { locale: one.language });
    return inParts({ [part.key]: { text: { [one.language]: one.text } } });
  }
  model.parts.splice(one.at, 1);
  const after = model.parts[one.after - 1]?.key ?? null;
  model.parts.splice(after === null ? 0 : one.after, 0, part);
  return inParts({ [part.key]: { _after: after } });
}

/** Returns what the platform should have stored. */
function expected({ title, rank, parts }: Model): Values {
  const seo = {
    ...(Object.keys(title).length === 0 ? {} : { title }),
    ...(rank === undefined ? {} : { rank }),
    ...(parts.length === 0
      ? {}
      : {
          parts: parts.map(({ key, text, by }) => ({
            ...{ _type: "quote", _key: key, text },
            ...(by === undefined ? {} : { by }),
          })),
        }),
  };
  return Object.keys(seo).length === 0 ? {} : { seo };
}

/** An empty list counts as no list. */
function withoutEmpty(values: Values): Values {
  const { parts, ...seo } = (values.seo ?? {}) as { parts?: unknown[] };
  const left = { ...seo, ...(parts === undefined || parts.length === 0 ? {} : { parts }) };
  return Object.keys(left).length === 0 ? {} : ({ seo: left } as Values);
}

const entryOf = (values: Values): FilterInput => ({
  ...{ id: "0abc", revision: 1, createdAt: "", createdBy: "", updatedAt: "", updatedBy: "" },
  ...{ validFrom: null, validTo: null, values },
});

/** Compares what each language shows, and what filters find, with the model. */
function checkReads(values: Values, model: Model): void {
  for (const locale of ["en", "de"]) {
    const choice = choose(schema, { locale });
    const shown = (texts: Texts) => texts[locale] ?? texts.en ?? null;
    const { seo } = presentValues(schema, values, { choice }, new Set()) as {
      seo?: { title?: string; parts?: { _key: string; text: string }[] };
    };
    expect(seo?.title ?? null).toBe(shown(model.title));
    expect((seo?.parts ?? []).map(({ _key, text }) => [_key, text])).toEqual(
      model.parts.map(({ key, text }) => [key, shown(text)]),
    );
    for (const text of ["ox", "yak"]) {
      const finds = (query: string) =>
        matches(parseListQuery(new URLSearchParams(query), schema, []).conditions, entryOf(values), choice);
      expect(finds(`filter[seo.parts.text]=${text}`)).toBe(
        model.parts.some((part) => shown(part.text) === text),
      );
      expect(finds(`filter[seo.parts.by]=${text}`)).toBe(model.parts.some(({ by }) => by === text));
      expect(finds(`filter[seo.title]=${text}`)).toBe(shown(model.title) === text);
    }
  }
}

test("writes of nested values agree with a model", () => {
  const seed = testSeed();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const model: Model = { title: {}, rank: undefined, parts: [] };
      let count = 0;
      let values: Values = {};
      for (const one of steps) {
        const change = applied(model, one, () => `k${count++}`);
        if (change === undefined) continue;
        const before = values;
        const result = written(before, change.sent, change.place);
        expect(result.faults).toEqual([]);
        values = result.values;
        expect(withoutEmpty(values)).toEqual(expected(model));
        // The history leads from one revision to the next.
        const replayed = structuredClone(before);
        expect(applyPatch(replayed, patch(before, values)).every((error) => error === null)).toBe(true);
        expect(replayed).toEqual(values);
        // What is stored is valid, and stays as it is.
        expect(validateValues(schema, values, { existing: values })).toEqual({
          values,
          masked: [],
          faults: [],
        });
      }
      checkReads(values, model);
    }),
    { seed, numRuns: 200 },
  );
});

test("two editors who change different blocks lose nothing in any order", () => {
  const seed = testSeed();
  const editor = fc.array(fc.record({ block: fc.nat(4), text: word, language }), {
    minLength: 1,
    maxLength: 10,
  });
  fc.assert(
    fc.property(editor, editor, fc.array(fc.boolean(), { maxLength: 20 }), (first, second, order) => {
      const start = Array.from({ length: 10 }, (_, at) => ({
        _type: "quote",
        _key: `b${at}`,
        text: { en: "0" },
      }));
      let { values } = validateValues(schema, { seo: { parts: start } });
      const wanted = new Map(start.map(({ _key }) => [_key, { en: "0" } as Texts]));
      const queues = [[...first], [...second]];
      for (const side of [...order, ...Array<boolean>(10).fill(true), ...Array<boolean>(10).fill(false)]) {
        const change = queues[side ? 1 : 0]?.shift();
        if (change === undefined) continue;
        const key = `b${change.block + (side ? 5 : 0)}`;
        const sent = { seo: { parts: { [key]: { text: change.text } } } };
        ({ values } = written(values, sent, { locale: change.language }));
        wanted.set(key, { ...wanted.get(key), [change.language]: change.text });
      }
      const { parts } = values.seo as { parts: { _key: string; text: Texts }[] };
      expect(new Map(parts.map(({ _key, text }) => [_key, text]))).toEqual(wanted);
    }),
    { seed, numRuns: 200 },
  );
});
