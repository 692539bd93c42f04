/** Data that the platform stores for all orbs: message and module definitions, and stream mappings. */
import { expect, test } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import {
  deleteDefinition,
  listDefinitions,
  putDefinition,
  storeBuiltInMessages,
} from "../../shared/library/definitions.ts";
import { deleteMapping, putMapping } from "../../shared/streams/mappings/mapping.ts";
import { admin, failureOf, fileDeps, user } from "../support/entries.ts";

const { deps } = await fileDeps();

test("lists more than a thousand definitions by their newest version, and provisions beside them", async () => {
  const ids = Array.from({ length: 1_100 }, (_, n) => `shape-${String(n).padStart(4, "0")}`);
  const put = (id: string, schema: boolean) =>
    putDefinition(deps, admin, { kind: "messages", id, body: { schema } });
  for (let at = 0; at < ids.length; at += 100)
    await Promise.all(ids.slice(at, at + 100).map((id) => put(id, true)));
  await put("shape-0007", false);
  await deleteDefinition(deps, admin, "messages", "shape-0008");
  await storeBuiltInMessages(deps);
  await storeBuiltInMessages(deps);
  const listed = await listDefinitions(deps, "messages");
  expect(listed.filter(({ id }) => id.startsWith("shape-")).map(({ id }) => id)).toEqual(
    ids.filter((id) => id !== "shape-0008"),
  );
  expect(listed.find(({ id }) => id === "shape-0007")).toMatchObject({ version: 2, schema: false });
  expect(listed.find(({ id }) => id === "rules-evaluate-input")).toMatchObject({ version: 1, by: "system" });
});

test("lets only platform admins write definitions and mappings", async () => {
  const mapping = { stream: "wallet", subjectFilter: "wallet.{userID}.*", description: "" };
  await putMapping(deps, admin, "mine", mapping);
  for (const [actor, kind] of [
    [anonymous, "unauthenticated"],
    [user("owner", "owner"), "forbidden"],
  ] as const) {
    const acts = [
      () => putDefinition(deps, actor, { kind: "messages", id: "mine", body: { schema: true } }),
      () => deleteDefinition(deps, actor, "messages", "shape-0001"),
      () => putMapping(deps, actor, "mine", mapping),
      () => deleteMapping(deps, actor, "mine"),
    ];
    for (const act of acts) expect((await failureOf(act())).kind).toBe(kind);
  }
});
