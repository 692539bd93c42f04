/** Sets that take back everything that an API token has published. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { contentOf, readContent } from "../../shared/changes/content/content.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { undoSets } from "../../shared/changes/content/undo.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { listInOrder } from "../../shared/changes/review/listed.ts";
import { publishedWith } from "../../shared/changes/review/read.ts";
import { createEntry, deleteEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { StoredMessage } from "../../shared/store/types.ts";
import { admin, callerIn, failureOf, fileOrb, storedValues } from "../support/entries.ts";

const { deps, orb } = await fileOrb();
const context = { orbId: "shop", orb };
const caller = callerIn(admin, orb);
const read: ReadContent = (with_, of, { id }) => contentOf(with_, of, id);

function agent(id: string): Actor {
  const token = { id, scopes: [{ orb: "*", can: ["read", "propose"] as const }] };
  return { ...admin, token } as Actor;
}
function writer(id: string): Actor {
  const token = { id, scopes: [{ orb: "*", can: ["read", "write"] as const }] };
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
async function createdIn(within: Awaited<ReturnType<typeof writingInto>>): Promise<string> {
  const entry = { module: "catalog", schema: "product", values: { title: { en: "New" } } };
  const made = await createEntry(within.deps, admin, { ...context, ...entry, into: within.into });
  return made.snapshot.id;
}
const publish = (set: string) => publishSet(deps, admin, { ...context, set });
const live = (id: string, values: object) =>
  updateEntry(deps, admin, { ...context, id, values, merge: true, publish: true });
async function undone(token: string) {
  const { sets, more, tooFar: nothing } = await publishedWith(deps, caller, orb, token);
  const { set, isWhole } = await undoSets(deps, caller, orb, { sets, title: "Undo", token, nothing });
  return { set, more: more || !isWhole };
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

  it("does not bring back what the token itself has taken back", async () => {
    const [a, b] = [await product({ count: 1 }), await product({ count: 1 })];
    const first = await opened(agent("t4"));
    await patch(first, a, { count: 666 });
    const within = await into(first);
    await deleteEntry(within.deps, admin, { ...context, id: b, into: within.into });
    await publish(first);
    const back = async (set: string) => {
      const by = callerIn(writer("t4"), orb);
      const reverting = await revertSet(deps, by, orb, { set });
      await publish(reverting.id);
      return reverting.id;
    };
    const second = await back(first);
    expect((await failureOf(undone("t4"))).code).toBe("change_empty");
    expect(storedValues(await headOf(a)).count).toBe(1);
    expect(await headOf(b)).toMatchObject({ status: "PUBLISHED" });
    // The token takes that back as well, so what it has published first is live again.
    const third = await back(second);
    expect(storedValues(await headOf(a)).count).toBe(666);
    const { set } = await undone("t4");
    expect(set.undoes).toEqual([third, second, first]);
    await publish(set.id);
    expect(storedValues(await headOf(a)).count).toBe(1);
    expect(await headOf(b)).toMatchObject({ status: "PUBLISHED" });
    expect(await stateOf(third)).toMatchObject({ state: "REVERTED", revertedBy: set.id });
    expect((await failureOf(undone("t4"))).code).toBe("change_empty");
  });

  it("takes back what the token has written into a set that takes another one back", async () => {
    const [a, b] = [await product({ count: 1 }), await product({ count: 1 })];
    const first = await opened(agent("t5"));
    await patch(first, a, { count: 2 });
    await publish(first);
    const reverting = await revertSet(deps, callerIn(writer("t5"), orb), orb, { set: first });
    await patch(reverting.id, b, { count: 666 });
    await publish(reverting.id);
    const { set } = await undone("t5");
    await publish(set.id);
    expect([storedValues(await headOf(a)).count, storedValues(await headOf(b)).count]).toEqual([1, 1]);
  });

  it("keeps the order of publication, whatever the clocks of the hosts say", async () => {
    const id = await product({ count: 0 });
    for (const [count, ahead] of [
      [1, 60_000],
      [2, 0],
    ] as const) {
      const set = await opened(agent("t6"));
      await patch(set, id, { count });
      const clock = { now: () => Date.now() + ahead };
      await publishSet({ ...deps, clock }, admin, { ...context, set });
    }
    const { set } = await undone("t6");
    await publish(set.id);
    expect(storedValues(await headOf(id)).count).toBe(0);
  });

  it("leaves for another undo what does not fit into one set, or was taken out of it", async () => {
    const made: string[] = [];
    for (let round = 0; round < 2; round++) {
      const set = await opened(agent("large"));
      const into = await writingInto(deps, caller, orb, set);
      for (let index = 0; index < 15; index++) made.push(await createdIn(into));
      await publish(set);
    }
    const { sets } = await publishedWith(deps, caller, orb, "large");
    const first = await undone("large");
    const { content } = await readContent(deps, "shop", first.set.id);
    expect([first.more, content.items.length, content.takes?.length]).toEqual([false, 30, 30]);
    const ofNewest = new Set(
      (await readContent(deps, "shop", sets[0]?.id ?? "")).content.items.map(({ id }) => id),
    );
    for (const id of made.filter((one) => ofNewest.has(one)).slice(0, 5))
      await takeOut(deps, caller, orb, { set: first.set.id, entry: id });
    await publish(first.set.id);
    expect(await stateOf(sets[0]?.id ?? "")).toMatchObject({
      state: "PUBLISHED",
      revertedInPart: [first.set.id],
    });
    expect(await stateOf(sets[1]?.id ?? "")).toMatchObject({ state: "REVERTED", revertedBy: first.set.id });
    const second = await undone("large");
    expect([second.more, second.set.undoes]).toEqual([false, [sets[0]?.id]]);
    expect((await readContent(deps, "shop", second.set.id)).content.items).toHaveLength(5);
    await publish(second.set.id);
    expect((await stateOf(sets[0]?.id ?? "")).state).toBe("REVERTED");
    for (const id of made) expect((await headOf(id))?.status).toBe("DELETED");
    // The second set is taken back: what it took back is in effect again.
    const again = await revertSet(deps, caller, orb, { set: second.set.id });
    expect((await readContent(deps, "shop", again.id)).content.items).toHaveLength(5);
  });

  it("takes back deletions one part after the other", async () => {
    const note = { ...context, module: "catalog", schema: "note", values: { text: "Old" }, publish: true };
    const made = await Promise.all(Array.from({ length: 90 }, () => createEntry(deps, admin, note)));
    const ids = made.map(({ snapshot }) => snapshot.id);
    const set = await opened(agent("gone"));
    const into = await writingInto(deps, caller, orb, set);
    for (const id of ids) await deleteEntry(into.deps, admin, { ...context, id, into: into.into });
    await publish(set);
    const first = await revertSet(deps, caller, orb, { set });
    const { content } = await readContent(deps, "shop", first.id);
    expect([content.items.length, content.takes?.length]).toEqual([90, 90]);
    // What is taken out is not lost either.
    for (const { id } of content.items.slice(0, 60))
      await takeOut(deps, caller, orb, { set: first.id, entry: id });
    await publish(first.id);
    expect((await stateOf(set)).state).toBe("PUBLISHED");
    const second = await revertSet(deps, caller, orb, { set });
    await publish(second.id);
    expect(await stateOf(set)).toMatchObject({ state: "REVERTED", revertedInPart: [first.id] });
    for (const id of ids) expect((await headOf(id))?.status).toBe("PUBLISHED");
  });

  it("takes back a limited number of sets, those that were published last, and says that there are more", async () => {
    const id = await product({ count: 0 });
    const other = await product({ count: 0 });
    // The set that is opened first is published last.
    const late = await opened(agent("busy"));
    await patch(late, other, { count: 9 });
    for (let count = 1; count <= 52; count++) {
      const set = await opened(agent("busy"));
      await patch(set, id, { count });
      await publish(set);
    }
    await publish(late);
    const { set, more } = await undone("busy");
    expect([more, set.undoes?.length, set.undoes?.[0]]).toEqual([true, 50, late]);
    await publish(set.id);
    expect(storedValues(await headOf(id))).toMatchObject({ count: 3 });
    expect(storedValues(await headOf(other))).toMatchObject({ count: 0 });
    const rest = await undone("busy");
    expect([rest.more, rest.set.undoes?.length]).toEqual([false, 3]);
    await publish(rest.set.id);
    expect(storedValues(await headOf(id))).toMatchObject({ count: 0 });
  });

  it("says so if it does not find the sets of the token among the newest ones", async () => {
    const set = await opened(agent("old"));
    await patch(set, await product(), { count: 2 });
    await publish(set);
    const order = subjects.changeOrder("shop");
    for (let batch = 0; batch < 10; batch++) {
      const ids = Array.from({ length: 1_000 }, (_, index) => ({
        subject: order,
        data: `x${batch}x${index}`,
      }));
      await deps.store.batch(streams.orb("shop"), ids);
    }
    expect((await failureOf(undone("old"))).code).toBe("too_broad");
    // Sets that a list leaves out count for the limit of its reads, and the next page goes on.
    const listing = {
      ...{ orb: "shop", order, subjectOf: (id: string) => subjects.changeRecord("shop", id), limit: 10 },
      ...{ newestFirst: true, among: new Set([set]), take: (message: StoredMessage) => message.subject },
    };
    let pages = 0;
    let found: string[] = [];
    for (let after: number | null | undefined; after !== null && found.length === 0; pages++) {
      const page = await listInOrder(deps, { ...listing, after });
      found = page.items;
      after = page.next;
    }
    expect(found).toEqual([subjects.changeRecord("shop", set)]);
    expect(pages).toBeGreaterThan(5);
  });
});
