/** Change sets over the entries of a shop. */
import { expect } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { readingIn, writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { getEntry } from "../../shared/entry/read/get.ts";
import { streams } from "../../shared/store/subjects.ts";
import { admin, callerIn, fileOrb, readAs, SHOP, storedValues, type TestDeps } from "./entries.ts";

/** Starts a broker with the shop for the tests of a file, and returns what they do with change sets. */
export async function fileSets() {
  const { broker, deps, orb, store } = await fileOrb({
    ...SHOP,
    modules: [
      ...(SHOP.modules ?? []),
      {
        id: "guarded",
        type: "CONTENT",
        schemas: [
          {
            id: "offer",
            access: {
              read: ["public"],
              create: ["admin"],
              update: ["admin"],
              publish: ["admin"],
              delete: ["owner"],
            },
            fields: [
              { name: "title", type: "string" },
              { name: "price", type: "number", access: { write: ["owner"] } },
            ],
          },
        ],
      },
    ],
  });
  const context = { orbId: "shop", orb };
  const schema = orb.compiled.schema("catalog", "product") ?? expect.fail("no schema");
  const choice = {
    languages: ["en"],
    markets: ["US"],
    fallback: true,
    negotiated: false,
    allLocales: true,
  } as never;
  async function opened(): Promise<string> {
    const set = newSet(deps, admin, { title: "Spring sale" });
    await store.append(streams.orb("shop"), setMessage("shop", set, 0));
    return set.id;
  }
  const into = (set: string, actor: Actor = admin, more: { force?: boolean } = {}) =>
    writingInto(deps, callerIn(actor, orb), orb, set, more);
  const publish = (set: string, actor: Actor = admin, with_: TestDeps = deps) =>
    publishSet(with_, actor, { ...context, set });
  async function product(values: object = {}, more: object = {}) {
    const made = await createEntry(deps, admin, {
      ...context,
      module: "catalog",
      schema: "product",
      values: { title: { en: "Old" }, ...values },
      publish: true,
      ...more,
    });
    return made.snapshot.id;
  }
  async function create(set: string, values: object) {
    const { deps: within, into: to } = await into(set);
    const entry = { module: "catalog", schema: "product", values: { title: { en: "New" }, ...values } };
    return (await createEntry(within, admin, { ...context, ...entry, into: to })).snapshot;
  }
  async function patch(set: string, id: string, values: object, ifMatch?: number) {
    const { deps: within, into: to } = await into(set);
    return (await updateEntry(within, admin, { ...context, id, values, merge: true, into: to, ifMatch }))
      .snapshot;
  }
  const head = async (id: string) => (await loadEntry(deps, "shop", id))?.head;
  const valuesOf = async (id: string) => storedValues(await head(id));
  async function tagOf(set: string, id: string) {
    const within = await readingIn(deps, callerIn(admin, orb), orb, set);
    const reading = readAs(admin, orb, schema);
    await getEntry(within.deps, { reading, id, choice, query: { fields: undefined, expand: [] } as never });
    return within.tag();
  }
  async function seen(set: string | undefined, id: string, actor: Actor = admin) {
    const within = set === undefined ? deps : (await readingIn(deps, callerIn(actor, orb), orb, set)).deps;
    const reading = readAs(actor, orb, schema);
    return (
      await getEntry(within, { reading, id, choice, query: { fields: undefined, expand: [] } as never })
    ).entry;
  }
  return {
    broker,
    deps,
    orb,
    store,
    context,
    schema,
    choice,
    opened,
    into,
    publish,
    product,
    create,
    patch,
    head,
    valuesOf,
    tagOf,
    seen,
  };
}
