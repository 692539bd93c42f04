/** Every export can be imported, whatever its entries contain. */
import { expect, test } from "vitest";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { createEntry, deleteEntry, updateEntry } from "../../shared/entry/index.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { deleteOrb, publishOrb } from "../../shared/orb/operate.ts";
import { exportOrb } from "../../shared/orb/transfer/export.ts";
import { importOrb } from "../../shared/orb/transfer/import.ts";
import { admin, failureOf, fileDeps } from "../support/entries.ts";

const { deps } = await fileDeps();

async function inForce(orb: string) {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("there is no such orb");
  return found;
}

/**
 * Exports an orb, deletes it and imports it again.
 * @returns the number of imported entries
 */
async function again(orb: string): Promise<number> {
  const lines: string[] = [];
  for await (const line of await exportOrb(deps, admin, { orb })) lines.push(JSON.stringify(line));
  await deleteOrb(deps, admin, { orb });
  const file = (async function* () {
    yield* lines;
  })();
  return (await importOrb(deps, admin, { lines: file, parse: (line) => JSON.parse(line) })).entries;
}

test("keeps the idempotency key of a transaction record", async () => {
  const orb = "ledgers";
  const fields = [{ name: "amount", type: "number" }];
  const modules = [{ id: "ledger", type: "TRANSACTIONS", schemas: [{ id: "payment", fields }] }];
  await createOrb(deps, admin, { document: { id: orb, modules }, publish: true });
  const record = async (amount: number) => {
    const live = await inForce(orb);
    const schema = live.compiled.schema("ledger");
    if (schema === undefined) throw new Error("there is no such schema");
    return recordTransaction(deps, { actor: admin, role: "owner" }, live, schema, {
      values: { amount },
      key: "once",
    });
  };
  const first = await record(1);
  expect(await again(orb)).toBe(1);
  expect(await record(1)).toMatchObject({ record: { id: Reflect.get(first, "record").id } });
  expect((await failureOf(record(2))).code).toBe("idempotency_mismatch");
});

test("keeps a unique value with the entry that took it after a validity window closed", async () => {
  const orb = "windows";
  const fields = [{ name: "code", type: "string", unique: true }];
  const modules = [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields }] }];
  await createOrb(deps, admin, { document: { id: orb, modules }, publish: true });
  const make = async (code: string, more: object = {}) =>
    createEntry(deps, admin, {
      orbId: orb,
      orb: await inForce(orb),
      module: "news",
      values: { code },
      ...more,
    });
  const validTo = new Date(Date.now() + 3_000).toISOString();
  const { snapshot } = await make("taken", { publish: true, validTo });
  await updateEntry(deps, admin, {
    orbId: orb,
    orb: await inForce(orb),
    id: snapshot.id,
    values: { code: "own" },
  });
  await new Promise((resolve) => setTimeout(resolve, Date.parse(validTo) + 100 - Date.now()));
  await make("taken");
  expect(await again(orb)).toBe(2);
  await publishOrb(deps, admin, { orb }).catch(() => undefined);
  for (const code of ["taken", "own"]) expect((await failureOf(make(code))).code).toBe("unique_conflict");
});

test("imports an entry with more references than one batch can write", async () => {
  const orb = "citations";
  const schemas = [
    { id: "work", fields: [{ name: "title", type: "string" }] },
    { id: "index", fields: [{ name: "cited", type: "reference", ref: `${orb}/shelf/work`, list: true }] },
  ];
  const modules = [{ id: "shelf", type: "CONTENT", schemas }];
  await createOrb(deps, admin, { document: { id: orb, modules }, publish: true });
  const live = await inForce(orb);
  const make = async (schema: string, values: object) =>
    (await createEntry(deps, admin, { orbId: orb, orb: live, module: "shelf", schema, values })).snapshot.id;
  const cited = await Promise.all(Array.from({ length: 700 }, () => make("work", {})));
  const id = await make("index", { cited: cited.slice(0, 300) });
  for (const many of [500, 700]) {
    const values = { cited: cited.slice(0, many) };
    await updateEntry(deps, admin, { orbId: orb, orb: live, id, values });
  }
  expect(await again(orb)).toBe(701);
  const context = { orbId: orb, orb: await inForce(orb) };
  const { snapshot } = await updateEntry(deps, admin, { ...context, id, values: { cited } });
  expect(snapshot).toMatchObject({ revision: 4, values: { cited } });
  const referred = deleteEntry(deps, admin, { ...context, id: cited[699] ?? "" });
  expect((await failureOf(referred)).code).toBe("referenced");
});
