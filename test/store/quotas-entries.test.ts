/** The quotas of writes, calls and guesses, with a clock that stands still, so that no window ends by itself. */
import { describe, expect, test } from "vitest";
import { readSettings } from "../../functions/env.ts";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import type { Config } from "../../shared/deps.ts";
import {
  changeMany,
  createEntry,
  deleteEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
  writeBatch,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { setSettings } from "../../shared/modules/settings/settings.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { countCall } from "../../shared/quotas/quotas.ts";
import { takeReader } from "../../shared/quotas/readers.ts";
import { streams } from "../../shared/store/subjects.ts";
import { Conflict } from "../../shared/store/types.ts";
import {
  admin,
  callerIn,
  fileDeps,
  installOrb,
  NO_QUOTAS,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";

const { broker, store } = await fileDeps();
/** Values of sensitive fields and claims are encrypted and hashed with the same keys on all hosts. */
const { encryptionKeys, claimKeys } = testDeps(store).config;

/** Lengths of the windows in seconds. */
const [WINDOW, NEXT, LONG] = [60, 300, 86_400];
const SMALL: Config["quotas"] = {
  ...NO_QUOTAS,
  windowSeconds: WINDOW,
  longWindowSeconds: LONG,
  accountWrites: 10,
  orbWrites: 24,
  accountCalls: 5,
  orbCalls: 12,
  accountBytes: 1024 * 1024,
  accountConflicts: 2,
  readersPerUser: 3,
};

let serial = 0;

/** Hosts that share a broker and a clock, which starts at the beginning of all windows. */
class World {
  now = LONG * 1000 * 20_000;
  readonly orb: LiveOrb;
  readonly other: LiveOrb;
  readonly #hosts: TestDeps[];
  /** Address of all clients of this test. */
  readonly #client = `10.0.0.${++serial}`;

  private constructor(hosts: number, quotas: Config["quotas"], orbs: [LiveOrb, LiveOrb]) {
    [this.orb, this.other] = orbs;
    const clock = { now: () => this.now };
    this.#hosts = Array.from({ length: hosts }, () => ({
      ...testDeps(store, { quotas, encryptionKeys, claimKeys }),
      clock,
    }));
  }

  static async of(hosts = 1, quotas = SMALL): Promise<World> {
    return new World(hosts, quotas, [await openOrb(), await openOrb()]);
  }

  /** The dependencies of a new request. */
  request(host = 0): TestDeps {
    const deps = this.#hosts[host];
    if (deps === undefined) throw new Error("no such host");
    const { request, ...others } = deps;
    return { ...others, request: { ...request, client: this.#client } };
  }

  /** Continues in another window. @param seconds length of the window that ends */
  async pass(seconds = WINDOW): Promise<void> {
    await this.settled();
    this.now += seconds * 1000;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#hosts.map((deps) => deps.settled()));
  }

  async write(actor: Actor, values: object, { schema = "note", orb = this.orb, host = 0 } = {}) {
    const input = { orbId: orb.orb, orb, module: "notes", schema, values };
    const { snapshot } = await createEntry(this.request(host), actor, input);
    return snapshot.id;
  }

  update(actor: Actor, id: string, values: object, orb = this.orb) {
    return updateEntry(this.request(), actor, { orbId: orb.orb, orb, id, values });
  }
}

type SchemaInput = NonNullable<OrbDocumentInput["modules"]>[number]["schemas"][number];

const EVERYONE = Object.fromEntries(
  ["read", "create", "update", "publish", "delete"].map((action) => [action, ["user"]]),
);
const ADMINS = { update: ["admin"], publish: ["admin"], delete: ["admin"] };
const FIELDS: SchemaInput["fields"] = [
  { name: "text", type: "text" },
  { name: "email", type: "string", unique: true },
  { name: "by", type: "string", unique: true, translatable: true },
  { name: "pin", type: "string", unique: true, sensitive: true },
];

/**
 * Publishes an orb with notes that users write, a form that anyone fills in, notes that only their authors read, public
 * names, and a board that all users read and write.
 */
function openOrb(): Promise<LiveOrb> {
  const access: Record<string, SchemaInput["access"]> = {
    note: { read: "user", write: "user" },
    form: { read: ["admin"], create: ["public"], ...ADMINS },
    own: { read: "own", write: "user" },
    name: { read: ["public"], create: ["public"], ...ADMINS },
    board: EVERYONE,
  };
  const schemas = Object.entries(access).map(([id, rights]) => ({ id, access: rights, fields: FIELDS }));
  const settings: SchemaInput[] = [
    {
      id: "preference",
      fields: [
        { name: "pin", type: "string", unique: true, sensitive: true },
        { name: "text", type: "text" },
      ],
    },
  ];
  const transactions: SchemaInput[] = [{ id: "event", fields: [{ name: "text", type: "text" }] }];
  return installOrb(broker.store("operator"), {
    id: `quota${++serial}`,
    languages: ["en"],
    uses: [
      { service: "settings", handlers: ["get", "set"] },
      { service: "transactions", handlers: ["record"] },
    ],
    modules: [
      { id: "notes", type: "CONTENT", schemas },
      { id: "preferences", type: "SETTINGS", schemas: settings },
      { id: "events", type: "TRANSACTIONS", schemas: transactions },
    ],
  });
}

/** Returns the only schema of a module. */
function named({ compiled }: LiveOrb, module: string): CompiledSchema {
  return compiled.modules.get(module)?.only ?? expect.fail("no schema");
}

/** Returns an account that no other test uses, because the quotas of an account count in all orbs. */
const person = (): Actor => user(`user${++serial}`);
const times = <T>(count: number, act: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => act(i));

/** Returns `ok` or the code of the error. */
const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof AppError) return error.code;
      throw error;
    },
  );

/** Counts the outcomes of acts that run in parallel. */
async function tally(acts: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const result of await Promise.all(acts.map(outcome))) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

/** Returns the outcomes of acts, each of which begins after the one before. */
async function inTurn(acts: readonly (() => Promise<unknown>)[]): Promise<string[]> {
  const results: string[] = [];
  for (const act of acts) results.push(await outcome(act()));
  return results;
}

describe("writes", () => {
  test("are refused above an account's limit until the next window, without affecting other accounts", async () => {
    const world = await World.of();
    const [ann, bob] = [person(), person()];
    expect(await tally(times(13, () => world.write(ann, {})))).toEqual({ ok: 10, too_many_writes: 3 });
    world.now += 1_000;
    await expect(world.write(ann, {}, { orb: world.other })).rejects.toMatchObject({
      kind: "too_many",
      code: "too_many_writes",
      message:
        "Your account may write 10 times within 60 seconds, and has reached that limit. Try again in 59 seconds.",
      retryAfter: 59,
      data: { scope: "account" },
    });
    expect(await outcome(world.write(bob, {}))).toBe("ok");
    expect(await tally(times(15, () => world.write(admin, {})))).toEqual({ ok: 15 });
    await world.pass();
    expect(await outcome(world.write(ann, {}))).toBe("ok");
  });

  test("count of every kind: updates, publications, deletions, settings, and those that fail validation", async () => {
    const world = await World.of();
    const ann = person();
    const id = await world.write(ann, {});
    await world.pass();
    const target = { orbId: world.orb.orb, orb: world.orb, id };
    const schema = world.orb.compiled.schema("preferences", "preference");
    if (schema === undefined) throw new Error("no such schema");
    const choices = { live: world.orb, schema, scope: "user" } as const;
    const results = await inTurn([
      ...times(3, (i) => () => world.update(ann, id, { text: String(i) })),
      ...times(3, () => () => world.write(ann, { nothing: "of this name" })),
      () => setSettings(world.request(), callerIn(ann, world.orb), choices, { pin: "1" }),
      () => publishEntry(world.request(), ann, target),
      () => unpublishEntry(world.request(), ann, target),
      () => deleteEntry(world.request(), ann, target),
      () => world.write(ann, {}),
    ]);
    expect(results).toEqual([
      ...times(3, () => "ok"),
      ...times(3, () => "validation_failed"),
      ...times(4, () => "ok"),
      "too_many_writes",
    ]);
  });

  test("are refused above an orb's limit, but not those of other orbs and of admins", async () => {
    const world = await World.of();
    const users = [person(), person(), person()];
    const writes = users.flatMap((who) => times(9, () => world.write(who, {})));
    expect(await tally(writes)).toEqual({ ok: 24, too_many_writes: 3 });
    const last = person();
    await expect(world.write(last, {})).rejects.toMatchObject({
      message: expect.stringMatching(/^This orb may write 24 times within 60 seconds/),
      data: { scope: "orb" },
    });
    expect(await outcome(world.write(last, {}, { orb: world.other }))).toBe("ok");
    expect(await outcome(world.write(admin, {}))).toBe("ok");
  });

  test("through two hosts in parallel share a quota", async () => {
    const world = await World.of(2);
    const ann = person();
    const writes = times(40, (i) => world.write(ann, {}, { host: i % 2 }));
    expect(await tally(writes)).toEqual({ ok: 10, too_many_writes: 30 });
  });

  test("are allowed 300 times, 50 at once, with 40 new sensitive values, under the default quotas", async () => {
    const env = { PUBLIC_URL: "http://localhost", NATS_URL: "ws://localhost", ...(await generateKeys()) };
    const { quotas } = readSettings(env).config;
    const world = await World.of(1, quotas);
    const ann = person();
    for (let round = 0; round < 6; round++)
      expect(await tally(times(50, (i) => world.write(ann, { text: `${round} ${i}` })))).toEqual({ ok: 50 });
    for (let i = 0; i < 40; i++) expect(await outcome(world.write(ann, { pin: `p${i}` }))).toBe("ok");
  });
});

test("handler calls are limited for each account, network and orb, but not for admins", async () => {
  const world = await World.of();
  const [ann, bob] = [person(), person()];
  const calls = (count: number, actor: Actor, orb = world.orb.orb) =>
    tally(times(count, () => countCall(world.request(), actor, orb)));
  expect(await calls(7, ann)).toEqual({ ok: 5, too_many_calls: 2 });
  expect(await calls(7, anonymous)).toEqual({ ok: 5, too_many_calls: 2 });
  await expect(countCall(world.request(), anonymous, world.other.orb)).rejects.toMatchObject({
    message: expect.stringMatching(/^Your network address may call handlers 5 times within 60 seconds/),
    data: { scope: "client" },
  });
  // Ten of the orb's twelve calls are used.
  expect(await calls(4, bob)).toEqual({ ok: 2, too_many_calls: 2 });
  await expect(countCall(world.request(), person(), world.orb.orb)).rejects.toMatchObject({
    data: { scope: "orb" },
  });
  expect(await calls(1, bob, world.other.orb)).toEqual({ ok: 1 });
  expect(await calls(10, admin)).toEqual({ ok: 10 });
  await world.pass();
  expect(await calls(1, ann)).toEqual({ ok: 1 });
});

test("values above an account's byte limit are refused until the next day", async () => {
  const world = await World.of();
  const [ann, bob] = [person(), person()];
  const text = "x".repeat(300_000);
  const results = await inTurn(times(5, () => () => world.write(ann, { text })));
  expect(results).toEqual(["ok", "ok", "ok", "too_many_bytes", "too_many_bytes"]);
  await world.pass();
  await expect(world.write(ann, { text })).rejects.toMatchObject({
    message: expect.stringMatching(/^Your account may store values of 1 MiB within 86400 seconds/),
    retryAfter: LONG - WINDOW,
    data: { scope: "account" },
  });
  expect(
    await inTurn([() => world.write(ann, { text: "little" }), () => world.write(bob, { text })]),
  ).toEqual(["ok", "ok"]);
  world.now += (LONG - WINDOW) * 1000;
  expect(await outcome(world.write(ann, { text }))).toBe("ok");
});

test.each<
  [string, (deps: TestDeps, to: { orbId: string; orb: LiveOrb }, who: Actor, text: string) => unknown]
>([
  [
    "a new entry",
    (deps, to, who, text) =>
      createEntry(deps, who, { ...to, module: "notes", schema: "note", values: { text } }),
  ],
  [
    "a batch",
    (deps, to, who, text) =>
      writeBatch(deps, who, { ...to, items: [{ create: "notes/note", values: { text } }], routed: true }),
  ],
  [
    "settings",
    (deps, { orb }, who, text) =>
      setSettings(
        deps,
        callerIn(who, orb),
        { live: orb, schema: named(orb, "preferences"), scope: "user" },
        { text },
      ),
  ],
  [
    "a transaction",
    (deps, { orb }, who, text) =>
      recordTransaction(deps, callerIn(who, orb), orb, named(orb, "events"), { values: { text } }),
  ],
])("the bytes of %s count once, however often it meets a conflict", async (_, write) => {
  const world = await World.of();
  const ann = person();
  let left = 6;
  const stream = streams.orb(world.orb.orb);
  const busy =
    <A extends unknown[], R>(send: (to: string, ...more: A) => Promise<R>) =>
    async (to: string, ...more: A): Promise<R> => {
      if (to === stream && left-- > 0) throw new Conflict();
      return send(to, ...more);
    };
  const deps = world.request();
  const { batch, pipeline } = store;
  const conflicting = { ...deps.store, batch: busy(batch), pipeline: busy(pipeline) };
  const text = "x".repeat(300_000);
  const to = { orbId: world.orb.orb, orb: world.orb };
  await write({ ...deps, store: conflicting }, to, ann, text);
  expect(left).toBe(-1);
  expect(await inTurn(times(3, () => () => world.write(ann, { text })))).toEqual([
    "ok",
    "ok",
    "too_many_bytes",
  ]);
});

describe("unique values that the caller may not read", () => {
  test("are refused after two conflicts, whether taken or free, with a growing wait", async () => {
    const world = await World.of();
    const [ann, bob] = [person(), person()];
    await world.write(admin, { pin: "0007" });
    const own = await world.write(ann, { pin: "own" });
    await world.pass(NEXT);
    const create = (pin: string) => () => world.write(ann, { pin });
    const update = (pin: string) => () => world.update(ann, own, { pin });
    expect(await inTurn([update("0007"), create("0007")])).toEqual(["unique_conflict", "unique_conflict"]);
    for (const guess of [create("0007"), create("0008"), update("0007"), update("0008")]) {
      const refused = await guess().catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "too_many_conflicts", retryAfter: WINDOW });
      expect(refused).not.toHaveProperty("errors", expect.anything());
    }
    // Writes without such a value still work, and so do other accounts, other orbs and platform admins.
    expect(
      await inTurn([
        () => world.update(ann, own, { pin: "own", text: "t" }),
        () => world.write(bob, { pin: "0007" }),
        () => world.write(bob, { pin: "0009" }),
        () => world.write(ann, { pin: "0007" }, { orb: world.other }),
        ...times(4, () => () => world.write(admin, { pin: "0007" })),
      ]),
    ).toEqual(["ok", "unique_conflict", "ok", "ok", ...times(4, () => "unique_conflict")]);
    // The next short window allows two more conflicts. Then the longer window's limit of four is reached.
    await world.pass();
    expect(await inTurn([create("0007"), update("0007")])).toEqual(["unique_conflict", "unique_conflict"]);
    await world.pass();
    await expect(create("0010")()).rejects.toMatchObject({
      code: "too_many_conflicts",
      retryAfter: NEXT - 2 * WINDOW,
    });
  });

  test("count in settings as well", async () => {
    const world = await World.of();
    const [ann, bob] = [person(), person()];
    const schema = world.orb.compiled.schema("preferences", "preference");
    if (schema === undefined) throw new Error("no such schema");
    const set = (who: Actor, pin: string) => () =>
      setSettings(
        world.request(),
        callerIn(who, world.orb),
        { live: world.orb, schema, scope: "user" },
        { pin },
      );
    expect(
      await inTurn([set(ann, "0007"), set(bob, "0007"), set(bob, "0007"), set(bob, "0007"), set(bob, "1")]),
    ).toEqual(["ok", "unique_conflict", "unique_conflict", "too_many_conflicts", "too_many_conflicts"]);
  });

  test("guessed in parallel through two hosts reveal at most the allowed conflicts", async () => {
    const world = await World.of(2);
    const ann = person();
    await world.write(admin, { pin: "0007" });
    const guesses = times(10, (i) => world.write(ann, { pin: "0007" }, { host: i % 2 }));
    expect(await tally(guesses)).toEqual({ unique_conflict: 2, too_many_conflicts: 8 });
  });

  test.each([
    ["a form", "form", "email"],
    ["drafts", "name", "email"],
    ["one language", "form", "by"],
  ])("are refused to anonymous callers in %s after two conflicts", async (_, schema, field) => {
    const world = await World.of();
    const send =
      (value: string, actor: Actor = anonymous) =>
      () =>
        world.write(actor, { [field]: field === "by" ? { en: value } : value }, { schema });
    expect(await inTurn([send("ann@example.org", admin), send("b"), send("c"), send("d")])).toEqual(
      times(4, () => "ok"),
    );
    await world.settled();
    const guesses = [...times(4, () => send("ann@example.org")), send("free")];
    expect(await inTurn(guesses)).toEqual([
      ...times(2, () => "unique_conflict"),
      ...times(3, () => "too_many_conflicts"),
    ]);
    expect(await outcome(send("ann@example.org", admin)())).toBe("unique_conflict");
  });

  test("do not count if they are free secrets, or conflicts that a reader of all drafts meets", async () => {
    const world = await World.of();
    const [ann, bob] = [person(), person()];
    const send = (who: Actor, values: object) => () => world.write(who, values, { schema: "board" });
    await send(bob, { email: "taken" })();
    expect(
      await inTurn([
        ...times(4, (i) => send(ann, { pin: `free${i}`, email: "taken" })),
        ...times(4, (i) => send(ann, { pin: `free${i}` })),
      ]),
    ).toEqual([...times(4, () => "unique_conflict"), ...times(4, () => "ok")]);
  });

  test("count for each entry of a change of many, and in changes and drafts of own entries", async () => {
    const world = await World.of();
    const [ann, bob] = [person(), person()];
    const own = (who: Actor, values: object) => () => world.write(who, values, { schema: "own" });
    const email = "bob@example.org";
    await own(bob, { email })();
    const ids = await Promise.all(times(5, (i) => own(ann, { text: String(i) })()));
    await world.pass();
    const change = (id: string) => () => world.update(ann, id, { email });
    const many = changeMany(ids, async (id) => (await change(id)()).unchanged !== true);
    expect(await outcome(many)).toBe("too_many_conflicts");
    await world.pass();
    expect(await inTurn([...ids.slice(0, 3).map(change), own(ann, { email: "free@example.org" })])).toEqual([
      "unique_conflict",
      "unique_conflict",
      "too_many_conflicts",
      "too_many_conflicts",
    ]);
  });
});

test("an account's readers of streams are limited until one ends", async () => {
  const world = await World.of(2);
  const [ann, bob] = [person(), person()];
  const take = (who: Actor, i = 0) => takeReader(world.request(i % 2), who, "");
  const readers = await Promise.allSettled(times(5, (i) => take(ann, i)));
  await world.settled();
  expect(readers.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect(await inTurn([() => take(ann), () => take(bob)])).toEqual(["too_many_streams", "ok"]);
  await world.settled();
  for (const reader of readers) if (reader.status === "fulfilled") await reader.value();
  expect(await inTurn(times(4, () => () => take(ann)))).toEqual(["ok", "ok", "ok", "too_many_streams"]);
});
