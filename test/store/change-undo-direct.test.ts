/** Sets that take back what an API token has published without a change set. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { contentOf } from "../../shared/changes/content/content.ts";
import type { SearchLimits } from "../../shared/changes/content/direct.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { undoSets } from "../../shared/changes/content/undo.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { publishedWith } from "../../shared/changes/review/read.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  loadEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { admin, callerIn, failureOf, fileOrb, storedValues } from "../support/entries.ts";

const { deps, orb } = await fileOrb();
const context = { orbId: "shop", orb };
const caller = callerIn(admin, orb);
const read: ReadContent = (with_, of, { id }) => contentOf(with_, of, id);

function agent(id: string): Actor {
  const token = { id, scopes: [{ orb: "*", can: ["read", "write", "publish"] as const }] };
  return { ...admin, token } as Actor;
}
async function product(by: Actor, values: object = {}, publish = true): Promise<string> {
  const entry = { module: "catalog", schema: "product", values: { title: { en: "Old" }, ...values } };
  return (await createEntry(deps, by, { ...context, ...entry, publish })).snapshot.id;
}
const write = (by: Actor, id: string, values: object, publish = true) =>
  updateEntry(deps, by, { ...context, id, values, merge: true, publish });
const publish = (set: string, by: Actor = admin) => publishSet(deps, by, { ...context, set });
async function undone(token: string, after?: number, limits?: SearchLimits) {
  const { sets, more, tooFar: nothing } = await publishedWith(deps, caller, orb, token);
  const made = await undoSets(deps, caller, orb, {
    sets,
    title: "Undo",
    token,
    nothing,
    after,
    limits,
  });
  return { ...made, more: more || !made.isWhole };
}
const headOf = async (id: string) => (await loadEntry(deps, "shop", id))?.head;
const valuesOf = async (id: string) => storedValues(await headOf(id));
const statusOf = async (id: string) => (await headOf(id))?.status;

describe("the undo of a token takes back direct writes", () => {
  it("of every kind, and leaves drafts and the writes of others", async () => {
    const bot = agent("d1");
    const [changed, gone, hidden, stored, draft, shown] = [
      await product(admin, { count: 1 }),
      await product(admin, { count: 1 }),
      await product(admin),
      await product(admin),
      await product(admin, { count: 1 }),
      await product(admin, {}, false),
    ];
    const made = await product(bot, { count: 5 });
    const later = await product(bot, { count: 5 }, false);
    await publishEntry(deps, bot, { ...context, id: later });
    const unseen = await product(bot, {}, false);
    await write(bot, changed, { count: 2 });
    await write(bot, changed, { count: 3, state: "used" });
    await write(admin, changed, { hot: true });
    await deleteEntry(deps, bot, { ...context, id: gone });
    await unpublishEntry(deps, bot, { ...context, id: hidden });
    await archiveEntry(deps, bot, { ...context, id: stored });
    await write(bot, draft, { count: 9 }, false);
    await publishEntry(deps, bot, { ...context, id: shown });
    const { set, more } = await undone("d1");
    expect([more, set.undoes, set.undoesToken]).toEqual([false, undefined, "d1"]);
    const { content } = { content: await contentOf(deps, orb, set.id) };
    expect(content.entries).toBe(7);
    await publish(set.id);
    expect(await valuesOf(changed)).toEqual({ title: { en: "Old" }, count: 1, state: "new", hot: true });
    expect(await Promise.all([gone, hidden, stored, shown, made, later].map(statusOf))).toEqual([
      "PUBLISHED",
      "PUBLISHED",
      "PUBLISHED",
      "UNPUBLISHED",
      "DELETED",
      "DELETED",
    ]);
    expect(await valuesOf(gone)).toMatchObject({ count: 1 });
    expect([await statusOf(unseen), await valuesOf(draft)]).toMatchObject(["SAVED", { count: 9 }]);
    expect((await failureOf(undone("d1"))).code).toBe("change_empty");
  });

  it("together with those of its sets, in the order in which they went live", async () => {
    const bot = agent("d2");
    const id = await product(admin, { count: 1 });
    await write(bot, id, { count: 2 });
    const set = (await openSet(deps, bot, { ...context, title: "Proposal" }, read)).set.id;
    const within = await writingInto(deps, caller, orb, set);
    await updateEntry(within.deps, admin, {
      ...context,
      id,
      values: { count: 3 },
      merge: true,
      into: within.into,
    });
    await publish(set, bot);
    await write(bot, id, { count: 4 });
    const { set: back } = await undone("d2");
    expect(back.undoes).toEqual([set]);
    await publish(back.id);
    expect(await valuesOf(id)).toEqual({ title: { en: "Old" }, count: 1, state: "new" });
    expect((await requireSet(deps, "shop", set)).set.state).toBe("REVERTED");
    expect((await failureOf(undone("d2"))).code).toBe("change_empty");
  });

  it("once more after it has written again, and again if the undo was taken back", async () => {
    const bot = agent("d3");
    const id = await product(admin, { count: 1 });
    await write(bot, id, { count: 2 });
    const first = await undone("d3");
    await publish(first.set.id);
    await write(bot, id, { count: 7 });
    const second = await undone("d3");
    await publish(second.set.id);
    expect(await valuesOf(id)).toMatchObject({ count: 1 });
    const redone = await revertSet(deps, caller, orb, { set: second.set.id });
    await publish(redone.id);
    expect(await valuesOf(id)).toMatchObject({ count: 7 });
    const third = await undone("d3");
    await publish(third.set.id);
    expect(await valuesOf(id)).toMatchObject({ count: 1 });
  });

  it("keeps what others have changed since, and shows where both have changed the same", async () => {
    const bot = agent("d4");
    const [other, same] = [await product(admin, { count: 1 }), await product(admin, { count: 1 })];
    await write(bot, other, { count: 2 });
    await write(bot, same, { count: 2 });
    await write(admin, other, { state: "used" });
    await write(admin, same, { count: 3 });
    const { set } = await undone("d4");
    expect((await failureOf(publish(set.id))).code).toBe("change_conflict");
    expect(await valuesOf(same)).toMatchObject({ count: 3 });
  });

  it.each([
    { entries: 20, bytes: Number.POSITIVE_INFINITY },
    { entries: Number.POSITIVE_INFINITY, bytes: 1 },
  ])("behind many drafts, in several requests ($entries entries, $bytes bytes each)", async (limits) => {
    const name = `d-far-${limits.bytes}`;
    const bot = agent(name);
    const id = await product(admin);
    await write(bot, id, { title: { en: "New" } });
    for (let n = 0; n < 40; n++) await product(bot, {}, false);
    let [after, requests]: [number | undefined, number] = [undefined, 0];
    for (;;) {
      requests++;
      const outcome: { set: { id: string } } | AppError = await undone(name, after, limits).catch(
        (error: AppError) => error,
      );
      if (!(outcome instanceof AppError)) {
        await publish(outcome.set.id);
        break;
      }
      const place: string | undefined = /cursor=(\d+)$/.exec(outcome.message)?.[1];
      expect([outcome.code, place]).toEqual(["change_empty", expect.any(String)]);
      after = Number(place);
    }
    expect(requests).toBeGreaterThan(1);
    expect((await valuesOf(id)).title).toEqual({ en: "Old" });
  });

  it("reads what the token wrote, however much is stored, and a mark for each entry is enough", async () => {
    const bot = agent("d5");
    for (let i = 0; i < 40; i++) await product(admin);
    const [a, b] = [await product(admin, { count: 1 }), await product(admin, { count: 1 })];
    for (let count = 2; count < 8; count++) await write(bot, a, { count });
    await write(bot, b, { count: 2 });
    const marks = await deps.store.scan(streams.orb("shop"), subjects.tokenWrites("shop", "d5"), {
      fromSeq: 1,
      limit: 100,
      maxBytes: 100_000,
    });
    expect(marks.messages.map((message) => message.text().split(".").at(-1))).toEqual([a, b]);
    const logs = new Set<string>();
    const store = new Proxy(deps.store, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (name !== "scan") return typeof member === "function" ? member.bind(target) : member;
        return (stream: string, filter: string, options: object) => {
          if (filter.includes(".owner.")) logs.add(filter);
          return Reflect.apply(member, target, [stream, filter, options]);
        };
      },
    });
    await undoSets({ ...deps, store }, caller, orb, { sets: [], title: "Undo", token: "d5" });
    expect(logs.size).toBe(2);
  });
});
