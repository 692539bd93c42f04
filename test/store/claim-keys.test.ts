/**
 * Rotation of the claim key during writes. Instances with the old key, with both keys and with the new key run side by
 * side, as in a rolling deployment. A sensitive unique value has one holder at any time.
 */
import { expect, test } from "vitest";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import {
  createEntry,
  loadEntry,
  publishEntry,
  type RekeyProgress,
  rekeyEntries,
  updateEntry,
} from "../../shared/entry/index.ts";
import type { OrbContext } from "../../shared/entry/model/resolve.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams } from "../../shared/store/subjects.ts";
import { admin, failureOf, fileOrb, key, type TestDeps, testDeps } from "../support/entries.ts";

const [OLD, NEW] = [key(), key()];
const encryptionKeys = JSON.stringify([{ kid: "k", k: key() }]);
const MODULE = {
  schemas: [
    {
      id: "pass",
      fields: [
        { name: "serial", type: "string" as const, sensitive: true, unique: true },
        { name: "note", type: "string" as const },
      ],
    },
  ],
};

const { broker, orb } = await fileOrb({
  id: "vault",
  uses: [{ service: "transactions", handlers: ["record"] }],
  modules: [
    { id: "passes", type: "CONTENT", ...MODULE },
    { id: "ledger", type: "TRANSACTIONS", ...MODULE },
  ],
});

/** Returns an instance of the functions with these keys, the current one first. */
const instance = (...claimKeys: string[]): TestDeps =>
  testDeps(broker.store("fn"), { claimKeys, encryptionKeys });

const create = (deps: TestDeps, serial: string, more: { idempotency?: string; publish?: boolean } = {}) =>
  createEntry(deps, admin, {
    orbId: orb.orb,
    orb,
    module: "passes",
    schema: "pass",
    values: { serial, note: "" },
    ...(more.publish === undefined ? {} : { publish: more.publish }),
    ...(more.idempotency === undefined
      ? {}
      : { idempotency: { key: more.idempotency, route: "POST /passes" } }),
  });
const change = (deps: TestDeps, id: string, values: object) =>
  updateEntry(deps, admin, { orbId: orb.orb, orb, id, values });

async function rekey(deps: TestDeps, of: OrbContext = orb): Promise<RekeyProgress> {
  let result: RekeyProgress = { entries: 0, resealed: 0, failed: [], conflicts: [] };
  for await (const progress of rekeyEntries(deps, admin, { orb: of })) result = progress;
  return result;
}

const taken = async (work: Promise<unknown>) => expect((await failureOf(work)).code).toBe("unique_conflict");

/** Writers of one value in all of these instances compete, and one wins. */
async function race(deps: readonly TestDeps[], serial: string): Promise<void> {
  const all = await Promise.allSettled([...deps, ...deps].map((one) => create(one, serial)));
  const lost = all.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
  expect(lost, serial).toEqual(Array(deps.length * 2 - 1).fill("unique_conflict"));
}

/** Counts the reservations in the schema. */
async function standing(): Promise<number> {
  const store = broker.store("operator");
  const { messages } = await store.scan(streams.orb(orb.orb), "vault._uq.content.>", {
    fromSeq: 1,
    limit: 1_000,
  });
  return messages.filter((message) => message.data.length > 0).length;
}

test("a sensitive unique value has one holder during key rotation", async () => {
  const [before, adding, turned, after] = [
    instance(OLD),
    instance(OLD, NEW),
    instance(NEW, OLD),
    instance(NEW),
  ];
  const { snapshot: plain } = await create(before, "plain");
  const { snapshot: shown } = await create(before, "shown", { publish: true });
  // The value of the published revision stays reserved beside the draft's.
  await change(before, shown.id, { serial: "draft" });
  const ledger = orb.compiled.schema("ledger");
  if (ledger === undefined) throw new Error("no ledger");
  const record = (deps: TestDeps, serial: string, keyed?: string) =>
    recordTransaction(deps, { actor: admin, role: "owner" }, orb, ledger, {
      values: { serial },
      key: keyed,
    });
  await record(before, "record", "once");
  await create(before, "keyed", { idempotency: "one" });

  // The new key is appended, instance by instance.
  for (const serial of ["r1", "r2", "r3"]) await race([before, adding], serial);
  for (const deps of [before, adding])
    for (const serial of ["plain", "shown", "draft", "r1", "keyed"]) await taken(create(deps, serial));
  expect((await create(adding, "keyed", { idempotency: "one" })).replayed).toBe(true);
  expect((await record(adding, "record", "once")).replayed).toBe(true);

  // All instances know both keys: rekeying reserves every stored value under both, beside writers.
  const [first] = await Promise.all([rekey(adding), race([adding, adding], "beside")]);
  expect(first).toMatchObject({ failed: [], conflicts: [] });
  expect(await rekey(adding)).toMatchObject({ failed: [], conflicts: [] });
  expect((await rekey(adding)).resealed).toBe(0);

  // The new key moves to the front and the old key is removed, instance by instance.
  for (const serial of ["s1", "s2"]) await race([adding, turned], serial);
  for (const serial of ["t1", "t2", "t3"]) await race([turned, after], serial);
  for (const deps of [turned, after])
    for (const serial of ["plain", "shown", "draft", "r1", "keyed", "beside", "s1", "t1"])
      await taken(create(deps, serial));
  await taken(record(after, "record"));
  expect((await create(turned, "keyed", { idempotency: "one" })).replayed).toBe(true);
  // Under the new key alone, a repeated record cannot be recognized. It is refused, not duplicated.
  expect((await failureOf(record(after, "record", "once"))).code).toBe("idempotency_mismatch");

  // No reservation remains under the old key. Values that an entry gives up are free.
  const last = await rekey(after);
  expect(last).toMatchObject({ failed: [], conflicts: [] });
  expect(last.resealed).toBeGreaterThan(5);
  const entries = last.entries - 1;
  // One reservation for each entry, and two for the entry with a draft.
  expect(await standing()).toBe(entries + 1);
  expect((await loadEntry(after, orb.orb, shown.id))?.head.liveClaims).toHaveLength(1);
  await publishEntry(after, admin, { orbId: orb.orb, orb, id: shown.id });
  await change(after, plain.id, { serial: "other" });
  for (const serial of ["shown", "plain"]) await create(after, serial);
  await taken(create(after, "other"));
});

test("rekeying reports values that were reserved twice because a rotation step was skipped", async () => {
  const before = instance(OLD);
  const { snapshot: first } = await create(before, "behind");
  const after = instance(NEW);
  // The value was never reserved under the new key, so another entry could take it.
  const { snapshot: second } = await create(after, "behind");
  expect((await rekey(after)).conflicts).toEqual([first.id]);
  await change(after, second.id, { serial: "elsewhere" });
  expect(await rekey(after)).toMatchObject({ conflicts: [], resealed: 1 });
  await taken(create(after, "behind"));
});

/** Returns a definition whose passes have a sensitive serial. */
const evolving = (id: string, unique: boolean, languages = ["en"]) => ({
  id,
  languages,
  modules: [
    {
      id: "passes",
      type: "CONTENT",
      schemas: [
        {
          id: "pass",
          fields: [
            { name: "serial", type: "string", sensitive: true, unique },
            { name: "note", type: "string" },
          ],
        },
      ],
    },
  ],
});

test("a field that became unique later keeps one holder per value during key rotation", async () => {
  const [before, adding, after] = [instance(OLD), instance(OLD, NEW), instance(NEW)];
  const id = "late";
  const definition = async (deps: TestDeps): Promise<OrbContext> => {
    const live = await definitionFor(deps, id);
    if (live === null) throw new Error("no definition");
    return live;
  };
  const write = async (deps: TestDeps, serial: string) =>
    createEntry(deps, admin, {
      orbId: id,
      orb: await definition(deps),
      module: "passes",
      schema: "pass",
      values: { serial },
      publish: true,
    });
  await createOrb(before, admin, { document: evolving(id, false), publish: true });
  await write(before, "early");
  await updateOrb(before, admin, { orb: id, document: evolving(id, true), publish: true });
  await taken(write(before, "early"));
  expect(await rekey(adding, await definition(adding))).toMatchObject({ failed: [], conflicts: [] });
  expect((await rekey(adding, await definition(adding))).resealed).toBe(0);
  await taken(write(adding, "early"));
  await taken(write(after, "early"));
  // An unrelated change of the definition changes no index key, so nothing is resealed.
  await updateOrb(adding, admin, { orb: id, document: evolving(id, true, ["en", "de"]), publish: true });
  expect((await rekey(adding, await definition(adding))).resealed).toBe(0);
});
