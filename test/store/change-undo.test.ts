/** Sets that take back everything that an API token has published. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { contentOf } from "../../shared/changes/content/content.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { undoSets } from "../../shared/changes/content/undo.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { publishedWith } from "../../shared/changes/review/read.ts";
import { createEntry, deleteEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { admin, callerIn, failureOf, fileOrb, storedValues } from "../support/entries.ts";

const { deps, orb } = await fileOrb();
const context = { orbId: "shop", orb };
const caller = callerIn(admin, orb);
const read: ReadContent = (with_, of, { id }) => contentOf(with_, of, id);

function agent(id: string): Actor {
  const token = { id, scopes: [{ orb: "*", can: ["read", "propose"] as const }] };
  return { ...admin, token } as Actor;
}
async function product(values: object = {}): Promise<string> {
  const entry = { module: "catalog", schema: "product", values: { title: { en: "Old" }, ...values } };
  return (await createEntry(deps, admin, { ...context, ...entry, publish: true })).snapshot.id;
}
async function opened(by: Actor): Promise<string> {
  return (await openSet(deps, by, { ...context, title: "Proposal" }, read)).set.id;
}
const into = (set: string) => writingInto(deps, caller, orb, set);
async function patch(set: string, id: string, values: object): Promise<void> {
  const within = await into(set);
  await updateEntry(within.deps, admin, { ...context, id, values, merge: true, into: within.into });
}
const publish = (set: string) => publishSet(deps, admin, { ...context, set });
const live = (id: string, values: object) =>
  updateEntry(deps, admin, { ...context, id, values, merge: true, publish: true });
async function undone(token: string) {
  const { sets, more } = await publishedWith(deps, caller, orb, token);
  return { set: await undoSets(deps, caller, orb, { sets, title: "Undo" }), more };
}
const headOf = async (id: string) => (await loadEntry(deps, "shop", id))?.head;
const stateOf = async (set: string) => (await requireSet(deps, "shop", set)).set;

describe("the undo of a token", () => {
  it("takes back all its sets, newest first, and keeps what others have changed", async () => {
    const [a, b, c] = [await product({ count: 1 }), await product({ count: 1 }), await product()];
    const first = await opened(agent("t1"));
    await patch(first, a, { count: 2 });
    await patch(first, b, { count: 2, state: "used" });
    const within = await into(first);
    const entry = {
      module: "catalog",
      schema: "product",
      values: { title: { en: "New" } },
      into: within.into,
    };
    const made = (await createEntry(within.deps, admin, { ...context, ...entry })).snapshot.id;
    await publish(first);
    // Others change the entry between the two publications.
    await live(b, { title: { en: "Theirs" }, state: "new" });
    const second = await opened(agent("t1"));
    await patch(second, a, { count: 3 });
    await patch(second, b, { count: 3 });
    const gone = await into(second);
    await deleteEntry(gone.deps, admin, { ...context, id: c, into: gone.into });
    await publish(second);
    await live(a, { state: "used" });
    const other = await opened(agent("t2"));
    await patch(other, a, { hot: true });
    await publish(other);
    const { set, more } = await undone("t1");
    expect([more, set.undoes]).toEqual([false, [second, first]]);
    await publish(set.id);
    expect(storedValues(await headOf(a))).toEqual({
      title: { en: "Old" },
      count: 1,
      state: "used",
      hot: true,
    });
    expect(storedValues(await headOf(b))).toEqual({ title: { en: "Theirs" }, count: 1, state: "new" });
    expect((await headOf(made))?.status).toBe("DELETED");
    expect(await headOf(c)).toMatchObject({ status: "PUBLISHED" });
    for (const id of [first, second])
      expect(await stateOf(id)).toMatchObject({ state: "REVERTED", revertedBy: set.id });
    expect((await stateOf(other)).state).toBe("PUBLISHED");
    expect((await failureOf(undone("t1"))).code).toBe("change_empty");
  });

  it("finds sets that the token has published, but not opened", async () => {
    const id = await product();
    const set = await opened(admin);
    await patch(set, id, { count: 2 });
    const token = { id: "t3", scopes: [{ orb: "*", can: ["read", "write", "publish"] as const }] };
    await publishSet(deps, { ...admin, token } as Actor, { ...context, set });
    expect((await stateOf(set)).published).toMatchObject({ token: "t3" });
    const { set: back } = await undone("t3");
    await publish(back.id);
    expect(storedValues(await headOf(id)).count).toBeUndefined();
  });

  it("takes back a limited number of sets, and says that there are more", async () => {
    const id = await product({ count: 0 });
    for (let count = 1; count <= 52; count++) {
      const set = await opened(agent("busy"));
      await patch(set, id, { count });
      await publish(set);
    }
    const { set, more } = await undone("busy");
    expect([more, set.undoes?.length]).toEqual([true, 50]);
    await publish(set.id);
    expect(storedValues(await headOf(id))).toMatchObject({ count: 2 });
    const rest = await undone("busy");
    expect([rest.more, rest.set.undoes?.length]).toEqual([false, 2]);
    await publish(rest.set.id);
    expect(storedValues(await headOf(id))).toMatchObject({ count: 0 });
  });
});
