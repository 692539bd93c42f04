/** A broker that is killed during writes: every acknowledged write is kept, and nothing is duplicated. */

import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { scanEntries } from "../../shared/entry/index/scan-entries.ts";
import { createEntry, liveCopyOf, publishEntry, updateEntry } from "../../shared/entry/index.ts";
import { parseEntry } from "../../shared/entry/model/resolve.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { startBroker } from "../support/broker.ts";
import { admin, installOrb, SHOP, storedValues, testDeps } from "../support/entries.ts";

it("keeps every acknowledged write, and each value once, through three kills", async () => {
  await using broker = await startBroker();
  const deps = testDeps(broker.store("fn", { reconnect: true, requestTimeoutMs: 1_000 }));
  const orb = await installOrb(broker.store("operator"), SHOP);
  const context = { orbId: "shop", orb };

  /** Repeats a request with the same idempotency key until it succeeds, as a client does. */
  async function insist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const passing =
          error instanceof AppError && (error.kind === "unavailable" || error.kind === "timeout");
        if (!passing) throw error;
        await wait(30);
      }
    }
  }

  let stop = false;
  const acknowledged: { id: string; sku: string; revision: number }[] = [];
  const writer = async (name: number) => {
    // Each writer completes at least one round, however slow the machine is.
    for (let i = 0; i === 0 || !stop; i++) {
      const sku = `k-${name}-${i}`;
      const once = (act: string) => ({ idempotency: { key: `${sku}-${act}`, route: act } });
      const values = { title: { en: "T" }, sku, state: "new" };
      const { snapshot } = await insist(() =>
        createEntry(deps, admin, {
          ...context,
          module: "catalog",
          schema: "product",
          values,
          ...once("create"),
        }),
      );
      const target = { ...context, id: snapshot.id };
      await insist(() => publishEntry(deps, admin, { ...target, ...once("publish") }));
      const changed = { values: { ...values, state: "used" }, publish: true, ...once("update") };
      const last = await insist(() => updateEntry(deps, admin, { ...target, ...changed }));
      acknowledged.push({ id: snapshot.id, sku, revision: last.snapshot.revision });
    }
  };
  const writers = Array.from({ length: 12 }, (_, name) => writer(name));
  for (let kill = 0; kill < 3; kill++) {
    await wait(400);
    await broker.kill("SIGKILL");
    await broker.ready();
  }
  await wait(300);
  stop = true;
  await Promise.all(writers);

  const bySku = new Map<unknown, number>();
  const heads = new Map<string, number>();
  for await (const page of scanEntries(deps, "shop")) {
    for (const { head } of page) {
      const { sku } = storedValues(head);
      bySku.set(sku, (bySku.get(sku) ?? 0) + 1);
      heads.set(head.id, head.revision);
    }
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(writers.length);
  expect([...bySku.values()].every((count) => count === 1)).toBe(true);
  for (const { id, sku, revision } of acknowledged) {
    expect(bySku.get(sku)).toBe(1);
    expect(heads.get(id)).toBe(revision);
    const address = { orb: "shop", ...homeOf("CONTENT", "product"), id };
    const [log, live] = [subjects.entryLog(address), subjects.entryLive(address, "public")];
    const found = await deps.store.getMany(streams.orb("shop"), [log, live]);
    expect(liveCopyOf(found.get(live))?.revision).toBe(parseEntry(found.get(log))?.head.publishedRevision);
  }
});
