/** Unsaved changes of forms and presence: who sees them, what ends them, and what two clients at once do. */
import { expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { bucketsOf, keys, sharedRealm } from "../../shared/access/realms.ts";
import { removeUser } from "../../shared/access/users.ts";
import { attend, leave, PRESENCE_LIMITS } from "../../shared/editing/presence.ts";
import {
  type Changed,
  discardUnsaved,
  keepUnsaved,
  listUnsaved,
  readUnsaved,
  UNSAVED_LIMITS,
} from "../../shared/editing/unsaved.ts";
import { createEntry, deleteEntry } from "../../shared/entry/index.ts";
import { presenceKeys, unsavedKeys } from "../../shared/store/editing.ts";
import { buckets, kvSubject, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { countingStore } from "../support/counting.ts";
import { admin, failureOf, fileOrb, testDeps, user } from "../support/entries.ts";

const SECRET = "open sesame";
const { store, deps, orb } = await fileOrb({
  id: "forms",
  languages: ["en", "de"],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: {
            read: ["public"],
            create: ["admin"],
            update: ["admin"],
            publish: ["admin"],
            delete: ["admin"],
          },
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "pin", type: "string", sensitive: true },
            {
              name: "box",
              type: "object",
              fields: [
                { name: "word", type: "string" },
                { name: "code", type: "string", sensitive: true },
              ],
            },
            { name: "fee", type: "number", access: { read: ["owner"], write: ["owner"] } },
          ],
        },
        {
          id: "note",
          access: {
            read: ["user"],
            create: ["user"],
            update: ["own"],
            publish: ["admin"],
            delete: ["admin"],
          },
          fields: [{ name: "text", type: "string" }],
        },
      ],
    },
  ],
} as never);

async function account(sub: string, role: "owner" | "admin" | "user" = "admin"): Promise<Actor> {
  const record = {
    v: 1,
    id: sub,
    name: `Name of ${sub}`,
    role,
    status: "active",
    credentials: [],
    invitation: null,
  };
  await store.kvPut(bucketsOf("auth").accounts, keys.account({ name: "auth" }, sub), JSON.stringify(record));
  return user(sub, role);
}
const root = JSON.stringify({ v: 1, id: "admin1", name: "Root", status: "active" });
await store.kvPut(buckets.platformAdmins, keys.account({ name: "platform" }, "admin1"), root);
const [ada, bo, cy] = await Promise.all([account("ada"), account("bo"), account("cy", "user")]);

const article = async (by: Actor = ada) =>
  (await createEntry(deps, by, { orbId: "forms", orb, module: "news", schema: "article", values: {} }))
    .snapshot.id;
const note = async (by: Actor) =>
  (await createEntry(deps, by, { orbId: "forms", orb, module: "news", schema: "note", values: {} })).snapshot
    .id;
const of = (id: string, schema = "article") => ({ orb, module: "news", schema, id });
const typed = (title: string, more: object = {}): Changed => ({
  revision: 1,
  base: { values: {} },
  draft: { values: { title: { en: title }, ...more } },
});
const keep = (by: Actor, id: string, changed: Changed, expect: number | undefined = 0, schema?: string) =>
  keepUnsaved(deps, by, { ...of(id, schema), changed, expect });
const titleOf = async (by: Actor, id: string) => (await readUnsaved(deps, by, of(id)))?.draft.values.title;
const stored = async (filter: string) =>
  (await store.kvList(buckets.unsaved, filter, { maxBytes: 1e7 })).map((each) => each.text());

it("keeps unsaved changes for their account alone, until they are discarded", async () => {
  const id = await article();
  const made = await keep(ada, id, typed("Half a sen"));
  expect(made).toMatchObject({ entry: id, revision: 1, left: [] });
  expect(await titleOf(ada, id)).toEqual({ en: "Half a sen" });
  expect(await readUnsaved(deps, bo, of(id))).toBeNull();
  expect(await readUnsaved(deps, admin, of(id))).toBeNull();
  expect(await listUnsaved(deps, bo, of(""))).toEqual([]);
  const again = await keep(ada, id, typed("Half a sentence"), made.version);
  expect((await listUnsaved(deps, ada, of(""))).map(({ version }) => version)).toContain(again.version);
  expect((await failureOf(discardUnsaved(deps, ada, { ...of(id), expect: made.version }))).code).toBe(
    "unsaved_mismatch",
  );
  await discardUnsaved(deps, ada, { ...of(id), expect: again.version });
  expect(await readUnsaved(deps, ada, of(id))).toBeNull();
  await discardUnsaved(deps, ada, { ...of(id), expect: undefined });
});

it("stores no sensitive value, and none that the caller may not set, and says so", async () => {
  const id = await article();
  const made = await keep(
    ada,
    id,
    typed("T", { pin: SECRET, fee: 3, former: SECRET, box: { word: "w", code: SECRET } }),
  );
  expect(made.left).toEqual(["/values/pin", "/values/fee", "/values/former", "/values/box/code"]);
  expect(made.draft.values).toMatchObject({ title: { en: "T" }, box: { word: "w" } });
  expect((await stored("forms.>")).join()).not.toContain(SECRET);
  await discardUnsaved(deps, ada, { ...of(id), expect: undefined });
});

it("lets one of two windows that write at once know that it did not come first", async () => {
  const id = await article();
  const first = await Promise.allSettled([keep(ada, id, typed("one")), keep(ada, id, typed("two"))]);
  expect(first.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const version = (await readUnsaved(deps, ada, of(id)))?.version ?? 0;
  const next = await Promise.allSettled([
    keep(ada, id, typed("three"), version),
    keep(ada, id, typed("four"), version),
  ]);
  const won = next.flatMap((each) => (each.status === "fulfilled" ? [each.value.draft.values.title] : []));
  expect(won).toEqual([await titleOf(ada, id)]);
  const lost = next.find((each) => each.status === "rejected");
  expect(lost).toMatchObject({ reason: { code: "unsaved_mismatch" } });
  await discardUnsaved(deps, ada, { ...of(id), expect: undefined });
});

it("is for people who may edit the entry", async () => {
  const id = await article();
  const mine = await note(cy);
  const other = await note(ada);
  expect((await failureOf(keep(cy, id, typed("no")))).code).toBe("forbidden");
  expect((await failureOf(attend(deps, cy, { ...of(id), field: null }))).code).toBe("forbidden");
  expect(await keep(cy, mine, typed("yes"), 0, "note")).toMatchObject({ entry: mine });
  expect((await failureOf(keep(cy, other, typed("no"), 0, "note"))).code).toBe("forbidden");
  expect(await stored(`forms.auth.cy.~.content.note.${other}`)).toEqual([]);
  // The path must name the schema of the entry: its secrets and rights are those of the schema.
  expect((await failureOf(keep(ada, id, typed("no"), 0, "note"))).code).toBe("entry_not_found");
  expect((await failureOf(keep(ada, "9nothing", typed("no")))).code).toBe("entry_not_found");
  expect(await stored("forms.*.*.*.*.*.9nothing")).toEqual([]);
  const token = { ...ada, token: { id: "t", scopes: [{ orb: "*", can: ["read", "write"] }] } } as Actor;
  expect((await failureOf(keep(token, id, typed("no")))).code).toBe("session_required");
  expect((await failureOf(readUnsaved(deps, token, of(id)))).code).toBe("session_required");
  expect((await failureOf(readUnsaved(deps, { kind: "anonymous" }, of(id)))).kind).toBe("unauthenticated");
});

it("limits the forms of an account, and the size of each", async () => {
  const eve = await account("eve");
  for (let at = 0; at < UNSAVED_LIMITS.forms; at++) await keep(eve, `new-${at}`, typed(`${at}`));
  expect(await listUnsaved(deps, eve, of(""))).toHaveLength(UNSAVED_LIMITS.forms);
  expect((await failureOf(keep(eve, "new-more", typed("no")))).code).toBe("too_many_unsaved");
  expect((await failureOf(keep(eve, "new-more", typed("no"), undefined))).code).toBe("too_many_unsaved");
  const [one] = await listUnsaved(deps, eve, of(""));
  const large = typed("x".repeat(UNSAVED_LIMITS.bytes));
  expect((await failureOf(keep(eve, one?.entry ?? "", large, one?.version))).code).toBe("unsaved_too_large");
  expect(await keep(eve, one?.entry ?? "", typed("again"), one?.version)).toMatchObject({
    entry: one?.entry,
  });
});

it("is erased with the purge of the entry, even if a window writes at the same time", async () => {
  const id = await article();
  await keep(ada, id, typed("private"));
  await deleteEntry(deps, admin, { orbId: "forms", orb, id });
  expect((await failureOf(keep(bo, id, typed("late")))).code).toBe("entry_not_found");
  const purge = deleteEntry(deps, admin, { orbId: "forms", orb, id, purge: true });
  await Promise.allSettled([purge, ...[1, 2, 3].map(() => keep(ada, id, typed("later"), undefined))]);
  expect(await stored(unsavedKeys.ofEntry("forms", id))).toEqual([]);
});

it("is erased with the account, even if a window of it still writes", async () => {
  const dan = await account("dan");
  const id = await article();
  await keep(dan, id, typed("private"));
  await removeUser(deps, admin, { realm: sharedRealm, id: "dan" });
  expect((await failureOf(keep(dan, id, typed("late"), undefined))).kind).toBe("not_found");
  expect(await stored(unsavedKeys.ofAccount("auth", "dan"))).toEqual([]);
});

it("costs few trips to the broker", async () => {
  const id = await article();
  const made = await keep(ada, id, typed("one"));
  const counted = countingStore(store, undefined, 20);
  const within = testDeps(counted.store);
  await keepUnsaved(within, ada, { ...of(id), changed: typed("two"), expect: made.version });
  expect([counted.trips, counted.calls.length]).toEqual([2, 3]);
  counted.reset();
  await attend(within, ada, { ...of(id), field: "title" });
  counted.reset();
  await attend(within, ada, { ...of(id), field: "title" });
  // The entry and those who edit it, and the own record. Names only if others are there.
  expect([counted.trips, counted.calls.length]).toEqual([2, 3]);
  await discardUnsaved(deps, ada, { ...of(id), expect: undefined });
});

it("shows who edits an entry, since when and in which field, to other editors alone", async () => {
  const id = await article();
  const [first, second] = await Promise.all([
    attend(deps, ada, { ...of(id), field: "fee" }),
    attend(deps, bo, { ...of(id), field: "title" }),
  ]);
  // Both came in the same moment. Each sees the other at the latest with the next request.
  expect(first.length + second.length).toBeLessThanOrEqual(2);
  const seen = await attend(deps, ada, { ...of(id), field: "fee" });
  expect(seen).toMatchObject([{ by: { id: "bo", name: "Name of bo" }, field: "title" }]);
  // The field is one that this caller may not read.
  expect(await attend(deps, bo, { ...of(id), field: null })).toMatchObject([
    { by: { id: "ada" }, field: null },
  ]);
  expect(await attend(deps, admin, { ...of(id), field: "no such" })).toMatchObject([
    { by: { id: "ada" }, field: "fee" },
    { by: { id: "bo" }, field: null },
  ]);
  await leave(deps, bo, of(id));
  await leave(deps, bo, of(id));
  expect((await attend(deps, ada, { ...of(id), field: null })).map(({ by }) => by.id)).toEqual(["admin1"]);
});

it("forgets a client that disappears, and leaves nothing behind", async () => {
  const id = await article();
  const short: Store = {
    ...store,
    kvPut: (bucket, key, value, write) => store.kvPut(bucket, key, value, { ...write, ttl: 1 }),
  };
  await attend(testDeps(short), bo, { ...of(id), field: null });
  const subject = kvSubject(buckets.presence, presenceKeys.ofEntry("forms", id));
  await expect
    .poll(async () => store.get(streams.kv(buckets.presence), subject), { timeout: 10_000 })
    .toBeNull();
  expect(await attend(deps, ada, { ...of(id), field: null })).toEqual([]);
});

it("shows an account in a limited number of entries, and locks nobody out of more", async () => {
  const fay = await account("fay");
  const ids: string[] = [];
  for (let at = 0; at <= PRESENCE_LIMITS.entries; at++) ids.push(await article());
  for (const id of ids) expect(await attend(deps, fay, { ...of(id), field: null })).toEqual([]);
  const filter = kvSubject(buckets.presence, presenceKeys.ofAccount({ realm: "auth", sub: "fay" }));
  expect((await store.subjects(streams.kv(buckets.presence), filter)).subjects).toHaveLength(
    PRESENCE_LIMITS.entries,
  );
});

it("keeps nothing in an orb that is being deleted", async () => {
  await store.deleteStream(streams.orb("forms"));
  expect((await failureOf(keep(ada, "new-late", typed("late")))).code).toBe("entry_not_found");
  expect(await stored("forms.auth.ada.~.content.article.new-late")).toEqual([]);
});
