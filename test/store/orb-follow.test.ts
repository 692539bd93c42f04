/** Stored entries follow the definition that was committed, and none that was only attempted. */

import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { liveRecord } from "../../shared/definition/stored/live-record.ts";
import { bulkWrite, createEntry, liveCopyOf, rekeyEntries, updateEntry } from "../../shared/entry/index.ts";
import { readOrb } from "../../shared/orb/change.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import { type Append, Conflict } from "../../shared/store/types.ts";
import { admin, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";

const { broker, store, deps } = await fileDeps();

let number = 0;
const document = (id: string, read: string, more: object = {}) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access: { read }, fields: [{ name: "title", type: "string", ...more }] }],
    },
  ],
});

/** Creates a published orb that admins can read, with one live entry. */
async function withEntry() {
  const orb = `follow-${++number}`;
  await createOrb(deps, admin, { document: document(orb, "admin"), publish: true });
  const context = await definitionFor(deps, orb);
  if (context === null) throw new Error("nothing is live");
  const input = { orbId: orb, orb: context, module: "news", values: { title: "a" }, publish: true };
  const { snapshot } = await createEntry(deps, admin, input);
  const address = { orb, ...homeOf("CONTENT", "article"), id: snapshot.id } as const;
  const live = async (role: "public" | "admin") =>
    liveCopyOf((await store.get(streams.orb(orb), subjects.entryLive(address, role))) ?? undefined) !== null;
  return { orb, live };
}

/** Returns dependencies that run `act` before each batch to a stream. */
const before = (act: (stream: string, messages: readonly Append[]) => Promise<void>): TestDeps => ({
  ...deps,
  store: {
    ...store,
    batch: async (stream, messages) => {
      await act(stream, messages);
      return store.batch(stream, messages);
    },
  },
});

test("does not move entries for an update that loses a write conflict", async () => {
  const { orb, live } = await withEntry();
  const { revision } = await unpublishOrb(deps, admin, { orb });
  let raced = false;
  const racing = before(async (stream) => {
    if (stream !== streams.platform || raced) return;
    raced = true;
    await updateOrb(deps, admin, { orb, document: { ...document(orb, "admin"), name: "Other" } });
  });
  const lost = updateOrb(racing, admin, { orb, document: document(orb, "public"), ifMatch: revision });
  expect((await failureOf(lost)).code).toBe("revision_mismatch");
  expect([await live("public"), await live("admin")]).toEqual([false, true]);
});

test("does not move entries for an update that crashed before its commit, and the next start finishes one that crashed after it", async () => {
  const { orb, live } = await withEntry();
  await unpublishOrb(deps, admin, { orb });
  const dying = (at: (stream: string) => boolean) =>
    before(async (stream) => {
      if (at(stream)) throw new Error("died");
    });
  const open = { orb, document: document(orb, "public") };
  await failureOf(
    updateOrb(
      dying((stream) => stream === streams.platform),
      admin,
      open,
    ),
  ).catch(() => undefined);
  expect([await live("public"), await live("admin")]).toEqual([false, true]);
  await updateOrb(
    dying((stream) => stream !== streams.platform),
    admin,
    open,
  ).catch(() => undefined);
  expect([await live("public"), await live("admin")]).toEqual([false, true]);
  expect(await reconcileAll(deps)).toBe(1);
  expect([await live("public"), await live("admin")]).toEqual([true, false]);
  expect(await reconcileAll(deps)).toBe(0);
});

/**
 * Returns dependencies that run `act` after each page of entries that is read after the activation of a new definition.
 */
function following(act: () => Promise<void>): TestDeps {
  let inForce = false;
  return {
    ...deps,
    store: {
      ...store,
      async kvPut(bucket, key, value, write) {
        const revision = await store.kvPut(bucket, key, value, write);
        inForce ||= bucket === buckets.orbs;
        return revision;
      },
      async scan(stream, filter, options) {
        const page = await store.scan(stream, filter, { maxBytes: 1e8, ...options });
        if (inForce) await act();
        return page;
      },
    },
  };
}

test("does not erase live entries of a schema that returned while its removal was still being applied", async () => {
  const { orb, live } = await withEntry();
  await updateOrb(deps, admin, { orb, document: { id: orb, modules: [] } });
  let done = false;
  const late = following(async () => {
    if (done) return;
    done = true;
    await updateOrb(deps, admin, { orb, document: document(orb, "admin") });
    await publishOrb(deps, admin, { orb });
    expect(await live("admin")).toBe(true);
  });
  await publishOrb(late, admin, { orb, force: true });
  expect(done).toBe(true);
  expect(await live("admin")).toBe(true);
});

test("drops the pending work of an orb when it is deleted", async () => {
  const { orb } = await withEntry();
  await updateOrb(deps, admin, { orb, document: { id: orb, modules: [] } });
  const dying = following(() => Promise.reject(new Error("died")));
  await publishOrb(dying, admin, { orb, force: true }).catch(() => undefined);
  const work = async () => (await liveRecord(deps, orb))?.record.work;
  expect((await work())?.moves).toHaveLength(1);
  await deleteOrb(deps, admin, { orb });
  expect(await work()).toBeUndefined();
});

test("answers at once and moves entries later if constant writers cause conflicts", async () => {
  const { orb, live } = await withEntry();
  const busy = before(async (stream, messages) => {
    const ofFence = messages.every(({ subject }) => subject.startsWith(`${orb}._def.`));
    if (stream !== streams.platform && !ofFence) throw new Conflict();
  });
  const made = await updateOrb(busy, admin, { orb, document: document(orb, "public"), publish: true });
  expect(made).toMatchObject({ revision: 2, publishedRevision: 2 });
  expect([await live("public"), await live("admin")]).toEqual([false, true]);
  expect(await readOrb(deps, orb)).toMatchObject({ revision: 2 });
  expect([await live("public"), await live("admin")]).toEqual([true, false]);
  // A backfill that other writers prevent fails with write_conflict.
  await updateOrb(deps, admin, { orb, document: document(orb, "public", { unique: true }) });
  expect((await failureOf(publishOrb(busy, admin, { orb }))).code).toBe("write_conflict");
  expect(await publishOrb(deps, admin, { orb })).toMatchObject({ revision: 4, publishedRevision: 4 });
});

const fields = (id: string, read: string, more: object) => {
  const { modules } = document(id, read);
  const schema = {
    id: "article",
    access: { read },
    fields: [{ name: "title", type: "string", ...more }, SECRET],
  };
  return { id, modules: modules.map((module) => ({ ...module, schemas: [schema] })) };
};
const SECRET = { name: "secret", type: "string", sensitive: true };

async function inForce(orb: string) {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("there is no such orb");
  return found;
}

const taken = async (orb: string, title: string) =>
  (
    await failureOf(
      createEntry(deps, admin, { orbId: orb, orb: await inForce(orb), module: "news", values: { title } }),
    )
  ).code;

test("an upload follows a definition that changes during the upload", async () => {
  const orb = `follow-${++number}`;
  await createOrb(deps, admin, { document: fields(orb, "public", {}), publish: true });
  const line = (title: string) => JSON.stringify({ module: "news", publish: true, values: { title } });
  const after = fields(orb, "admin", { unique: true });
  async function* lines() {
    for (let n = 0; n < 150; n++) yield line(`title ${n}`);
    // Wait until the first entry is live, so that the definition changes during the upload.
    while ((await store.get(streams.orb(orb), `${orb}.content.public.>`)) === null);
    await updateOrb(deps, admin, { orb, document: after, publish: true });
    yield line("later");
    yield line("later");
  }
  const codes: string[] = [];
  const input = {
    orbId: orb,
    orb: await inForce(orb),
    lines: lines(),
    parse: (text: string) => JSON.parse(text),
  };
  for await (const result of bulkWrite(deps, admin, input))
    codes.push("error" in result ? result.error.code : "written");
  expect(codes.slice(149)).toEqual(["written", "written", "unique_conflict"]);
  await readOrb(deps, orb);
  const { messages } = await store.scan(streams.orb(orb), `${orb}.content.public.>`, {
    fromSeq: 1,
    limit: 500,
    maxBytes: 1e8,
  });
  expect(messages.filter((message) => liveCopyOf(message) !== null)).toEqual([]);
  for (const title of ["title 7", "later"]) expect(await taken(orb, title)).toBe("unique_conflict");
});

test("rekeying follows the active definition", async () => {
  const orb = `follow-${++number}`;
  await createOrb(deps, admin, { document: fields(orb, "admin", {}), publish: true });
  const old = await inForce(orb);
  const values = { title: "held", secret: "x" };
  const { snapshot } = await createEntry(deps, admin, { orbId: orb, orb: old, module: "news", values });
  await updateOrb(deps, admin, { orb, document: fields(orb, "admin", { unique: true }), publish: true });
  await updateEntry(deps, admin, { orbId: orb, orb: await inForce(orb), id: snapshot.id, values });
  const keys = JSON.parse(deps.config.encryptionKeys) as object[];
  const newest = { kid: "newest", k: Buffer.alloc(32, 7).toString("base64url") };
  const config = { ...deps.config, encryptionKeys: JSON.stringify([newest, ...keys]) };
  for await (const { resealed } of rekeyEntries({ ...deps, config }, admin, { orb: old }))
    expect(resealed).toBe(1);
  expect(await taken(orb, "held")).toBe("unique_conflict");
});

test("repairs damaged live definitions from the orb's history at the next start", async () => {
  const { orb } = await withEntry();
  const { orb: gone } = await withEntry();
  await reconcileAll(deps);
  for (const damaged of [
    "{ not json",
    "null",
    JSON.stringify({ v: 1, orb, revision: 1, document: { id: orb } }),
  ]) {
    for (const id of [orb, gone]) await store.kvPut(buckets.orbs, id, damaged);
    expect(await reconcileAll(deps)).toBe(2);
    expect((await definitionFor(deps, orb))?.document).toMatchObject(document(orb, "admin"));
  }
  await store.kvPut(buckets.orbs, gone, "{ not json");
  await deleteOrb(deps, admin, { orb: gone });
  expect(await definitionFor(deps, gone)).toBeNull();
  expect(await reconcileAll(deps)).toBe(0);

  // If the history is damaged too, the orb can still be read by an admin.
  const head = await readOrb(deps, orb);
  const revision = head.revision + 1;
  const beyond = JSON.stringify({ ...head, revision, publishedRevision: revision, document: { id: orb } });
  await broker
    .store("operator")
    .append(streams.platform, { subject: subjects.orbHistory(orb), data: beyond });
  await store.kvPut(buckets.orbs, orb, "{ not json");
  expect(await readOrb(deps, orb)).toMatchObject({ revision });
});
