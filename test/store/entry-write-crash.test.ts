/**
 * Stops a write before each of its steps. The stored state is then the state before or after the write, never in
 * between.
 */

import { describe, expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  effective,
  liveCopyOf,
  loadEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
  visible,
} from "../../shared/entry/index.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict } from "../../shared/store/types.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, fileOrb, installOrb, SHOP, type TestDeps } from "../support/entries.ts";

let serial = 0;

const { broker, store, deps, orb } = await fileOrb();

/** Returns dependencies whose store fails from its n-th call on. */
const stoppingAt = (step: number) => ({ ...deps, store: stoppingStore(store, step) });

const at = (id: string, more: object = {}) => ({ orbId: "shop", orb, id, ...more });
const product = (with_: TestDeps, sku: string, more: object = {}, options: object = {}) =>
  createEntry(with_, admin, {
    orbId: "shop",
    orb,
    module: "catalog",
    schema: "product",
    values: { title: { en: "T" }, sku, state: "new", ...more },
    ...options,
  });
const live = async (id: string) =>
  liveCopyOf(
    await store.get(
      streams.orb("shop"),
      subjects.entryLive({ orb: "shop", ...homeOf("CONTENT", "product"), id }, "public"),
    ),
  );
const free = async (sku: string): Promise<boolean> => {
  try {
    const { snapshot } = await product(deps, sku);
    await deleteEntry(deps, admin, at(snapshot.id));
    return true;
  } catch {
    return false;
  }
};

/** Runs an operation repeatedly, each time one step further, until it succeeds. */
async function steps(run: (deps: TestDeps) => Promise<unknown>, check: () => Promise<void>): Promise<number> {
  for (let step = 0; step < 20; step++) {
    try {
      await run(stoppingAt(step));
      return step;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      await check();
    }
  }
  throw new Error("the operation never succeeded");
}

describe("interrupted write", () => {
  it("leaves no reservation, entry or live copy behind", async () => {
    const sku = `crash-${++serial}`;
    await steps(
      (stopping) => product(stopping, sku, {}, { publish: true }),
      async () => expect(await free(sku)).toBe(true),
    );
    expect(await free(sku)).toBe(false);
  });

  it("leaves an entry unchanged, for every operation", async () => {
    const [first, second] = [`crash-${++serial}`, `crash-${++serial}`];
    const { snapshot } = await product(deps, first, {}, { publish: true, validTo: "2100-01-01T00:00:00Z" });
    const { id } = snapshot;
    const state = async () => {
      const head = (await loadEntry(deps, "shop", id))?.head;
      return { status: head?.status, revision: head?.revision, live: (await live(id))?.revision ?? null };
    };
    const operations: [string, (with_: TestDeps) => Promise<unknown>][] = [
      ["update", (d) => updateEntry(d, admin, at(id, { values: { title: { en: "U" }, sku: second } }))],
      ["publish", (d) => publishEntry(d, admin, at(id))],
      ["unpublish", (d) => unpublishEntry(d, admin, at(id))],
      ["archive", (d) => archiveEntry(d, admin, at(id))],
      ["delete", (d) => deleteEntry(d, admin, at(id))],
    ];
    for (const [name, run] of operations) {
      const before = await state();
      const taken = await steps(run, async () => expect(await state(), name).toEqual(before));
      expect(taken, name).toBeLessThanOrEqual(4);
      expect(await state(), name).not.toEqual(before);
    }
    expect(await free(first)).toBe(true);
    expect(await free(second)).toBe(true);
  });

  it("is not repeated with an Idempotency-Key if only its acknowledgement was lost", async () => {
    const lost = new Proxy(store, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (name !== "batch" || typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          await Reflect.apply(member, target, args);
          throw new Stopped();
        };
      },
    });
    const request = { idempotency: { key: "lost", route: "POST /p" } };
    const sku = `crash-${++serial}`;
    await expect(product({ ...deps, store: lost }, sku, {}, request)).rejects.toBeInstanceOf(Stopped);
    const again = await product(deps, sku, {}, request);
    expect(again.replayed).toBe(true);
    expect((await failureOf(product(deps, sku))).code).toBe("unique_conflict");
  });
});

describe("missing live copy", () => {
  it("is repaired by the next publication", async () => {
    const { snapshot } = await product(deps, `crash-${++serial}`, {}, { publish: true });
    const address = { orb: "shop", ...homeOf("CONTENT", "product"), id: snapshot.id };
    await broker.store("operator").purge(streams.orb("shop"), subjects.entryLive(address, "public"));
    expect(await live(snapshot.id)).toBeNull();
    const head = (await loadEntry(deps, "shop", snapshot.id))?.head;
    expect(head !== undefined && visible(effective(head, Date.now()), Date.now())).toBe(true);
    await updateEntry(deps, admin, at(snapshot.id, { values: { title: { en: "V" } }, publish: true }));
    expect((await live(snapshot.id))?.revision).toBe(2);
  });
});

describe("missing stream", () => {
  it("is created by the first write", async () => {
    const other = await installOrb(broker.store("operator"), { ...SHOP, id: "late" });
    await broker.store("operator").deleteStream(streams.orb("late"));
    const made = await createEntry(deps, admin, {
      orbId: "late",
      orb: other,
      module: "catalog",
      schema: "note",
      values: { text: "x" },
    });
    expect((await loadEntry(deps, "late", made.snapshot.id))?.head.revision).toBe(1);
  });
});

describe("permanent conflict", () => {
  it("fails with write_conflict after a bounded number of attempts", async () => {
    const { snapshot } = await product(deps, `crash-${++serial}`);
    const contested = countingStore(store, (call) => {
      if (call === "append" || call === "batch") throw new Conflict();
    });
    const error = await failureOf(
      updateEntry(
        { ...deps, store: contested.store },
        admin,
        at(snapshot.id, { values: { title: { en: "W" } } }),
      ),
    );
    expect(error.code).toBe("write_conflict");
  });
});
