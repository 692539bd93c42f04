/** Changes of type between writes, and interrupted at every step: values, indexes and unique values stay right. */
import { expect, test } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { createEntry, updateEntry } from "../../shared/entry/index.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, readAs, type TestDeps } from "../support/entries.ts";
import { rounds, someSteps, testRandom } from "../support/random.ts";

const { store, deps } = await fileDeps();

/** The types of the field. All show a whole number as the same digits, only a slug after an n, by a rule. */
const TYPES = {
  integer: { type: "integer" },
  decimal: { type: "decimal", scale: 0 },
  string: { type: "string" },
  slug: { type: "slug" },
} as const;
type TypeName = keyof typeof TYPES;
/** The types to which each one can change. */
const NEXT: Record<TypeName, readonly TypeName[]> = {
  integer: ["decimal", "string"],
  decimal: ["integer", "string"],
  string: ["integer", "decimal", "slug"],
  slug: ["string"],
};

const shownAs = (type: TypeName, number: number) =>
  type === "integer" ? number : type === "slug" ? `n${number}` : String(number);
const VALUE = { var: "value" };
const TO_SLUG = { convert: { cat: ["n", VALUE] } };
const TO_STRING = { convert: { substr: [VALUE, 1] } };

interface Shape {
  type: TypeName;
  name: string;
  was?: string;
  from?: object;
  /** Whether the field is a member of the object `o`. */
  inside?: true;
}

const documentOf = (id: string, { type, name, was, from, inside }: Shape) => {
  const code = {
    name,
    ...(was === undefined ? {} : { was }),
    ...(from === undefined ? {} : { from }),
    ...TYPES[type],
    unique: true,
    index: "ordered",
  };
  const object = { name: "o", type: "object", fields: [code], from: { fields: { [name]: name } } };
  const title = { name: "title", type: "string", search: true, translatable: type !== "integer" };
  const schema = { id: "s", access: { read: "public" }, fields: [inside === true ? object : code, title] };
  return { id, languages: ["en", "de"], modules: [{ id: "m", type: "CONTENT", schemas: [schema] }] };
};

async function inForce(orb: string): Promise<LiveOrb> {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("there is no such orb");
  return found;
}

const publish = (orb: string, shape: Shape, by: TestDeps = deps) =>
  updateOrb(by, admin, { orb, document: documentOf(orb, shape), publish: true });

const valuesOf = ({ type, name, inside }: Shape, number: number) => ({
  ...(inside === true ? { o: { [name]: shownAs(type, number) } } : { [name]: shownAs(type, number) }),
  title: type === "integer" ? `word${number}` : { en: `word${number}` },
});

async function create(orb: LiveOrb, shape: Shape, number: number): Promise<string> {
  const target = { orbId: orb.orb, orb, module: "m", schema: "s" };
  const { snapshot } = await createEntry(deps, admin, {
    ...target,
    values: valuesOf(shape, number),
    publish: true,
  });
  return snapshot.id;
}

const rewrite = (orb: LiveOrb, shape: Shape, id: string, number: number) =>
  updateEntry(deps, admin, { orbId: orb.orb, orb, id, values: valuesOf(shape, number), publish: true });

async function listed(
  orb: LiveOrb,
  { name, inside }: Shape,
  parameters: Record<string, string>,
): Promise<unknown[]> {
  const schema = orb.compiled.schema("m", "s");
  if (schema === undefined) throw new Error("the document has one schema");
  const query = parseListQuery(new URLSearchParams({ limit: "100", ...parameters }), schema, []);
  const reading = readAs(admin, orb, schema);
  const page = await listEntries(deps, { reading, choice: choose(orb.compiled, {}), query });
  return page.items.map(({ values }) => (inside === true ? Object(values.o) : values)[name]);
}

/** Compares lists by each index with the numbers of the entries. */
async function expectFound(id: string, shape: Shape, numbers: readonly number[]): Promise<void> {
  const { type } = shape;
  const name = shape.inside === true ? `o.${shape.name}` : shape.name;
  const orb = await inForce(id);
  const isText = type === "string" || type === "slug";
  const order = [...numbers].sort((a, b) => (isText ? (String(a) < String(b) ? -1 : 1) : a - b));
  expect(await listed(orb, shape, { sort: name })).toEqual(order.map((number) => shownAs(type, number)));
  for (const number of numbers) {
    const only = [shownAs(type, number)];
    expect(await listed(orb, shape, { [`filter[${name}]`]: String(shownAs(type, number)) })).toEqual(only);
    expect(await listed(orb, shape, { search: `word${number}` })).toEqual(only);
  }
}

test("values, indexes and unique values follow each change of type, whatever was written in between", async () => {
  const random = testRandom();
  const id = "types-model";
  let shape: Shape = { type: "integer", name: "code" };
  await createOrb(deps, admin, { document: documentOf(id, shape), publish: true });
  const entries = new Map<string, number>();
  let next = 95;
  for (let step = 0; step < rounds(20); step++) {
    const orb = await inForce(id);
    const [old] = entries.keys();
    const act = random.below(4);
    if (act === 0 && old !== undefined) {
      // The entry that was written first comes last, so that each one is written again.
      entries.delete(old);
      entries.set(old, ++next);
      await rewrite(orb, shape, old, next);
    } else if (act < 2 || entries.size < 3) {
      entries.set(await create(orb, shape, ++next), next);
    } else {
      const type = random.pick(NEXT[shape.type]);
      const name = random.pick(["code", "number"]);
      const isRead = { until: false };
      const reads = (async () => {
        while (!isRead.until) await listed(await inForce(id), shape, { sort: "id" });
      })();
      const { name: was } = shape;
      const from = type === "slug" ? TO_SLUG : shape.type === "slug" ? TO_STRING : undefined;
      await publish(id, {
        type,
        name,
        ...(was === name ? {} : { was }),
        ...(from === undefined ? {} : { from }),
      });
      isRead.until = true;
      await reads;
      shape = { type, name };
    }
    const taken = random.pick([...entries.values()]);
    expect((await failureOf(create(await inForce(id), shape, taken))).code).toBe("unique_conflict");
    await expectFound(id, shape, [...entries.values()]);
  }
  const damages: unknown[] = [];
  await verifyAll(deps, (_what, found) => void damages.push(...found));
  expect(damages).toEqual([]);
});

test.each<[string, Shape, Shape]>([
  ["change", { type: "integer", name: "code" }, { type: "string", name: "code" }],
  ["rule", { type: "string", name: "code" }, { type: "slug", name: "code", from: TO_SLUG }],
  ["move", { type: "integer", name: "code" }, { type: "integer", name: "code", inside: true }],
])("a %s of a field is active or not, wherever the publication crashes", async (what, before, after) => {
  for (const step of someSteps(3)) {
    const id = `types-crash-${what}-${step}`;
    await createOrb(deps, admin, { document: documentOf(id, before), publish: true });
    const orb = await inForce(id);
    for (const number of [9, 10]) await create(orb, before, number);
    const dying = { ...deps, store: stoppingStore(store, step) } as TestDeps;
    const through = await publish(id, after, dying).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Stopped)) throw error;
        return false;
      },
    );
    await reconcileAll(deps);
    const { revision } = await inForce(id);
    await expectFound(id, revision === 1 ? before : after, [9, 10]);
    // The way back, or on.
    await publish(
      id,
      revision === 1 ? after : { ...before, ...(what === "rule" ? { from: TO_STRING } : {}) },
    );
    await expectFound(id, revision === 1 ? after : before, [9, 10]);
    const now = await inForce(id);
    const taken = create(now, revision === 1 ? after : before, 9);
    expect((await failureOf(taken)).code).toBe("unique_conflict");
    if (through) break;
  }
});
