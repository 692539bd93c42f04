import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import {
  archiveEntry,
  bulkWrite,
  createEntry,
  deleteEntry,
  effective,
  getRevision,
  listRevisions,
  liveCopyOf,
  loadEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
  visible,
} from "../../shared/entry/index.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Place, Store } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import {
  admin,
  failureOf,
  installOrb,
  SHOP,
  storedValues,
  type TestDeps,
  testDeps,
} from "../support/entries.ts";
import { until } from "../support/races.ts";
import { testRandom } from "../support/random.ts";

let broker: TestBroker;
let store: Store;
let deps: TestDeps;
let orb: LiveOrb;

beforeAll(async () => {
  broker = await startBroker();
  store = broker.store("fn", { reconnect: true, requestTimeoutMs: 20_000 });
  orb = await installOrb(broker.store("operator"), SHOP);
});
afterAll(() => broker.stop());
beforeEach(() => {
  deps = testDeps(store);
});

const soon = (ms: number) => new Date(Date.now() + ms).toISOString();
const at = (id: string, more: object = {}) => ({ orbId: "shop", orb, id, ...more });
const note = (text: string, more: object = {}) =>
  createEntry(deps, admin, {
    orbId: "shop",
    orb,
    module: "catalog",
    schema: "note",
    values: { text },
    ...more,
  });
const liveMessage = (id: string) =>
  store.get(
    streams.orb("shop"),
    subjects.entryLive({ orb: "shop", ...homeOf("CONTENT", "note"), id }, "public"),
  );
const headOf = async (id: string) => {
  const entry = await loadEntry(deps, "shop", id);
  if (entry === null) throw new Error("there is no such entry");
  return entry.head;
};
const history = async (id: string) =>
  (await listRevisions(deps, admin, { orbId: "shop", orb, id, order: "asc", limit: 200 })).items;

/** Checks that the live subject matches the entry's head. */
async function agrees(id: string): Promise<boolean> {
  const head = await headOf(id);
  const copy = liveCopyOf(await liveMessage(id));
  return visible(head, Date.now()) ? copy?.revision === head.publishedRevision : copy === null;
}

describe("validity window", () => {
  it.each(["asc", "desc"] as const)("lists its closing once in pages of one revision (%s)", async (order) => {
    const { snapshot } = await note("closing", { publish: true, validTo: soon(60_000) });
    await updateEntry(deps, admin, at(snapshot.id, { values: { text: "draft" } }));
    const listed = async () => {
      const items: [number, string, string][] = [];
      let after: Place | undefined;
      for (let more = true; more; ) {
        const page = await listRevisions(deps, admin, {
          ...at(snapshot.id),
          order,
          limit: 1,
          after,
          count: true,
        });
        for (const { revision, operation, by } of page.items) items.push([revision, operation, by]);
        expect(page).toMatchObject({ total: 3, newest: 3 });
        more = page.next !== null;
        after = page.next ?? undefined;
      }
      return order === "asc" ? items : items.reverse();
    };
    deps.clock.now = () => Date.now() + 120_000;
    const expected = [
      [1, "create", "admin1"],
      [2, "update", "admin1"],
      [3, "unpublish", "scheduler"],
    ];
    expect(await listed()).toEqual(expected);
    expect(await getRevision(deps, admin, { ...at(snapshot.id), revision: 3 })).toMatchObject({
      by: "scheduler",
    });
  });

  it("notifies subscribers when it opens and closes, and adds both to the history", async () => {
    const seen: string[] = [];
    const feed = store.subscribe("_feed.shop.*.public.>", (message) => {
      const body = JSON.parse(new TextDecoder().decode(message.data)) as { id: string; tombstone?: boolean };
      seen.push(`${body.id} ${body.tombstone === true ? "left" : "entered"}`);
    });
    await store.ping();
    const [validFrom, validTo] = [soon(2_000), soon(4_000)];
    const { snapshot } = await note("w", { publish: true, validFrom, validTo });
    await until(() => seen.filter((line) => line.startsWith(snapshot.id)).length === 2);
    feed.unsubscribe();
    expect(seen.filter((line) => line.startsWith(snapshot.id))).toEqual([
      `${snapshot.id} entered`,
      `${snapshot.id} left`,
    ]);
    expect(await history(snapshot.id)).toMatchObject([
      { revision: 1, operation: "create", status: "PUBLISHED", opened: { at: validFrom, by: "scheduler" } },
      { revision: 2, operation: "unpublish", status: "UNPUBLISHED", at: validTo, by: "scheduler" },
    ]);
    // The next write stores the scheduler's revision in the same batch.
    await updateEntry(deps, admin, at(snapshot.id, { values: { text: "x" }, validTo: null }));
    expect((await history(snapshot.id)).map((item) => [item.revision, item.by])).toEqual([
      [1, "admin1"],
      [2, "scheduler"],
      [3, "admin1"],
    ]);
  });

  it("of a draft does not affect the published revision", async () => {
    const { snapshot } = await note("a", { publish: true });
    const draft = await updateEntry(deps, admin, at(snapshot.id, { validTo: soon(60_000) }));
    expect(draft.snapshot).toMatchObject({ revision: 2, publishedRevision: 1, liveTo: null });
    deps.clock.now = () => Date.now() + 61_000;
    expect(effective(await headOf(snapshot.id), deps.clock.now()).status).toBe("PUBLISHED");
    expect((await failureOf(publishEntry(deps, admin, at(snapshot.id)))).errors?.[0]?.code).toBe(
      "window_closed",
    );
  });

  it("must end after it begins, and must not be over when the entry is published", async () => {
    const wrong = { validFrom: soon(2_000), validTo: soon(1_000) };
    expect((await failureOf(note("a", wrong))).errors).toMatchObject([{ path: "/validTo", code: "range" }]);
    const past = { validTo: soon(-1_000), publish: true };
    expect((await failureOf(note("a", past))).errors).toMatchObject([
      { path: "/validTo", code: "window_closed" },
    ]);
  });

  it("that opens later removes the currently published revision from the live entries", async () => {
    const { snapshot } = await note("a", { publish: true });
    await updateEntry(
      deps,
      admin,
      at(snapshot.id, { values: { text: "b" }, validFrom: soon(60_000), publish: true }),
    );
    expect(visible(await headOf(snapshot.id), Date.now())).toBe(false);
    expect(liveCopyOf(await liveMessage(snapshot.id))).toBeNull();
    await updateEntry(
      deps,
      admin,
      at(snapshot.id, { values: { text: "c" }, validFrom: null, publish: true }),
    );
    expect(liveCopyOf(await liveMessage(snapshot.id))?.values).toEqual({ text: "c" });
  });

  it("can end in the year 9999", async () => {
    const { snapshot } = await note("a", { publish: true, validTo: "9999-12-31T23:59:59Z" });
    await wait(700);
    expect(await agrees(snapshot.id)).toBe(true);
    expect(visible(await headOf(snapshot.id), Date.now())).toBe(true);
    const { snapshot: later } = await note("b", { publish: true, validFrom: "9999-01-01T00:00:00Z" });
    await wait(700);
    expect(await agrees(later.id)).toBe(true);
  });

  it("releases the values of the closed revision, and their next holder keeps them", async () => {
    const product = (sku: string, more: object = {}) =>
      createEntry(deps, admin, {
        orbId: "shop",
        orb,
        module: "catalog",
        schema: "product",
        values: { title: { en: "T" }, sku },
        ...more,
      });
    const first = await product("closing-1", { publish: true, validTo: soon(60_000) });
    const values = { title: { en: "T" }, sku: "closing-2" };
    await updateEntry(deps, admin, at(first.snapshot.id, { values, validTo: null }));
    expect((await failureOf(product("closing-1"))).code).toBe("unique_conflict");
    // From here on the writers' clock is ahead.
    deps.clock.now = () => Date.now() + 61_000;
    const second = await product("closing-1");
    // A write of the former holder does not release the value, because another entry has it now.
    const back = { values: { title: { en: "T" }, sku: "closing-1" } };
    expect((await failureOf(updateEntry(deps, admin, at(first.snapshot.id, back)))).code).toBe(
      "unique_conflict",
    );
    await updateEntry(deps, admin, at(first.snapshot.id, { values }));
    expect((await failureOf(product("closing-1"))).code).toBe("unique_conflict");
    await deleteEntry(deps, admin, at(second.snapshot.id));
    const third = await product("closing-3", { publish: true, validTo: soon(90_000) });
    await updateEntry(deps, admin, at(third.snapshot.id, { values: { title: { en: "T" } }, validTo: null }));
    deps.clock.now = () => Date.now() + 91_000;
    // If no other entry took the value, the former holder can have it again, and its next write releases it.
    await updateEntry(
      deps,
      admin,
      at(third.snapshot.id, { values: { title: { en: "T" }, sku: "closing-3" } }),
    );
    expect((await failureOf(product("closing-3"))).code).toBe("unique_conflict");
    await updateEntry(deps, admin, at(third.snapshot.id, { values: { title: { en: "T" } } }));
    const claims = await store.scan(streams.orb("shop"), "shop._uq.content.product.sku.*", {
      fromSeq: 1,
      limit: 50,
      maxBytes: 1e8,
    });
    expect(claims.messages.map((message) => message.text()).filter((text) => text !== "")).toEqual([
      first.snapshot.id,
    ]);
  });

  it("keeps a value that another entry takes just before its former holder writes", async () => {
    const product = (sku: string, more: object = {}) =>
      createEntry(deps, admin, {
        orbId: "shop",
        orb,
        module: "catalog",
        schema: "product",
        values: { title: { en: "T" }, sku },
        ...more,
      });
    const { snapshot: former } = await product("passing-1", { publish: true, validTo: soon(60_000) });
    const values = (sku: string) => ({ title: { en: "T" }, sku });
    await updateEntry(deps, admin, at(former.id, { values: values("passing-2"), validTo: null }));
    deps.clock.now = () => Date.now() + 61_000;
    // The write sees the expired reservation as its own. Another entry takes it before it is released.
    let taken = false;
    const racing: TestDeps = {
      ...deps,
      store: {
        ...store,
        batch: async (stream, messages) => {
          if (!taken) {
            taken = true;
            await product("passing-1");
          }
          return store.batch(stream, messages);
        },
      },
    };
    const written = await updateEntry(racing, admin, at(former.id, { values: values("passing-3") }));
    expect(taken).toBe(true);
    expect(written.snapshot.values.sku).toBe("passing-3");
    expect((await failureOf(product("passing-1"))).code).toBe("unique_conflict");
    await product("passing-2");
  });

  it("is cancelled when the entry is published again or archived", async () => {
    const { snapshot } = await note("a", { publish: true, validFrom: soon(60_000), validTo: soon(90_000) });
    const scheduled = async () => {
      const filter = subjects.schedulesOf("shop", snapshot.id);
      const page = await store.scan(streams.orb("shop"), filter, { fromSeq: 1, limit: 10, maxBytes: 1e8 });
      return page.messages.filter((message) => message.data.length > 0).map((message) => message.subject);
    };
    expect(await scheduled()).toHaveLength(2);
    const again = await updateEntry(deps, admin, at(snapshot.id, { validTo: soon(70_000), publish: true }));
    expect((await scheduled()).every((subject) => subject.includes(`.${again.snapshot.revision}.`))).toBe(
      true,
    );
    expect(await scheduled()).toHaveLength(2);
    await archiveEntry(deps, admin, at(snapshot.id));
    expect(await scheduled()).toEqual([]);
  });

  it("leaves no schedule behind when the entry is unpublished", async () => {
    const { snapshot } = await note("a", { publish: true, validFrom: soon(2_000), validTo: soon(2_500) });
    await unpublishEntry(deps, admin, at(snapshot.id));
    await wait(2_800);
    expect(liveCopyOf(await liveMessage(snapshot.id))).toBeNull();
    const page = await store.scan(streams.orb("shop"), subjects.schedulesOf("shop", snapshot.id), {
      fromSeq: 1,
      limit: 10,
      maxBytes: 1e8,
    });
    expect(page.messages.filter((message) => message.data.length > 0)).toEqual([]);
  });
});

describe("300 edits that race with firing schedules", () => {
  it("keep every edit and restore no former state", async () => {
    const random = testRandom();
    const count = 300;
    const base = Date.now() + 6_000;
    async function* lines() {
      for (let i = 0; i < count; i++) {
        const validFrom = new Date(base + (i % 50) * 8).toISOString();
        const validTo = new Date(base + 700 + (i % 50) * 8).toISOString();
        const values = { text: `first ${i}` };
        yield JSON.stringify({
          module: "catalog",
          schema: "note",
          values,
          validFrom,
          validTo,
          publish: true,
        });
      }
    }
    const ids: string[] = [];
    for await (const made of bulkWrite(deps, admin, {
      orbId: "shop",
      orb,
      lines: lines(),
      parse: JSON.parse,
    })) {
      if (!("snapshot" in made)) throw new Error(JSON.stringify(made));
      ids.push(made.snapshot.id);
    }
    // Each entry is edited around the moment at which one of its schedules fires.
    const writes = await Promise.all(
      ids.map(async (id, i) => {
        const edge = base + (i % 2 === 0 ? 0 : 700) + (i % 50) * 8;
        await wait(Math.max(0, edge - Date.now() - 40 + random.next() * 160));
        const values = { text: `second ${i}` };
        switch (i % 5) {
          case 0:
            return updateEntry(deps, admin, at(id, { values }));
          case 1:
            return updateEntry(
              deps,
              admin,
              at(id, { values, validFrom: null, validTo: null, publish: true }),
            );
          case 2:
            return unpublishEntry(deps, admin, at(id)).catch((error: { code: string }) => {
              // The window closed first, so the entry is already unpublished.
              expect(error.code).toBe("wrong_state");
              return null;
            });
          case 3:
            return archiveEntry(deps, admin, at(id));
          default:
            return deleteEntry(deps, admin, at(id));
        }
      }),
    );
    expect(writes).toHaveLength(count);
    await deps.settled();
    await wait(Math.max(0, base + 700 + 50 * 8 + 300 - Date.now()));
    let wrong: string[] = [];
    const look = async () => {
      wrong = [];
      for (const [i, id] of ids.entries()) {
        const now = effective(await headOf(id), Date.now());
        const expected = ["UNPUBLISHED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED", "DELETED"][i % 5];
        if (now.status !== expected) wrong.push(`${i}: ${now.status} instead of ${expected}`);
        if (i % 5 < 2 && storedValues(now).text !== `second ${i}`) wrong.push(`${i}: lost its edit`);
        if (!(await agrees(id))) wrong.push(`${i}: live and head disagree`);
        const numbers = (await history(id)).map((item) => item.revision);
        if (numbers.some((revision, index) => revision !== index + 1)) wrong.push(`${i}: ${numbers.join()}`);
      }
      return wrong.length === 0;
    };
    // The last schedules may still be firing. Their messages are repaired, or agree with the head.
    await until(look);
    await wait(300);
    await look();
    expect(wrong).toEqual([]);
  });
});

describe("a broker that is down when a window opens or closes", () => {
  it("moves the entry after its return, and readers never see a closed window as open", async () => {
    const { snapshot: opening } = await note("opens", { publish: true, validFrom: soon(3_000) });
    const { snapshot: closing } = await note("closes", { publish: true, validTo: soon(3_000) });
    await wait(100);
    await broker.pause();
    await wait(3_200);
    await broker.resume();
    await until(async () => liveCopyOf(await liveMessage(opening.id).catch(() => null)) !== null);
    expect(visible(await headOf(opening.id), Date.now())).toBe(true);
    expect(liveCopyOf(await liveMessage(opening.id))?.revision).toBe(1);
    expect(visible(await headOf(closing.id), Date.now())).toBe(false);
    await until(() => agrees(closing.id));
    expect(await agrees(closing.id)).toBe(true);
    expect(effective(await headOf(closing.id), Date.now())).toMatchObject({
      status: "UNPUBLISHED",
      updatedBy: "scheduler",
    });
  });
});
