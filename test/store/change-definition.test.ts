/** Publications of change sets with a definition: crashes before every step, and races. */
import { describe, expect, it } from "vitest";
import { contentOf, publishSet, revertSet, writingInto } from "../../shared/changes/content/index.ts";
import { contextIn } from "../../shared/changes/definition/index.ts";
import { proposeDefinition } from "../../shared/changes/proposal/index.ts";
import { requireSet } from "../../shared/changes/record/index.ts";
import { openSet, type ReadContent } from "../../shared/changes/review/index.ts";
import {
  exists,
  liveOrb,
  liveRecord,
  orbHead,
  requireLive,
  settleAwaited,
} from "../../shared/definition/stored/index.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { namedEntry } from "../../shared/entry/model/index.ts";
import { Definitions } from "../../shared/hooks/after/definitions.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/index.ts";
import { getOrb, listOrbRevisions } from "../../shared/orb/read.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { subjects } from "../../shared/store/subjects.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, callerIn, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";
import { rounds, testRandom } from "../support/random.ts";

const { deps, store } = await fileDeps();
/** For what comes so long after a crash that no publication can still be running. */
const later: TestDeps = { ...deps, clock: { now: () => deps.clock.now() + 60_000 } };

const TITLE = { name: "title", type: "string" } as const;
/** The publication of a unique field has to block writes for a moment. */
const CODE = { name: "code", type: "string", unique: true } as const;
const NOTE = { name: "note", type: "string", index: "ordered" } as const;

const document = (id: string, fields: readonly object[] = [TITLE]) => ({
  id,
  modules: [
    { id: "news", type: "CONTENT", schemas: [{ id: "article", access: { read: ["public"] }, fields }] },
  ],
  hooks: [{ id: "tell", on: ["entry.published"], url: "https://example.org/" }],
});

let serial = 0;
interface Shop {
  orb: string;
  id: string;
  set: string;
}

async function orbWithEntry(): Promise<{ orb: string; id: string }> {
  const orb = `released-${++serial}`;
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const live = await requireLive(deps, orb);
  const values = { title: "old" };
  const made = await createEntry(deps, admin, {
    orbId: orb,
    orb: live,
    module: "news",
    values,
    publish: true,
  });
  return { orb, id: made.snapshot.id };
}

async function setWith(orb: string, id: string, fields: readonly object[], values: object): Promise<string> {
  const live = await requireLive(deps, orb);
  const read: ReadContent = (given, context, { id: of }) => contentOf(given, context, of);
  const { set } = await openSet(deps, admin, { orbId: orb, orb: live, title: "Release" }, read);
  await proposeDefinition(deps, admin, { orb, set: set.id, proposed: { document: document(orb, fields) } });
  const context = await contextIn(deps, live, set.id);
  const to = await writingInto(deps, callerIn(admin, context), context, set.id);
  await updateEntry(to.deps, admin, { orbId: orb, orb: context, id, values, merge: true, into: to.into });
  return set.id;
}

async function shop(fields: readonly object[], values: object): Promise<Shop> {
  const { orb, id } = await orbWithEntry();
  return { orb, id, set: await setWith(orb, id, fields, values) };
}

const publish = async (with_: TestDeps, { orb, set }: Shop) =>
  publishSet(with_, admin, { orbId: orb, orb: await requireLive(with_, orb), set });

/** What readers see: the names of the fields, and the values of the entry. */
async function seen({ orb, id }: Pick<Shop, "orb" | "id">) {
  const live = await requireLive(deps, orb);
  const entry = namedEntry(live.compiled, await loadEntry(deps, orb, id));
  const fields = [...(live.compiled.schema("news")?.fields.keys() ?? [])];
  return { revision: live.revision, fields, values: { ...entry?.head.values } };
}

/** What the hooks process knows. */
const hooked = new Definitions(deps);

/** Returns what the hooks process knows while the streams of applications cannot be read. */
async function hookedWithoutStreams(): Promise<Definitions> {
  const get: typeof store.get = () => Promise.reject(new Error("no leader"));
  const without = new Proxy(store, {
    get: (target, name) => (name === "get" ? get : Reflect.get(target, name)),
  });
  const found = new Definitions({ ...deps, store: without });
  await found.refresh();
  return found;
}

/** Checks that the history, the live definition and the set say the same. */
async function requireSettled({ orb, set }: Shop): Promise<void> {
  const [head, record] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
  if (!exists(head)) throw new Error("no orb");
  expect(head.awaits).toBeUndefined();
  expect([record?.record.next, record?.record.work]).toEqual([undefined, undefined]);
  expect(record?.record.revision).toBe(head.publishedRevision);
  const isPublished = (await requireSet(deps, orb, set)).set.state === "PUBLISHED";
  expect(record?.record.document?.modules[0]?.schemas[0]?.fields.length).toBe(isPublished ? 2 : 1);
}

const REPAIRS: Record<string, (shop: Shop) => Promise<unknown>> = {
  "the next start": () => reconcileAll(later),
  "the next look at the orb": ({ orb }) => getOrb(later, admin, { orb }),
  "the next change of the orb": ({ orb }) =>
    updateOrb(later, admin, { orb, document: { ...document(orb), name: "Draft" } }),
  "the next publication of the set": (one) => publish(later, one).catch((error: unknown) => error),
};

describe.each([
  ["with a unique field", [TITLE, CODE], { title: "new", code: "1" }],
  ["with an ordered index", [TITLE, NOTE], { title: "new", note: "n" }],
] as const)("a publication %s that stops before any of its steps", (_, fields, values) => {
  it("shows all or nothing, and is settled by the next start, look, change or publication", async () => {
    const repairs = Object.entries(REPAIRS);
    // Each run tries another repair after a step.
    const first = testRandom().below(repairs.length);
    let stops = 0;
    for (; ; stops++) {
      const [name, repair] = repairs[(first + stops) % repairs.length] ?? ["", async () => {}];
      const one = await shop(fields, values);
      const before = await seen(one);
      const isDone = await publish({ ...deps, store: stoppingStore(store, stops) }, one).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Stopped) return false;
          throw error;
        },
      );
      const isPublished = (await requireSet(deps, one.orb, one.set)).set.state === "PUBLISHED";
      const after = { fields: fields.map(({ name }) => name), values };
      expect(await seen(one), `step ${stops}`).toMatchObject(isPublished ? after : before);
      // A writer goes on at once, with the definition that serves.
      const live = await requireLive(deps, one.orb);
      await hooked.refresh();
      expect(hooked.orbs.get(one.orb)?.live.revision, `step ${stops}`).toBe(live.revision);
      expect((await hookedWithoutStreams()).orbs.has(one.orb)).toBe(true);
      await createEntry(deps, admin, {
        ...{ orbId: one.orb, orb: live, module: "news", values: { title: "other" } },
      });
      await repair(one);
      await getOrb(later, admin, { orb: one.orb });
      await requireSettled(one);
      if ((await requireSet(deps, one.orb, one.set)).set.state !== "PUBLISHED") {
        if (name === "the next change of the orb") {
          expect(await failureOf(publish(later, one))).toMatchObject({ code: "definition_draft" });
          continue;
        }
        await publish(later, one);
        await requireSettled(one);
      }
      expect(await seen(one)).toMatchObject(after);
      if (isDone) break;
    }
    expect(stops).toBeGreaterThan(12);
  }, 120_000);
});

it("says in the history of the orb what was published with the set", async () => {
  const one = await shop([TITLE, NOTE], { note: "n" });
  await publish(deps, one);
  const { items } = await listOrbRevisions(deps, admin, { orb: one.orb, limit: 10, descending: false });
  expect(items.map(({ revision, operation }) => [revision, operation])).toEqual(
    expect.arrayContaining([
      [1, "create"],
      [2, "change"],
      [3, "publish"],
    ]),
  );
  expect((await loadEntry(deps, one.orb, one.id))?.head.defRevision).toBe(3);
  const live = await requireLive(deps, one.orb);
  const back = await revertSet(deps, callerIn(admin, live), live, { set: one.set });
  await publish(deps, { ...one, set: back.id });
  expect(await seen(one)).toMatchObject({ revision: 5, fields: ["title"], values: { title: "old" } });
});

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof AppError) return error.code;
      throw error;
    },
  );

it("is one of the publications that come after each other, also in a race", async () => {
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds(6); round++) {
    const { orb, id } = await orbWithEntry();
    const one: Shop = { orb, id, set: await setWith(orb, id, [TITLE, CODE], { title: "1", code: "c" }) };
    const two: Shop = { orb, id, set: await setWith(orb, id, [TITLE, NOTE], { note: "n" }) };
    const live = await requireLive(deps, orb);
    const write = async (n: number) =>
      createEntry(deps, admin, { orbId: orb, orb: live, module: "news", values: { title: `w${n}` } });
    const other = round % 3 === 0;
    const results = await Promise.all([
      codeOf(publish(deps, one)),
      codeOf(publish(deps, two)),
      other
        ? codeOf(
            updateOrb(deps, admin, {
              ...{ orb, publish: true, document: { ...document(orb), name: "Other" } },
            }),
          )
        : "none",
      ...[1, 2, 3, 4].map((n) => codeOf(write(n))),
    ]);
    const [first, second, third] = results;
    outcomes.add(`${first} ${second} ${third}`);
    expect(results.slice(3)).toEqual(["ok", "ok", "ok", "ok"]);
    const won = [first, second].filter((code) => code === "ok");
    expect(won.length).toBeLessThanOrEqual(1);
    // Whoever comes second finds another definition than the one that it follows.
    for (const code of [first, second]) expect(["ok", "definition_conflict"]).toContain(code);
    expect(won.length + (third === "ok" ? 1 : 0)).toBeGreaterThan(0);
    const now = await seen(one);
    const isOne = first === "ok";
    const isTwo = second === "ok";
    expect(now.fields).toEqual(isOne ? ["title", "code"] : isTwo ? ["title", "note"] : ["title"]);
    expect(now.values).toMatchObject(
      isOne ? { title: "1", code: "c" } : isTwo ? { note: "n" } : { title: "old" },
    );
    const head = await orbHead(deps, orb);
    expect([head?.publishedRevision, head?.awaits]).toEqual([
      (await liveOrb(deps, orb))?.revision,
      undefined,
    ]);
  }
  expect(outcomes.size).toBeGreaterThan(0);
}, 120_000);

it("is published although others keep changing its entries", async () => {
  const { orb } = await orbWithEntry();
  const live = await requireLive(deps, orb);
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) {
    const values = { title: "old" };
    const made = await createEntry(deps, admin, {
      ...{ orbId: orb, orb: live, module: "news", values, publish: true },
    });
    ids.push(made.snapshot.id);
  }
  const [first = ""] = ids;
  const set = await setWith(orb, first, [TITLE, NOTE], { note: "n" });
  const context = await contextIn(deps, live, set);
  const to = await writingInto(deps, callerIn(admin, context), context, set);
  for (const id of ids.slice(1)) {
    const values = { note: "n" };
    await updateEntry(to.deps, admin, { orbId: orb, orb: context, id, values, merge: true, into: to.into });
  }
  let over = false;
  const titles = new Map<string, string>();
  const writer = async (mine: readonly string[]) => {
    for (let at = 0; !over; at++) {
      const id = mine[at % mine.length] ?? first;
      const values = { title: `t${at}` };
      const write = { orbId: orb, orb: live, id, values, merge: true, publish: true };
      const code = await codeOf(updateEntry(deps, admin, write));
      // On a busy machine, a writer may give up before the publication ends.
      expect(["ok", "write_conflict"]).toContain(code);
      if (code === "ok") titles.set(id, values.title);
    }
  };
  const writers = [writer(ids.slice(0, 6)), writer(ids.slice(6))];
  const publishing = publish(deps, { orb, id: first, set }).finally(() => {
    over = true;
  });
  await Promise.all([publishing, ...writers]);
  for (const id of ids) {
    const { fields, values } = await seen({ orb, id });
    expect([fields, values]).toEqual([["title", "note"], { title: titles.get(id) ?? "old", note: "n" }]);
  }
}, 60_000);

/** Returns a store that runs something before or after each call of a method, if the call is of the given kind. */
function withSteps(
  inner: typeof store,
  name: "get" | "batch",
  isIt: (args: readonly unknown[]) => boolean,
  steps: { before?: () => Promise<void>; after?: () => Promise<void> },
): typeof store {
  return new Proxy(inner, {
    get(target, member) {
      const found: unknown = Reflect.get(target, member);
      if (member !== name || typeof found !== "function") return found;
      return async (...args: unknown[]) => {
        if (isIt(args)) await steps.before?.();
        const result: unknown = await found.apply(target, args);
        if (isIt(args)) await steps.after?.();
        return result;
      };
    },
  });
}

it("stays published if another process was about to withdraw it", async () => {
  const one = await shop([TITLE, NOTE], { note: "n" });
  const decision = subjects.changeDecided(one.orb, one.set);
  const [sent, stored, settled] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const looked = Promise.withResolvers<void>();
  const publisher = withSteps(store, "batch", ([, messages]) => JSON.stringify(messages).includes(decision), {
    async before() {
      sent.resolve();
      await looked.promise;
    },
    async after() {
      stored.resolve();
      await settled.promise;
    },
  });
  const publishing = publish({ ...deps, store: publisher }, one);
  await sent.promise;
  // The other process takes the publication for crashed, and has just found that it is not decided.
  const other = withSteps(store, "get", ([, subject]) => subject === decision, {
    async after() {
      looked.resolve();
      await stored.promise;
    },
  });
  await settleAwaited({ ...later, store: other }, one.orb, true);
  settled.resolve();
  await publishing;
  await requireSettled(one);
  expect(await seen(one)).toMatchObject({ fields: ["title", "note"], values: { note: "n" } });
});
