import { expect, it } from "vitest";
import { listRevisions, updateEntry } from "../../shared/entry/index.ts";
import { getManaged } from "../../shared/entry/read/managed-get.ts";
import { setSettings } from "../../shared/modules/settings/settings.ts";
import { subjects } from "../../shared/store/subjects.ts";
import { admin, failureOf, fileOrb, user } from "../support/entries.ts";

const { broker, deps, orb } = await fileOrb({
  id: "club",
  uses: [{ service: "settings", handlers: ["set"] }],
  modules: [
    {
      id: "preferences",
      type: "SETTINGS",
      schemas: [
        {
          id: "profile",
          fields: [
            { name: "nick", type: "string", unique: true },
            { name: "loud", type: "boolean" },
          ],
        },
      ],
    },
  ],
});

const set = (sub: string, values: Record<string, unknown>) => {
  const schema = orb.compiled.schema("preferences");
  if (schema === undefined) throw new Error("no schema");
  return setSettings(deps, { actor: user(sub), role: "user" }, { live: orb, schema, scope: "user" }, values);
};
/** Returns the id of the settings that were written last. */
async function newest(): Promise<string> {
  const log = await broker.store("fn").scan("øclub", subjects.allLogs("club"), { fromSeq: 1, limit: 100 });
  return log.messages.at(-1)?.subject.split(".").at(-1) ?? "";
}

it("settings with a validity window lose their unique value when it closes, and the history shows it", async () => {
  await set("ann", { nick: "first" });
  const id = await newest();
  const at = { orbId: "club", orb, id };
  const validTo = new Date(Date.now() + 60_000).toISOString();
  await updateEntry(deps, admin, { ...at, validTo, publish: true });
  await updateEntry(deps, admin, { ...at, values: { nick: "second" }, validTo: null });
  expect((await failureOf(set("bob", { nick: "first" }))).code).toBe("unique_conflict");

  deps.clock.now = () => Date.now() + 61_000;
  const closed = await getManaged(deps, admin, at);
  expect(closed.snapshot).toMatchObject({ status: "UNPUBLISHED", revision: 4 });
  await set("bob", { nick: "first" });
  expect(await set("ann", { loud: true })).toMatchObject({
    revision: 5,
    values: { nick: "second", loud: true },
  });
  const { items } = await listRevisions(deps, admin, { ...at, order: "asc", limit: 10 });
  expect(items.map(({ revision, status }) => [revision, status])).toEqual([
    [1, "PUBLISHED"],
    [2, "PUBLISHED"],
    [3, "PUBLISHED"],
    [4, "UNPUBLISHED"],
    [5, "PUBLISHED"],
  ]);
  expect((await failureOf(set("carl", { nick: "first" }))).code).toBe("unique_conflict");
  expect((await failureOf(set("carl", { nick: "second" }))).code).toBe("unique_conflict");
});
