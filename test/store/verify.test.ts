/** What `npm run doctor -- --deep` finds in the stored data. */
import { expect, it } from "vitest";
import { api } from "../../scripts/backup/format.ts";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  publishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { uploadFile } from "../../shared/files/upload.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { fileStream } from "../../shared/store/file-subjects.ts";
import { streams } from "../../shared/store/subjects.ts";
import { type Damage, lineOfDamage } from "../../shared/verify/damage.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { partsOf, sha256 } from "../support/album.ts";
import { admin, fileDeps } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

const { broker, store, deps } = await fileDeps();
const operator = broker.store("operator");

async function found(): Promise<Damage[]> {
  const all: Damage[] = [];
  await verifyAll(deps, (_what, damages) => void all.push(...damages));
  return all;
}

const document = (id: string): OrbDocumentInput => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "product",
          fields: [
            { name: "title", type: "string", required: true },
            { name: "sku", type: "string", unique: true },
            { name: "hot", type: "boolean" },
            { name: "author", type: "reference", ref: `${id}/catalog/author` },
          ],
        },
        { id: "paper", fields: [{ name: "file", type: "file" }] },
      ],
    },
  ],
});
await createOrb(deps, admin, { document: document("shop"), publish: true });
const orb = (await liveOrb(deps, "shop")) ?? expect.fail("the orb is not published");
const stream = streams.orb("shop");
const at = (id: string) => ({ orbId: "shop", orb, id });
const create = (schema: string, values: unknown, publish = false) =>
  createEntry(deps, admin, { orbId: "shop", orb, module: "catalog", schema, values, publish });

/** Writes an entry with several revisions, unique values, references and a published copy. Returns its id. */
async function written(sku: string): Promise<string> {
  const author = await create("author", { name: "A" }, true);
  const values = { title: "T", sku, hot: true, author: author.snapshot.id };
  const { snapshot } = await create("product", values);
  const { id } = snapshot;
  await publishEntry(deps, admin, at(id));
  await updateEntry(deps, admin, { ...at(id), values: { ...values, title: "U" } });
  await publishEntry(deps, admin, at(id));
  return id;
}

const subjectOf = (id: string, role = "owner") => `shop.content.${role}.product.${id}`;
const revisions = async (id: string) =>
  (await store.scan(stream, subjectOf(id), { fromSeq: 1, limit: 100, maxBytes: 1e6 })).messages;
const remove = (name: string, seq: number) => api(operator, `STREAM.MSG.DELETE.${name}`, { seq });

it("finds nothing wrong in entries, files and definitions that were created, changed, deleted and purged", async () => {
  const random = testRandom();
  for (let round = 0; round < 25; round++) {
    const id = await written(`round-${round}`);
    const fate = random.below(4);
    if (fate === 0) await archiveEntry(deps, admin, at(id));
    if (fate === 1) await deleteEntry(deps, admin, at(id));
    if (fate === 2) await deleteEntry(deps, admin, { ...at(id), purge: true });
  }
  const upload = await uploadFile(deps, {
    orb: "shop",
    body: partsOf(new Uint8Array(300_000).fill(random.below(256))),
    hash: sha256(),
    authority: async () => ({ actor: admin, live: orb }),
  });
  await create("paper", { file: { file: upload.id } });
  expect((await found()).map(lineOfDamage)).toEqual([]);
});

it("names the entry and the range when a revision is missing at the start, in the middle or at the end", async () => {
  const ids = [await written("start"), await written("middle"), await written("end")];
  const gone = [0, 1, 3];
  for (const [index, id] of ids.entries()) {
    const seq = (await revisions(id)).at(gone[index] ?? 0)?.seq ?? 0;
    await remove(stream, seq);
  }
  const lines = (await found()).map(lineOfDamage);
  expect(lines).toHaveLength(3);
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`^øshop, .*${ids[0]} lacks its revisions 1 to 1`)),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`${ids[1]} lacks its revisions between 1 and 3`)),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(
      new RegExp(`${ids[2]} was published with revision 4, and its newest revision is 3`),
    ),
  );
});

it("finds a lost reservation of a unique value, and a lost place in the order of creation", async () => {
  const id = await written("reserved");
  const before = (await found()).length;
  for (const filter of ["shop._uq.content.product.sku.*", `shop._ix.content.product.${id}`]) {
    const { messages } = await store.scan(stream, filter, { fromSeq: 1, limit: 1_000, maxBytes: 1e6 });
    await remove(stream, messages.at(-1)?.seq ?? 0);
  }
  const lines = (await found()).slice(before).map(lineOfDamage);
  expect(lines.filter((line) => line.includes(id)).sort()).toEqual([
    expect.stringContaining("is missing in the index of sku"),
    expect.stringContaining("is missing in the order of creation"),
  ]);
});

it("finds lost content of a file, a lost revision of a definition, and a stream that is gone", async () => {
  const chunks = await store.scan(fileStream("shop"), "$O.files_shop.C.>", {
    fromSeq: 1,
    limit: 10,
    maxBytes: 1e6,
  });
  await remove(fileStream("shop"), chunks.messages[1]?.seq ?? 0);
  await createOrb(deps, admin, { document: document("other") });
  await updateOrb(deps, admin, { orb: "other", document: document("other"), publish: true });
  await createOrb(deps, admin, { document: document("third"), publish: true });
  const first = await store.nextMessage(streams.platform, "platform.orbs.other", 1);
  await remove(streams.platform, first?.seq ?? 0);
  const only = await store.nextMessage(streams.platform, "platform.orbs.third", 1);
  await remove(streams.platform, only?.seq ?? 0);
  await operator.deleteStream(streams.orb("other"));
  const lines = (await found()).map(lineOfDamage);
  expect(lines).toContainEqual(
    expect.stringMatching(/^OBJ_files_shop, .* the content of file \S+ has 168928 bytes/),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^platform, .* orb other has revision 2 after its beginning/),
  );
  expect(lines).toContain("platform: orb third is published with revision 1, and its history is missing.");
  expect(lines).toContain("øother: the stream does not exist.");
});
