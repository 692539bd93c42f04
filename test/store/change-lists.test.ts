/** Lists that are read while a change set is published show all of the publication, or nothing of it. */
import { expect, it } from "vitest";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { createEntry, updateEntry } from "../../shared/entry/index.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, callerIn, fileOrb, readAs, type TestDeps } from "../support/entries.ts";

const { deps, orb, store } = await fileOrb();
const context = { orbId: "shop", orb };
const place = { module: "catalog", schema: "product" };
const schema = orb.compiled.schema("catalog", "product") ?? expect.fail("no schema");
const choice = {
  languages: ["en"],
  markets: ["US"],
  fallback: true,
  negotiated: false,
  allLocales: true,
} as never;
const MINUTE = 60_000;

async function product(): Promise<string> {
  const values = { title: { en: "Old" } };
  return (await createEntry(deps, admin, { ...context, ...place, values, publish: true })).snapshot.id;
}

/** Makes a set that changes an entry and creates another one. */
async function release(id: string): Promise<{ set: string; added: string }> {
  const set = newSet(deps, admin, { title: "Spring sale" });
  await store.append(streams.orb("shop"), setMessage("shop", set, 0));
  const within = async () => {
    const { deps: inSet, into } = await writingInto(deps, callerIn(admin, orb), orb, set.id);
    return [inSet, admin, { ...context, into, values: { title: { en: "New" } } }] as const;
  };
  const [ofUpdate, by, update] = await within();
  await updateEntry(ofUpdate, by, { ...update, id, merge: true });
  const [ofCreation, , creation] = await within();
  const { snapshot } = await createEntry(ofCreation, by, { ...creation, ...place });
  return { set: set.id, added: snapshot.id };
}

/**
 * Returns a store that does something once, between the reads of an index and of an entry. If the newest revision and the
 * published copy are read apart, it does it between the two.
 */
function between(id: string, act: () => Promise<unknown>): Store {
  const address = { orb: "shop", ...schema.home, id };
  const [log, live] = [subjects.entryLog(address), subjects.entryLive(address, schema.liveRole)];
  let acted: Promise<unknown> | undefined;
  let copyIsRead: () => void = () => undefined;
  const copy = new Promise<void>((resolve) => {
    copyIsRead = resolve;
  });
  const getMany: Store["getMany"] = async (stream, wanted, options) => {
    if (!wanted.includes(log)) return store.getMany(stream, wanted, options);
    if (wanted.includes(live) && acted !== undefined) {
      const found = await store.getMany(stream, wanted, options);
      copyIsRead();
      return found;
    }
    acted ??= wanted.includes(live) ? act() : copy.then(act);
    await acted;
    return store.getMany(stream, wanted, options);
  };
  return new Proxy(store, {
    get: (target, name) => (name === "getMany" ? getMany : Reflect.get(target, name)),
  });
}

// Reads of a single entry take another way.
await product();

it.each([
  ["entries", { hasDraft: false, latest: false, ahead: 0 }],
  ["an entry with a draft beside it", { hasDraft: true, latest: false, ahead: 0 }],
  ["newest revisions", { hasDraft: false, latest: true, ahead: 0 }],
  ["newest revisions, of an entry with a draft", { hasDraft: true, latest: true, ahead: 0 }],
  ["entries, on a host whose clock is ahead", { hasDraft: false, latest: false, ahead: MINUTE }],
])("a list of %s shows no half of a publication", async (_, { hasDraft, latest, ahead }) => {
  const id = await product();
  if (hasDraft)
    await updateEntry(deps, admin, { ...context, id, values: { title: { de: "Entwurf" } }, merge: true });
  const { set, added } = await release(id);
  const reading = readAs(admin, orb, schema, latest);
  const query = parseListQuery(new URLSearchParams("limit=100"), schema, []);
  const list = async (within: TestDeps) => {
    const { items } = await listEntries(within, { reading, choice, query });
    const title = items.find((item) => item.id === id)?.values.title as { en: string };
    return [title.en, items.some((item) => item.id === added)];
  };
  const clock = { now: () => Date.now() + ahead };
  const publishing = between(id, () => publishSet(deps, admin, { ...context, set }));
  const seen = await list({ ...deps, clock, store: publishing });
  expect([
    ["Old", false],
    ["New", true],
  ]).toContainEqual(seen);
  expect(await list(deps)).toEqual(["New", true]);
});
