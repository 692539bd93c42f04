/**
 * The definition changes after a write into a change set was decided, and before it is stored. The write is decided
 * again, so no set gets a version that the new definition forbids.
 */
import { expect, test } from "vitest";
import { rebaseEntry } from "../../shared/changes/content/rebase.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { archiveEntry, createEntry, updateEntry, writeBatch } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Append, Store } from "../../shared/store/types.ts";
import { admin, callerIn, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";

const { deps, store } = await fileDeps();
const document = (id: string, more: object = {}) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", fields: [{ name: "title", type: "string", ...more }] }],
    },
  ],
});

/** Returns a store that does something once, before the first message that is sent to the orb's stream. */
function raced(orb: string, act: () => Promise<unknown>): TestDeps {
  let acting: Promise<unknown> | undefined;
  const batch: Store["batch"] = async (stream, messages: readonly Append[]) => {
    if (stream === streams.orb(orb)) acting ??= act();
    await acting;
    return store.batch(stream, messages);
  };
  return {
    ...deps,
    store: new Proxy(store, { get: (of, name) => (name === "batch" ? batch : Reflect.get(of, name)) }),
  };
}

const values = { title: "late" };
type Write = (on: TestDeps, orb: LiveOrb, set: string, id: string) => Promise<unknown>;
const within = async (on: TestDeps, orb: LiveOrb, set: string) =>
  writingInto(on, callerIn(admin, orb), orb, set);
const VERBS: Record<string, Write> = {
  creation: async (on, orb, set) => {
    const to = await within(on, orb, set);
    await createEntry(to.deps, admin, { orbId: orb.orb, orb, module: "news", values, into: to.into });
  },
  update: async (on, orb, set, id) => {
    const to = await within(on, orb, set);
    await updateEntry(to.deps, admin, { orbId: orb.orb, orb, id, values, into: to.into });
  },
  batch: async (on, orb, set, id) => {
    const to = await within(on, orb, set);
    await writeBatch(to.deps, admin, {
      ...{ orbId: orb.orb, orb, routed: true, into: to.together },
      items: [{ update: `news/article/${id}`, values }],
    });
  },
};

let number = 0;
async function begun(): Promise<{ orb: string; live: LiveOrb; set: string; id: string }> {
  const orb = `set-fence-${++number}`;
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const live = await requireLive(deps, orb);
  const { snapshot } = await createEntry(deps, admin, {
    ...{ orbId: orb, orb: live, module: "news", values: { title: "first" }, publish: true },
  });
  const set = newSet(deps, admin, { title: "Set" });
  await store.append(streams.orb(orb), setMessage(orb, set, 0));
  return { orb, live, set: set.id, id: snapshot.id };
}

test.each(Object.entries(VERBS))("a %s is decided again under the new definition", async (_, write) => {
  const { orb, live, set, id } = await begun();
  const on = raced(orb, () =>
    updateOrb(deps, admin, { orb, document: document(orb, { enum: ["first"] }), publish: true }),
  );
  const error = await failureOf(write(on, live, set, id));
  expect(error).toMatchObject({ kind: "invalid" });
  expect(JSON.stringify(error.errors)).toContain("/values/title");
  const content = await store.get(streams.orb(orb), subjects.changeContent(orb, set));
  expect(content).toBeNull();
});

test.each(Object.entries(VERBS))(
  "a %s that the new definition allows is stored with its names",
  async (_, write) => {
    const { orb, live, set, id } = await begun();
    const renamed = document(orb);
    const on = raced(orb, () => updateOrb(deps, admin, { orb, document: renamed, publish: true }));
    await write(on, live, set, id);
    const content = await store.get(streams.orb(orb), subjects.changeContent(orb, set));
    expect(content?.json()).toMatchObject({ items: [expect.objectContaining({ act: "publish" })] });
  },
);

test("a rebase of an archival is decided again", async () => {
  const { orb, live, set, id } = await begun();
  const to = await within(deps, live, set);
  await archiveEntry(to.deps, admin, { orbId: orb, orb: live, id, into: to.into });
  await updateEntry(deps, admin, { orbId: orb, orb: live, id, values: { title: "second" }, publish: true });
  const on = raced(orb, () =>
    updateOrb(deps, admin, { orb, document: document(orb, { description: "New" }), publish: true }),
  );
  const { snapshot } = await rebaseEntry(on, callerIn(admin, live), live, { set, entry: id, keep: {} });
  expect(snapshot.values).toMatchObject({ title: "second" });
});
