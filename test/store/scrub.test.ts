/** The weekly check of all stored data, which keeps what it finds until an operator decides. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recordFolder } from "../../scripts/config/data-dir.ts";
import { RecordKeeper } from "../../scripts/verify/keeper.ts";
import { acceptLoss, readLosses } from "../../scripts/verify/losses.ts";
import { SCRUB_MS, Scrub } from "../../scripts/verify/scrub.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import { knownLosses } from "../../shared/definition/stored/losses.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams } from "../../shared/store/subjects.ts";
import { fileBroker, tempDir } from "../support/broker.ts";
import { admin, testDeps } from "../support/entries.ts";

const broker = await fileBroker();
const store = broker.store("operator");
const deps = testDeps(store);

/** Creates an application, and returns what the tests do with it. */
async function application(id: string) {
  const fields = [{ name: "sku", type: "string" as const, unique: true }];
  const modules = [{ id: "catalog", type: "CONTENT" as const, schemas: [{ id: "item", fields }] }];
  await createOrb(deps, admin, { document: { id, modules }, publish: true });
  const orb = (await liveOrb(deps, id)) ?? expect.fail("the orb is not published");
  return {
    stream: streams.orb(id),
    create: async (sku: string) => {
      const made = { orbId: id, orb: (await liveOrb(deps, id)) ?? orb, module: "catalog", values: { sku } };
      return (await createEntry(deps, admin, made)).snapshot.id;
    },
    loss: async () => (await liveOrb(deps, id))?.fence?.loss,
  };
}

function started() {
  const dataDir = tempDir("scrub");
  const said: string[] = [];
  const options = { dataDir, say: (line: string) => void said.push(line) };
  return { dataDir, said, scrub: new Scrub(deps, options), keeper: new RecordKeeper(deps, options) };
}

it("keeps a loss in an index until it is accepted, lets writes go on, and does not report it again", async () => {
  const { dataDir, said, scrub, keeper } = started();
  const { stream, create, loss } = await application("shop");
  const id = await create("a");
  await keeper.look();
  await keeper.look();
  await scrub.run();
  expect(readLosses(dataDir)).toEqual([]);

  await store.purge(stream, `shop._ix.content.item.${id}`);
  await scrub.run();
  const says = `entry ${id} is missing in the order of creation.`;
  expect(readLosses(dataDir)).toEqual([expect.objectContaining({ stream, says, writable: true })]);
  expect(said).toEqual([expect.stringMatching(`DATA DAMAGE: ${stream}, .*--accept-loss ${stream}`)]);
  await keeper.look();
  expect(await knownLosses(deps)).toEqual([expect.objectContaining({ stream, says, writable: true })]);
  expect(await loss()).toMatchObject({ writable: true });
  await create("b");
  // Later checks do not add it again.
  await scrub.run();
  expect(readLosses(dataDir)).toHaveLength(1);

  expect(acceptLoss(dataDir, stream)).toBe(true);
  await keeper.look();
  expect([readLosses(dataDir), await knownLosses(deps), await loss()]).toEqual([[], [], undefined]);
  // The record is complete, so it stays.
  expect(existsSync(join(recordFolder(dataDir), `${encodeURIComponent(stream)}.json`))).toBe(true);
  await scrub.run();
  expect(readLosses(dataDir)).toEqual([]);
});

it("forgets what a later check no longer finds", async () => {
  const { dataDir, scrub, keeper } = started();
  const { stream, create, loss } = await application("news");
  const subject = `news._ix.content.item.${await create("c")}`;
  const index = await store.get(stream, subject);
  await store.purge(stream, subject);
  await scrub.run();
  await keeper.look();
  expect(await loss()).toMatchObject({ writable: true });
  await store.append(stream, { subject, data: index?.text() ?? "" });
  await scrub.run();
  const known = [...readLosses(dataDir), ...(await knownLosses(deps))].map((one) => one.stream);
  expect(known).not.toContain(stream);
  expect(await loss()).toBeUndefined();
});

it("is due a week after the last check, or after the first start", async () => {
  const { dataDir, scrub } = started();
  const at = () =>
    Date.parse(
      (JSON.parse(readFileSync(join(recordFolder(dataDir), "scrub.json"), "utf8")) as { at: string }).at,
    );
  const week = Date.now() - SCRUB_MS;
  await scrub.runIfDue(week - 1_000);
  const began = at();
  await scrub.runIfDue(week - 500);
  expect(at()).toBe(began);
  await scrub.runIfDue();
  expect(at()).toBeGreaterThan(began + SCRUB_MS - 1_000);
});
