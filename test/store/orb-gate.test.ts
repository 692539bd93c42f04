/**
 * A publication is committed only if its check of the stored entries still holds, including entries written meanwhile.
 */
import { describe, expect, test } from "vitest";
import { checkDocument } from "../../shared/definition/check/index.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { fenceNow, moveFence } from "../../shared/definition/stored/fence.ts";
import { orbHead } from "../../shared/definition/stored/history.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { liveRecord, repairFence } from "../../shared/definition/stored/live-record.ts";
import { createEntry, deleteEntry, loadEntry } from "../../shared/entry/index.ts";
import { KeptKeys, NeededKeys } from "../../shared/entry/migrate/needed-keys.ts";
import { answer } from "../../shared/entry/migrate/publishing.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { namedEntry } from "../../shared/entry/model/names.ts";
import { openIndex } from "../../shared/entry/ordered/open.ts";
import { removeIndex } from "../../shared/entry/ordered/remove.ts";
import { compactSchemas } from "../../shared/entry/ordered/upkeep.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { inParallel } from "../../shared/kernel/parallel.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { deleteOrb } from "../../shared/orb/operate.ts";
import { tryUpdate, updateOrb } from "../../shared/orb/update.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Append } from "../../shared/store/types.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, readAs, type TestDeps } from "../support/entries.ts";

const { store, deps } = await fileDeps();

let number = 0;
const fresh = () => `gate-${++number}`;
const TITLE = { name: "title", type: "string" };
const OTHER = { id: "other", fields: [TITLE] };
const withSchemas = (id: string, schemas: object[]) => ({
  id,
  modules: [{ id: "news", type: "CONTENT", schemas }],
});
const withFields = (id: string, ...fields: object[]) =>
  withSchemas(id, [OTHER, { id: "article", access: { read: "public" }, fields }]);
const withoutSchema = (id: string) => withSchemas(id, [OTHER]);

async function inForce(orb: string): Promise<LiveOrb> {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("there is no such orb");
  return found;
}
const write = (by: LiveOrb, values: object, schema = "article", on: TestDeps = deps) =>
  createEntry(on, admin, {
    orbId: by.orb,
    orb: by,
    module: "news",
    schema,
    values: values as Record<string, never>,
    publish: true,
  });
const publish = (orb: string, document: object, by = deps) =>
  updateOrb(by, admin, { orb, document, publish: true });

/** Returns dependencies that run `act` once, before the first batch for which `when` is true. */
function once(
  when: (stream: string, messages: readonly Append[]) => boolean,
  act: () => Promise<unknown>,
): TestDeps {
  let done = false;
  return {
    ...deps,
    store: {
      ...deps.store,
      async batch(stream, messages) {
        if (!done && when(stream, messages)) {
          done = true;
          await act();
        }
        return store.batch(stream, messages);
      },
    },
  };
}
const moving = (orb: string) => (stream: string, messages: readonly Append[]) =>
  stream === streams.orb(orb) && messages.some(({ subject }) => subject.startsWith(`${orb}._def.`));
const committing = (stream: string) => stream === streams.platform;

/** Writes an entry, and fails if the write finds the orb closed: it would read, wait and send the entry again. */
async function writeAtOnce(orb: string): Promise<void> {
  const by = await inForce(orb);
  const counted = countingStore(store);
  await write(by, { title: "next" }, "article", { ...deps, store: counted.store } as TestDeps);
  expect(counted.calls.filter((call) => call.startsWith("batch"))).toHaveLength(1);
}

/**
 * Each change, with the error of the publication and the result of a late write under the former definition after the
 * commit.
 */
const changes: [string, (orb: string) => object, string, string][] = [
  [
    "becomes unique",
    (orb) => withFields(orb, { ...TITLE, unique: true }),
    "unique_conflict",
    "unique_conflict",
  ],
  [
    "becomes sensitive",
    (orb) => withFields(orb, { ...TITLE, sensitive: true }),
    "incompatible_change",
    "written",
  ],
  [
    "changes its type",
    (orb) => withFields(orb, { ...TITLE, type: "integer" }),
    "incompatible_change",
    "validation_failed",
  ],
  ["is removed with its schema", withoutSchema, "incompatible_change", "validation_failed"],
];

describe.each(changes)("a field that %s", (_name, next, code, refused) => {
  /** Creates the orb's state before the check: for a unique field, one entry with the value. */
  async function prepared() {
    const orb = fresh();
    await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
    const old = await inForce(orb);
    if (code === "unique_conflict") await write(old, { title: "same" });
    return { orb, old };
  }

  test("is refused for an entry that is stored after the check, and writers continue at once", async () => {
    const { orb, old } = await prepared();
    const racing = once(moving(orb), () => write(old, { title: "same" }));
    expect((await failureOf(publish(orb, next(orb), racing))).code).toBe(code);
    expect((await orbHead(deps, orb))?.revision).toBe(1);
    await writeAtOnce(orb);
  });

  test("is refused for an entry of a writer that mistook a slow publication for a crashed one", async () => {
    const { orb, old } = await prepared();
    // The writer finds the orb closed, reopens it after a while, and writes under the former definition.
    const overtaken = once(committing, () => write(old, { title: "same" }));
    expect((await failureOf(publish(orb, next(orb), overtaken))).code).toBe(code);
    expect((await orbHead(deps, orb))?.revision).toBe(1);
    await writeAtOnce(orb);
  });

  test("is activated, or leaves the former definition active, wherever the publication crashes", async () => {
    let reopened = 0;
    for (let step = 0; ; step++) {
      const { orb, old } = await prepared();
      const dying = { ...deps, store: stoppingStore(store, step) } as TestDeps;
      const through = await publish(orb, next(orb), dying).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Stopped)) throw error;
          return false;
        },
      );
      const committed = ((await orbHead(deps, orb))?.revision ?? 0) > 1;
      const moved = (await fenceNow(deps, orb, old.fence)).seq !== old.fence?.seq;
      if (moved && !committed) reopened++;
      // A write under the former definition: it succeeds if that one is still active, and is decided again otherwise.
      const late = await write(old, { title: "same" }).then(
        () => "written",
        (error: unknown) => (error as { code: string }).code,
      );
      expect([step, late]).toEqual([step, committed ? refused : "written"]);
      await reconcileAll(deps);
      const now = await inForce(orb);
      expect(now.revision).toBe(committed ? 2 : 1);
      if (committed) {
        const { snapshot } = await write(now, { title: "other" }, "other");
        expect(snapshot.defRevision).toBe(2);
      }
      if (!through) continue;
      expect(committed).toBe(true);
      break;
    }
    expect(reopened).toBeGreaterThan(1);
  });
});

test("reserves a value that is stored after the check before the field becomes unique", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
  const old = await inForce(orb);
  await write(old, { title: "one" });
  const racing = once(moving(orb), () => write(old, { title: "two" }));
  await publish(orb, withFields(orb, { ...TITLE, unique: true }), racing);
  const now = await inForce(orb);
  for (const title of ["one", "two"])
    expect((await failureOf(write(now, { title }))).code).toBe("unique_conflict");
});

test("is refused for a value that is stored after the check and would be lost by a change of type", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
  const old = await inForce(orb);
  await write(old, { title: "1" });
  const next = withFields(orb, { ...TITLE, type: "integer" });
  const racing = once(moving(orb), () => write(old, { title: "one" }));
  expect((await failureOf(publish(orb, next, racing))).code).toBe("incompatible_change");
  expect((await orbHead(deps, orb))?.revision).toBe(1);
  await writeAtOnce(orb);
});

test("is refused for a value that is stored after the check and becomes one of another entry by a rule", async () => {
  const orb = fresh();
  const code = { ...TITLE, unique: true };
  await createOrb(deps, admin, { document: withFields(orb, code), publish: true });
  const old = await inForce(orb);
  await write(old, { title: "7" });
  const convert = { "+": [{ var: "value" }] };
  const next = withFields(orb, { ...code, type: "integer", from: { convert } });
  const racing = once(moving(orb), () => write(old, { title: "007" }));
  expect((await failureOf(publish(orb, next, racing))).code).toBe("unique_conflict");
  expect((await orbHead(deps, orb))?.revision).toBe(1);
  await writeAtOnce(orb);
});

test("keeps track of a field that is removed while its first value is written", async () => {
  const orb = fresh();
  const size = { name: "size", type: "string" };
  await createOrb(deps, admin, { document: withFields(orb, TITLE, size), publish: true });
  const old = await inForce(orb);
  const racing = once(moving(orb), () => write(old, { title: "a", size: "large" }));
  await publish(orb, withFields(orb, TITLE), racing);
  const back = withFields(orb, TITLE, { ...size, type: "integer" });
  expect((await failureOf(publish(orb, back))).code).toBe("incompatible_change");
});

test("a writer that is slow to reopen an orb does not open it during the next publication", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
  const old = await inForce(orb);
  // A publication that crashed after it closed the orb.
  const next = withFields(orb, { ...TITLE, type: "integer" });
  const died = once(committing, () => Promise.reject(new Error("died")));
  const dead: TestDeps = {
    ...died,
    store: { ...died.store, append: () => Promise.reject(new Error("died")) },
  };
  await expect(publish(orb, next, dead)).rejects.toThrow("died");
  let during: Promise<unknown> | undefined;
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = once(moving(orb), async () => {
    // The writer has left its mark, and now the next publication closes the orb.
    const waiting = once(committing, async () => {
      reached.resolve();
      await released.promise;
    });
    during = publish(orb, next, waiting);
    await reached.promise;
  });
  await repairFence(slow, orb);
  const record = (await liveRecord(deps, orb))?.record;
  expect((await fenceNow(deps, orb, record?.fence)).seq).not.toBe(record?.fence?.seq);
  released.resolve();
  await during;
  expect((await inForce(orb)).revision).toBe(2);
  expect((await failureOf(write(old, { title: "late" }))).code).toBe("validation_failed");
});

test("only changes that later writes could violate take additional round trips", async () => {
  const trips = async (next: (orb: string) => object) => {
    const orb = fresh();
    await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
    const counted = countingStore(store, undefined, 30);
    await publish(orb, next(orb), { ...deps, store: counted.store } as TestDeps);
    const fences = counted.calls.filter((call) => call === "batch").length;
    return { trips: counted.trips, batches: fences };
  };
  const size = { name: "size", type: "integer" };
  const normal = await trips((orb) => withFields(orb, TITLE, size));
  const delicate = await trips((orb) => withFields(orb, { ...TITLE, type: "integer" }));
  // Three more round trips: the number of entries, the end of the stream, and the messages written since the check.
  expect({ normal, delicate }).toEqual({
    normal: { trips: 6, batches: 2 },
    delicate: { trips: 9, batches: 2 },
  });
});

describe("a new index", () => {
  const sorted = async (id: string) => {
    const orb = await inForce(id);
    const schema = orb.compiled.schema("news", "article");
    if (schema === undefined) throw new Error("the document has this schema");
    const query = parseListQuery(new URLSearchParams({ sort: "title" }), schema, []);
    const reading = readAs(admin, orb, schema);
    const page = await listEntries(deps, { reading, choice: choose(orb.compiled, {}), query });
    return page.items.map(({ values }) => values.title);
  };
  const indexed = (orb: string) => withFields(orb, { ...TITLE, index: "ordered" });

  async function withEntries(orb: string): Promise<LiveOrb> {
    await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
    const old = await inForce(orb);
    for (const title of ["c", "a", "b"]) await write(old, { title });
    return old;
  }

  test("is built before the definition is active, so that no entry is read again afterwards", async () => {
    const orb = fresh();
    await withEntries(orb);
    const read: string[] = [];
    const noting: TestDeps = {
      ...deps,
      store: {
        ...deps.store,
        getMany(stream, wanted, options) {
          if (stream === streams.orb(orb)) read.push(...wanted);
          return deps.store.getMany(stream, wanted, options);
        },
        batch(stream, messages) {
          if (stream === streams.platform) {
            expect(read).not.toEqual([]);
            read.length = 0;
          }
          return store.batch(stream, messages);
        },
      },
    };
    await publish(orb, indexed(orb), noting);
    expect(read.filter((subject) => subject.includes(".owner."))).toEqual([]);
    expect(await sorted(orb)).toEqual(["a", "b", "c"]);
  });

  test("has entries that are written while the others are read", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    await publish(
      orb,
      indexed(orb),
      once(committing, () => write(old, { title: "aa" })),
    );
    expect(await sorted(orb)).toEqual(["a", "aa", "b", "c"]);
  });

  const indexIn = (orb: string) => ({ orb, ...homeOf("CONTENT", "article"), field: "title" });

  test("is built again if another process erases it meanwhile, for a definition before", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    const erase = async () => {
      const purged: number[] = [];
      await removeIndex(deps, indexIn(orb), old.fence, async (filter, end) => {
        purged.push(await store.purge(streams.orb(orb), filter, { beforeSeq: end }));
      });
      expect(purged).toEqual([1, 1]);
      await write(old, { title: "aa" });
    };
    await publish(orb, indexed(orb), once(committing, erase));
    expect(await sorted(orb)).toEqual(["a", "aa", "b", "c"]);
  });

  /** Returns dependencies that erase the index, as another publication does that builds it, after a batch. */
  function erasing(orb: string, old: LiveOrb, when: (subject: string) => boolean): TestDeps {
    let done = false;
    const erase = () =>
      removeIndex(deps, indexIn(orb), old.fence, async (filter, end) => {
        await store.purge(streams.orb(orb), filter, { beforeSeq: end });
      });
    return {
      ...deps,
      store: {
        ...deps.store,
        async batch(stream, messages) {
          const seq = await store.batch(stream, messages);
          if (done || !messages.some(({ subject }) => when(subject))) return seq;
          done = true;
          await erase();
          return seq;
        },
      },
    };
  }

  /** Returns the titles by the index alone. Without it, a list would read the entries. */
  async function inIndex(orb: string): Promise<unknown[]> {
    const live = await inForce(orb);
    await write(live, { title: "d" });
    await compactSchemas(deps, live, live.compiled.byHome.values());
    const opened = await openIndex(store, indexIn(orb));
    expect(opened?.root.upTo).toBeGreaterThan(0);
    return sorted(orb);
  }

  test("is built again if another publication erases it before the next index is built", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    const root = subjects.orderedRoot(indexIn(orb), "title");
    await publish(
      orb,
      indexed(orb),
      erasing(orb, old, (subject) => subject === root),
    );
    expect(await inIndex(orb)).toEqual(["a", "b", "c", "d"]);
  });

  test("is built again if another publication erases a part of its log", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    const COUNT = 905;
    await inParallel(Array.from({ length: COUNT }), () => write(old, { title: "more" }));
    // While writes are blocked, the keys are written as changes, in two batches.
    await moveFence(deps, orb, old.fence, 1);
    const log = subjects.orderedLog(indexIn(orb), "title");
    const blocked = await fenceNow(deps, orb, old.fence);
    await publish(
      orb,
      indexed(orb),
      erasing(orb, { ...old, fence: blocked }, (subject) => subject === log),
    );
    expect((await inIndex(orb)).slice(0, 4)).toEqual(["a", "b", "c", "d"]);
    const { levels = [], recent = [] } = (await openIndex(store, indexIn(orb)))?.root ?? {};
    expect(levels.flat().reduce((sum, { pairs }) => sum + pairs, recent.length)).toBe(COUNT + 4);
  });

  test("replaces what an interrupted publication has left of it", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    const fail = async () => {
      throw new Error("interrupted");
    };
    await expect(publish(orb, indexed(orb), once(committing, fail))).rejects.toThrow("interrupted");
    await write(old, { title: "aa" });
    const collated = withFields(orb, { ...TITLE, index: "ordered", unique: true });
    await publish(orb, collated);
    expect(await sorted(orb)).toEqual(["a", "aa", "b", "c"]);
    const pages = await store.subjects(streams.orb(orb), subjects.orderedPages(indexIn(orb), "title"));
    expect(pages.subjects).toHaveLength(1);
  });

  test("leaves nothing in an application that was created again meanwhile", async () => {
    const orb = fresh();
    await withEntries(orb);
    const log = subjects.orderedLog(indexIn(orb), "title");
    let done = false;
    const again = async (subject: string | undefined) => {
      if (done || subject !== log) return;
      done = true;
      await deleteOrb(deps, admin, { orb });
      await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
    };
    const slow: TestDeps = {
      ...deps,
      store: {
        ...deps.store,
        async append(stream, message) {
          await again(message.subject);
          return store.append(stream, message);
        },
        async batch(stream, messages) {
          await again(messages.at(-1)?.subject);
          return store.batch(stream, messages);
        },
      },
    };
    await publish(orb, indexed(orb), slow);
    expect(done).toBe(true);
    expect(await store.nextMessage(streams.orb(orb), log, 1)).toBeNull();
  });

  test("has its keys in memory only while those of all schemas are few", async () => {
    const orb = fresh();
    const old = await withEntries(orb);
    for (const title of ["d", "e"]) await write(old, { title }, "other");
    const field = { ...TITLE, index: "ordered" };
    const schemas = [
      { id: "other", fields: [field] },
      { id: "article", fields: [field] },
    ];
    const { document } = checkDocument(withSchemas(orb, schemas));
    const context = { orb, revision: 2, compiled: compileOrb(document) };
    const all = new KeptKeys(3);
    const kept: boolean[] = [];
    for (const name of ["article", "other"]) {
      const schema = context.compiled.schema("news", name);
      if (schema === undefined) throw new Error("the document has this schema");
      const needed = new NeededKeys(deps, context, schema, { all });
      await answer(deps, orb, schema.home, [needed]);
      kept.push(needed.answer);
    }
    expect(kept).toEqual([true, false]);
    expect(all.areTooMany).toBe(false);
  });

  test("is whole after a crash at any step of the publication", async () => {
    const size = { name: "size", type: "integer" };
    const rule = { convert: { cat: ["size ", { var: "value" }] } };
    const indexes = ["title", "size~2"];
    for (let step = 0, isDone = false; !isDone; step++) {
      const orb = fresh();
      await createOrb(deps, admin, { document: withFields(orb, TITLE, size), publish: true });
      const old = await inForce(orb);
      for (const title of ["c", "a", "b"]) await write(old, { title, size: 7 });
      const next = withFields(
        orb,
        { ...TITLE, index: "ordered" },
        { ...size, type: "string", from: rule, index: "ordered" },
      );
      isDone = await publish(orb, next, { ...deps, store: stoppingStore(store, step) }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Stopped) return false;
          throw error;
        },
      );
      await write(await inForce(orb), { title: "aa", size: isDone ? "size 7" : null });
      await publish(orb, next);
      expect(await sorted(orb), `step ${step}`).toEqual(["a", "aa", "b", "c"]);
      for (const field of indexes) {
        const index = { orb, ...homeOf("CONTENT", "article"), field };
        const opened = await openIndex(store, index);
        const pages = await store.subjects(streams.orb(orb), subjects.orderedPages(index, field));
        expect(pages.subjects.length, `${step} ${field}`).toBe(opened?.root.levels.flat().length);
      }
    }
  });

  test("is left alone by a publication that another one overtakes", async () => {
    const orb = fresh();
    await withEntries(orb);
    const first = publish(
      orb,
      indexed(orb),
      once(
        (stream, messages) =>
          stream === streams.orb(orb) && messages.some(({ subject }) => subject.includes("._om.")),
        async () => {
          await publish(orb, indexed(orb));
        },
      ),
    );
    await first;
    expect(await sorted(orb)).toEqual(["a", "b", "c"]);
    expect((await inForce(orb)).revision).toBe(3);
  });
});

test("a removed field is what it was before its type changed, with one publication", async () => {
  const orb = fresh();
  const size = { name: "size", type: "integer" };
  const first = withFields(orb, TITLE, size);
  const rule = { convert: { cat: ["size ", { var: "value" }] } };
  await createOrb(deps, admin, { document: first, publish: true });
  const { snapshot: kept } = await write(await inForce(orb), { title: "a", size: 5 });
  await publish(orb, withFields(orb, TITLE, { ...size, type: "string", from: rule }));
  const { snapshot: late } = await write(await inForce(orb), { title: "b", size: "large" });
  await publish(orb, withFields(orb, TITLE));
  const same = withFields(orb, TITLE, { ...size, type: "string" });
  const { changes } = (await tryUpdate(deps, admin, { orb, document: same })).impact;
  expect(changes.filter(({ severity }) => severity === "converted")).toEqual([]);
  const refused = await failureOf(publish(orb, first));
  expect(refused.code).toBe("incompatible_change");
  expect(refused.message).toContain(`${late.id} cannot become integer`);
  await deleteEntry(deps, admin, { orbId: orb, orb: await inForce(orb), id: late.id });
  await publish(orb, first);
  const { compiled } = await inForce(orb);
  const entry = namedEntry(compiled, await loadEntry(deps, orb, kept.id));
  expect(entry?.head.values).toEqual({ title: "a", size: 5 });
});

test("reads few entries while it blocks writes, even if many were written since the check began", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
  const by = await inForce(orb);
  await write(by, { title: "first" });
  const many = 60;
  let begun = false;
  let isClosed = false;
  let read = 0;
  const on: TestDeps = {
    ...deps,
    store: {
      ...deps.store,
      async scan(stream, filter, options) {
        if (!begun && stream === streams.orb(orb)) {
          begun = true;
          for (let n = 0; n < many; n++) await write(by, { title: `title ${n}` });
        }
        return deps.store.scan(stream, filter, options);
      },
      async getMany(stream, wanted, options) {
        const found = await deps.store.getMany(stream, wanted, options);
        if (isClosed && stream === streams.orb(orb)) read += found.size;
        return found;
      },
      async batch(stream, messages) {
        if (moving(orb)(stream, messages)) isClosed = true;
        if (committing(stream)) isClosed = false;
        return store.batch(stream, messages);
      },
    },
  };
  const rule = { convert: { cat: [{ var: "value" }, "!"] } };
  await publish(orb, withFields(orb, { ...TITLE, type: "text", from: rule }), on);
  expect(begun).toBe(true);
  expect(read).toBeLessThan(many / 2);
});

test("does not check all entries again after a writer took it for crashed", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: withFields(orb, TITLE), publish: true });
  const by = await inForce(orb);
  const many = 60;
  for (let n = 0; n < many; n++) await write(by, { title: `title ${n}` });
  let read = 0;
  const overtaken = once(committing, async () => {
    await write(by, { title: "late" });
    read = 0;
  });
  const on: TestDeps = {
    ...overtaken,
    store: {
      ...overtaken.store,
      async getMany(stream, wanted, options) {
        if (stream === streams.orb(orb)) read += wanted.length;
        return overtaken.store.getMany(stream, wanted, options);
      },
    },
  };
  const rule = { convert: { cat: [{ var: "value" }, "!"] } };
  await publish(orb, withFields(orb, { ...TITLE, type: "text", from: rule }), on);
  expect((await orbHead(deps, orb))?.revision).toBe(2);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(many / 2);
});
