/** Reads of management verbs that could reach all stored data: each stops at the bytes that a request may read. */
import { expect, test } from "vitest";
import { listInvitations } from "../../shared/access/invitations.ts";
import { keys, platformRealm } from "../../shared/access/realms.ts";
import { listAdmins } from "../../shared/access/users.ts";
import { findRevision, orbHead } from "../../shared/definition/stored/history.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { getDefinition, listDefinitions } from "../../shared/library/definitions.ts";
import { listOrbs } from "../../shared/orb/read.ts";
import { REQUEST_BYTES, ReadBudget } from "../../shared/store/budget.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { admin, failureOf, fileDeps, installOrb } from "../support/entries.ts";

const { deps, store } = await fileDeps();

/** 45 of these are more than a request may read. */
const LARGE = "x".repeat(450_000);
const MANY = 45;

const each = (make: (n: number) => Promise<unknown>) =>
  Array.from({ length: MANY }, (_, n) => n).reduce<Promise<unknown>>(
    (before, n) => before.then(() => make(n)),
    Promise.resolve(),
  );

/** Runs a verb and returns its result with the bytes that it read. */
async function measured<T>(
  verb: (charged: typeof deps) => Promise<T>,
): Promise<{ result: T; bytes: number }> {
  const budget = new ReadBudget();
  const result = await verb({ ...deps, store: budget.charging(store) });
  return { result, bytes: budget.spent };
}

/** Stores a version of a definition. */
const put = (id: string, version: number) =>
  store.append(streams.platform, {
    subject: subjects.definition("modules", id),
    data: JSON.stringify({ v: 1, kind: "modules", id, version, at: "", by: "system", description: LARGE }),
  });

test("reads only the newest versions of definitions for a list, and finds an old one among many", async () => {
  await each((n) => put("grown", n + 1));
  const listed = await measured((charged) => listDefinitions(charged, "modules"));
  expect(listed.result.map(({ id, version }) => [id, version])).toEqual([["grown", MANY]]);
  expect(listed.bytes).toBeLessThan(2 * LARGE.length);
  for (const version of [1, 20, MANY]) {
    const found = await measured((charged) => getDefinition(charged, "modules", "grown", version));
    expect(found.result.version).toBe(version);
    expect(found.bytes).toBeLessThan(REQUEST_BYTES);
  }
  expect((await failureOf(getDefinition(deps, "modules", "grown", MANY + 1))).kind).toBe("not_found");
});

test("finds an old revision of an orb among many large ones", async () => {
  await each(async (n) => {
    const data = JSON.stringify({ v: 1, revision: n + 1, summary: [LARGE] });
    await store.append(streams.platform, { subject: subjects.orbHistory("aged"), data });
    // Other messages of the stream lie between two revisions.
    await store.append(streams.platform, { subject: subjects.audit("platform", "orb"), data: "{}" });
  });
  const head = await orbHead(deps, "aged");
  if (head === null) throw new Error("no revision");
  for (const revision of [1, 20, MANY - 1]) {
    const found = await measured((charged) => findRevision(charged, "aged", head, revision));
    expect(found.result?.revision).toBe(revision);
    expect(found.bytes).toBeLessThan(REQUEST_BYTES / 4);
  }
  expect(await findRevision(deps, "aged", head, MANY + 1)).toBeNull();
});

test("refuses to list definitions that are together too large", async () => {
  await each((n) => put(`part-${n}`, 1));
  const refused = await failureOf(listDefinitions(deps, "modules"));
  expect([refused.code, refused.message]).toEqual([
    "too_broad",
    expect.stringContaining("16 MiB. Read the definitions one by one."),
  ]);
});

test("ends a page of orbs without a match when the budget is used up, and refuses to count them", async () => {
  await each(async (n) => {
    const orb = `large-${n}`;
    const document = { id: orb, name: LARGE };
    const record = { v: 1, revision: 1, status: n === MANY - 1 ? "ARCHIVED" : "DRAFT", document };
    await store.append(streams.platform, { subject: subjects.orbPlace(orb), data: "{}" });
    await store.append(streams.platform, {
      subject: subjects.orbHistory(orb),
      data: JSON.stringify(record),
    });
  });
  for (const descending of [false, true]) {
    const found: (string | undefined)[][] = [];
    for (let after: number | undefined; ; ) {
      const input = { limit: 50, status: "ARCHIVED", descending, after } as const;
      const { result, bytes } = await measured((charged) => listOrbs(charged, admin, input));
      expect(bytes).toBeLessThan(REQUEST_BYTES + 3_000_000);
      found.push(result.orbs.map(({ document }) => document.id));
      if (result.next === null) break;
      after = result.next;
    }
    expect(found.length).toBeGreaterThan(1);
    expect(found.flat()).toEqual([`large-${MANY - 1}`]);
  }
  const counted = listOrbs(deps, admin, { limit: 1, status: "ARCHIVED", count: true });
  expect((await failureOf(counted)).code).toBe("too_broad");
  expect((await listOrbs(deps, admin, { limit: 1, count: true })).total).toBe(MANY);
});

test("refuses to list invitations or admins that are together too large", async () => {
  const { invitations, accounts } = platformRealm.buckets;
  await each(async (n) => {
    const record = { v: 1, id: `a${n}`, padding: LARGE };
    await store.kvPut(invitations, keys.account(platformRealm, `a${n}`), JSON.stringify(record));
    await store.kvPut(accounts, keys.account(platformRealm, `a${n}`), JSON.stringify(record));
  });
  expect((await failureOf(listInvitations(deps, admin, platformRealm))).code).toBe("too_broad");
  expect((await failureOf(listAdmins(deps, admin))).code).toBe("too_broad");
});

test("refuses a write whose unique values belong to entries that are together too large", async () => {
  const names = Array.from({ length: MANY }, (_, n) => `u${n}`);
  const orb = await installOrb(store, {
    id: "owned",
    modules: [
      {
        id: "m",
        type: "CONTENT",
        schemas: [
          {
            id: "one",
            fields: [
              { name: "body", type: "text" },
              ...names.map((name) => ({ name, type: "string" as const, unique: true })),
            ],
          },
        ],
      },
    ],
  });
  const create = (values: object) =>
    createEntry(deps, admin, { orbId: "owned", orb, module: "m", schema: "one", values });
  await each((n) => create({ body: LARGE, [`u${n}`]: "taken" }));
  const wanted = Object.fromEntries(names.map((name) => [name, "taken"]));
  expect((await failureOf(create(wanted))).code).toBe("too_broad");
  const { u0, u1 } = wanted;
  expect((await failureOf(create({ u0, u1 }))).code).toBe("unique_conflict");
});
