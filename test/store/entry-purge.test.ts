/** Purges of entries whose id is written again. */
import { beforeEach, expect, it } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { deleteEntry, listRevisions } from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { getSettings, type SettingsTarget, setSettings } from "../../shared/modules/settings/settings.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, failureOf, fileDeps, installOrb, type TestDeps, testDeps, user } from "../support/entries.ts";

let deps: TestDeps;
let live: LiveOrb;
let number = 0;

const { broker, store } = await fileDeps();
beforeEach(async () => {
  deps = testDeps(store);
  const schemas = [{ id: "pref", fields: [{ name: "size", type: "number" as const }] }];
  const modules = [{ id: "prefs", type: "SETTINGS" as const, schemas }];
  const uses = [{ service: "settings", handlers: ["set"] }];
  live = await installOrb(broker.store("operator"), { id: `orb${++number}`, uses, modules });
});

const ann = { actor: user("ann"), role: "user" as const };
const target = (): SettingsTarget => {
  const schema = live.compiled.schema("prefs");
  if (schema === undefined) throw new Error("no schema");
  return { live, schema, scope: "user" };
};
const listed = async () => {
  const ids: string[] = [];
  for (let cursor: [string, string][] = []; ; ) {
    const parameters: [string, string][] = [
      ["module", "prefs"],
      ["schema", "pref"],
      ["limit", "1"],
      ...cursor,
    ];
    const { items, nextCursor } = await listManaged(deps, admin, { orb: live, parameters });
    ids.push(...items.map(({ id }) => id));
    if (nextCursor === null) return ids;
    cursor = [["cursor", nextCursor]];
  }
};

it("never erases a value that was written after the deletion", async () => {
  await setSettings(deps, ann, target(), { size: 1 });
  const [id = ""] = await listed();
  let done = false;
  const batch: Store["batch"] = async (stream, messages) => {
    const seq = await store.batch(stream, messages);
    if (!done) {
      done = true;
      await setSettings(deps, ann, target(), { size: 2 });
    }
    return seq;
  };
  const racing: TestDeps = { ...deps, store: { ...store, batch } };
  const at = { orbId: live.orb, orb: live, id };
  const error = await failureOf(deleteEntry(racing, admin, { ...at, purge: true }));
  expect(error).toMatchObject({ kind: "conflict", code: "wrong_state", data: { state: "PUBLISHED" } });
  expect((await getSettings(deps, ann, target())).values).toEqual({ size: 2 });
  const history = async () =>
    (await listRevisions(deps, admin, { ...at, order: "asc", limit: 200 })).items.map(
      (item) => item.operation,
    );
  expect(await history()).toEqual(["create", "delete", "update"]);
  // A repeated request deletes and purges the entry as it is now.
  await deleteEntry(deps, admin, { ...at, purge: true });
  expect((await failureOf(history())).code).toBe("entry_not_found");
});

it("allows the same id to be written at once, and lists it once at its new position", async () => {
  await setSettings(deps, ann, target(), { size: 1 });
  const before = await listed();
  await setSettings(deps, { ...ann, actor: user("bob") }, target(), { size: 1 });
  const [, other = ""] = await listed();
  await deleteEntry(deps, admin, { orbId: live.orb, orb: live, id: before[0] ?? "", purge: true });
  const both = [{ size: 2 }, { size: 3 }].map((given) => setSettings(deps, ann, target(), given));
  const revisions = (await Promise.all(both)).map(({ revision }) => revision);
  expect(revisions.toSorted()).toEqual([1, 2]);
  expect(await listed()).toEqual([other, ...before]);
  // The markers of the deletion and the purge expire, and newer writes stay.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect((await getSettings(deps, ann, target())).revision).toBe(2);
  expect(await listed()).toEqual([other, ...before]);
});
