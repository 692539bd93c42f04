/**
 * After a return to this version, one application has a definition that only a newer version knows. It must stay as it
 * is, and all others must work.
 */
import { expect, test } from "vitest";
import { checkOrbs } from "../../scripts/doctor/orbs.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { exists, orbHead } from "../../shared/definition/stored/history.ts";
import { requireLive, usableOrb } from "../../shared/definition/stored/live.ts";
import { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { createEntry, loadEntry } from "../../shared/entry/index.ts";
import { IndexKeeper } from "../../shared/entry/ordered/keeper.ts";
import { sweepFiles } from "../../shared/files/sweep.ts";
import { Crons } from "../../shared/hooks/after/crons.ts";
import { Definitions } from "../../shared/hooks/after/definitions.ts";
import { completeAllForms } from "../../shared/orb/backfill-forms.ts";
import { completeIndexes } from "../../shared/orb/complete-indexes.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { getOrb, listOrbs } from "../../shared/orb/read.ts";
import { exportOrb } from "../../shared/orb/transfer/export.ts";
import { patchOrb, tryUpdate, updateOrb } from "../../shared/orb/update.ts";
import { buckets, kvSubject, streams, subjects } from "../../shared/store/subjects.ts";
import { admin, failureOf, fileDeps } from "../support/entries.ts";

const { broker, deps } = await fileDeps();
const operator = broker.store("operator");
const tidy = {
  name: "jobs.tidy",
  description: "Tidies.",
  auth: "None",
  kind: "nats",
  subject: "svc.jobs.tidy",
};
await operator.kvPut(buckets.handlers, tidy.name, JSON.stringify(tidy));

const documentOf = (id: string) => ({
  id,
  uses: [{ service: "jobs", handlers: ["tidy"] }],
  schedules: [{ id: "nightly", cron: "0 0 3 * * *", handler: "jobs.tidy" }],
  modules: [
    {
      id: "news",
      type: "CONTENT" as const,
      schemas: [{ id: "post", fields: [{ name: "title", type: "string" as const, unique: true }] }],
    },
  ],
});

type Edit = (document: OrbDocument) => unknown;
const field =
  (change: object): Edit =>
  ({ modules: [module], ...rest }) => ({
    ...rest,
    modules: [
      { ...module, schemas: [{ id: "post", fields: [{ name: "title", type: "string", ...change }] }] },
    ],
  });

/** What a newer version may add, and the place that this version names. */
const NEWER: [string, Edit, string][] = [
  ["a property", field({ geofence: { radius: 5 } }), "/modules/0/schemas/0/fields/0/geofence"],
  ["a type of fields", field({ type: "geo" }), "/modules/0/schemas/0/fields/0/type"],
  [
    "another form of a property",
    field({ unique: { scope: "list" } }),
    "/modules/0/schemas/0/fields/0/unique",
  ],
  [
    "a type of modules",
    ({ modules: [one], ...rest }) => ({ ...rest, modules: [{ ...one, type: "GRAPH" }] }),
    "/modules/0/type",
  ],
  ["a part of the document", (document) => ({ ...document, replicas: ["eu"] }), "/replicas"],
];

/** Stores a definition as a newer version does: in the history and as the live definition. */
async function storeNewer(orb: string, edit: Edit): Promise<void> {
  const head = await orbHead(deps, orb);
  const live = await operator.kvGet(buckets.orbs, orb);
  if (!exists(head) || live === null) throw new Error("no such orb");
  const { seq: _, ...record } = head;
  const revision = head.revision + 1;
  const document = edit(head.document);
  const next = { ...record, revision, publishedRevision: revision, basis: revision, document };
  await operator.append(streams.platform, { subject: subjects.orbHistory(orb), data: JSON.stringify(next) });
  await operator.kvPut(buckets.orbs, orb, JSON.stringify({ ...live.json<object>(), revision, document }));
}

const stored = async (orb: string) => {
  const messages = await Promise.all([
    operator.get(streams.platform, subjects.orbHistory(orb)),
    operator.get(streams.kv(buckets.orbs), kvSubject(buckets.orbs, orb)),
    operator.get(streams.hooks, subjects.hookCron(orb, "nightly")),
  ]);
  return messages.map((message) => [message?.seq, message?.text()]);
};

/** Does what the start and the hooks process do for all applications. */
async function startAll(crons: Crons, definitions: Definitions): Promise<void> {
  expect(await reconcileAll(deps)).toBe(0);
  expect((await completeAllForms(deps)).shared).toEqual([]);
  await completeIndexes(deps, new Map());
  await sweepFiles(deps);
  await definitions.refresh();
  await crons.look();
  await crons.reconcile(definitions.orbs, definitions.unreadable);
  const keeper = new IndexKeeper(deps);
  keeper.start();
  await keeper.stop();
}

test.each(NEWER.map((one, index) => [...one, index] as const))(
  "%s of a newer version stops only its application, and is not overwritten",
  async (_name, edit, at, index) => {
    const [orb, other] = [`newer-${index}`, `other-${index}`];
    const crons = new Crons(deps);
    const definitions = new Definitions(deps);
    for (const id of [orb, other]) await createOrb(deps, admin, { document: documentOf(id), publish: true });
    const values = { title: "kept" };
    const place = { module: "news", values, publish: true };
    const { snapshot } = await createEntry(deps, admin, {
      ...place,
      orbId: orb,
      orb: await requireLive(deps, orb),
    });
    await startAll(crons, definitions);
    const newer = edit((await getOrb(deps, admin, { orb })).orb.document);
    await storeNewer(orb, edit);
    const before = await stored(orb);
    expect(before[2]).toEqual([expect.any(Number), expect.any(String)]);
    await startAll(crons, new Definitions(deps));
    crons.forget();
    await startAll(crons, definitions);

    const reason = { code: "definition_unreadable", kind: "unavailable", data: { orb, at } };
    const { document } = (await getOrb(deps, admin, { orb })).orb;
    expect(document).toEqual(newer);
    const refused: (() => Promise<unknown>)[] = [
      () => requireLive(deps, orb),
      () => updateOrb(deps, admin, { orb, document: documentOf(orb), publish: true }),
      () => tryUpdate(deps, admin, { orb, document: documentOf(orb), publish: true }),
      () => patchOrb(deps, admin, { orb, patch: { name: "new" } }),
      () => publishOrb(deps, admin, { orb }),
      () => unpublishOrb(deps, admin, { orb }),
      () => exportOrb(deps, admin, { orb }),
    ];
    for (const act of refused) expect(await failureOf(act())).toMatchObject(reason);
    expect(await usableOrb(deps, orb)).toBeNull();
    expect(await new PublishedOrbs().damaged(deps)).toContainEqual(
      expect.objectContaining({ orb, reason: "newer_version", at }),
    );
    expect((await listOrbs(deps, admin, { limit: 100 })).orbs.map((one) => one.document.id)).toContain(orb);
    const live = await requireLive(deps, other);
    await createEntry(deps, admin, { ...place, orbId: other, orb: live });
    await updateOrb(deps, admin, {
      orb: other,
      document: { ...documentOf(other), name: "x" },
      publish: true,
    });

    expect(await stored(orb)).toEqual(before);
    expect((await loadEntry(deps, orb, snapshot.id))?.head.values).toEqual(values);
    await deleteOrb(deps, admin, { orb });
    expect(await orbHead(deps, orb)).toMatchObject({ operation: "deleted" });
    expect(await operator.streamInfo(streams.orb(orb))).toBeNull();
  },
);

test("a live definition in a newer form is not replaced by that of the history", async () => {
  const orb = "newer-form";
  await createOrb(deps, admin, { document: documentOf(orb), publish: true });
  const live = await operator.kvGet(buckets.orbs, orb);
  await operator.kvPut(buckets.orbs, orb, JSON.stringify({ ...live?.json<object>(), v: 99 }));
  const before = await stored(orb);
  expect(await reconcileAll(deps)).toBe(0);
  expect(await failureOf(requireLive(deps, orb))).toMatchObject({ data: { at: "/v" } });
  expect((await getOrb(deps, admin, { orb })).orb.document.id).toBe(orb);
  expect(await stored(orb)).toEqual(before);
  const [finding] = await checkOrbs(operator);
  expect(finding).toMatchObject({ level: "fail", about: "orbs" });
  expect(finding?.says).toContain("newer-form (/v)");
});
