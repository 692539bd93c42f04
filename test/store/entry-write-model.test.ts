/** Many writers run random operations on few entries. Afterwards all derived data matches the entries' heads. */

import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  listRevisions,
  liveCopyOf,
  publishEntry,
  restoreEntry,
  revertEntry,
  unpublishEntry,
  updateEntry,
  visible,
} from "../../shared/entry/index.ts";
import { keySubject } from "../../shared/entry/model/index-keys.ts";
import { parseEntry } from "../../shared/entry/model/resolve.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { StoredMessage } from "../../shared/store/types.ts";
import { admin, fileOrb } from "../support/entries.ts";
import { seededRandom } from "../support/random.ts";

const { deps, orb } = await fileOrb();

const stream = streams.orb("shop");

async function everything(filter: string): Promise<StoredMessage[]> {
  const out: StoredMessage[] = [];
  for (let fromSeq = 1; ; ) {
    const page = await deps.store.scan(stream, filter, { fromSeq, limit: 500 });
    out.push(...page.messages);
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return out;
    fromSeq = last.seq + 1;
  }
}

it("reservations, indexes, references and published copies match the newest revisions", async () => {
  const ids: string[] = [];
  const refused = new Map<string, number>();
  const context = { orbId: "shop", orb };
  const make = async (pick: (below: number) => number) => {
    const target = ids[pick(ids.length + 1)];
    const values = {
      title: { en: "T" },
      ...(pick(3) > 0 ? { sku: `s${pick(6)}` } : {}),
      ...(pick(2) > 0 ? { slug: { en: `g${pick(4)}`, de: `g${pick(4)}` } } : {}),
      ...(pick(2) > 0 ? { serial: `n${pick(5)}` } : {}),
      state: pick(2) > 0 ? "new" : "used",
      ...(pick(2) > 0 ? { hot: pick(2) > 0 } : {}),
      ...(target !== undefined && pick(2) > 0 ? { related: [target] } : {}),
    };
    const id = ids[pick(ids.length)];
    if (id === undefined || pick(8) === 0) {
      const made = await createEntry(deps, admin, {
        ...context,
        module: "catalog",
        schema: "product",
        values,
        publish: pick(3) === 0,
      });
      ids.push(made.snapshot.id);
      return;
    }
    const at = { ...context, id };
    switch (pick(10)) {
      case 0:
        return publishEntry(deps, admin, at);
      case 1:
        return unpublishEntry(deps, admin, at);
      case 2:
        return archiveEntry(deps, admin, { ...at, force: pick(3) === 0 });
      case 3:
        return restoreEntry(deps, admin, at);
      case 4:
        return pick(3) === 0 ? deleteEntry(deps, admin, { ...at, force: pick(2) === 0 }) : undefined;
      case 5:
        return revertEntry(deps, admin, { ...at, revision: 1 });
      case 6:
        return updateEntry(deps, admin, { ...at, values, publish: true, merge: pick(2) > 0 });
      default:
        return updateEntry(deps, admin, { ...at, values });
    }
  };
  await Promise.all(
    Array.from({ length: 10 }, async (_, worker) => {
      const { below: pick } = seededRandom(worker * 7_919 + 17);
      for (let i = 0; i < 60; i++) {
        await make(pick).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
        });
      }
    }),
  );
  const codes = [
    "entry_not_found",
    "reference_not_live",
    "referenced",
    "unique_conflict",
    "validation_failed",
  ];
  expect(
    [...refused.keys()].filter((code) => ![...codes, "wrong_state", "write_conflict"].includes(code)),
  ).toEqual([]);

  const wanted = new Set<string>();
  const liveWanted = new Map<string, number>();
  for (const id of ids) {
    const address = { orb: "shop", ...homeOf("CONTENT", "product"), id };
    const entry = parseEntry(await deps.store.get(stream, subjects.entryLog(address)));
    if (entry === null) throw new Error("an entry has vanished");
    for (const key of [...entry.head.claims, ...(entry.head.liveClaims ?? [])])
      wanted.add(keySubject(address, key));
    if (visible(entry.head, Date.now())) {
      liveWanted.set(subjects.entryLive(address, "public"), entry.head.publishedRevision ?? 0);
    }
    const { items } = await listRevisions(deps, admin, { ...context, id, order: "asc", limit: 200 });
    expect(items.map(({ revision }) => revision)).toEqual(items.map((_, index) => index + 1));
  }
  const found = new Set<string>();
  const owners = new Map<string, string>();
  for (const filter of ["shop._uq.>", "shop._eq.>", "shop._ref.>"]) {
    for (const message of await everything(filter)) {
      if (message.data.length === 0) continue;
      found.add(message.subject);
      if (filter === "shop._uq.>") owners.set(message.subject, message.text());
    }
  }
  expect([...found].sort()).toEqual([...wanted].sort());
  expect(owners.size).toBeGreaterThan(0);
  const live = new Map<string, number>();
  for (const message of await everything("shop.content.public.product.*")) {
    const copy = liveCopyOf(message);
    if (copy !== null) live.set(message.subject, copy.revision);
  }
  expect(live).toEqual(liveWanted);
  const listed = (await everything("shop._ix.content.product.*")).filter(
    (message) => message.data.length > 0,
  );
  const existing = await Promise.all(
    ids.map(
      async (id) => parseEntry(await deps.store.get(stream, subjects.anyEntryLog("shop", id)))?.head.status,
    ),
  );
  expect(listed).toHaveLength(existing.filter((status) => status !== "DELETED").length);
});
