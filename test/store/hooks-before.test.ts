/** Hooks that run before a write. */
import { beforeEach, describe, expect, it } from "vitest";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import type { BulkResult } from "../../shared/entry/bulk/bulk.ts";
import {
  archiveEntry,
  bulkWrite,
  createEntry,
  deleteEntry,
  loadEntry,
  publishEntry,
  revealValues,
  updateEntry,
  writeBatch,
} from "../../shared/entry/index.ts";
import { BEFORE_CALLS } from "../../shared/hooks/before.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams } from "../../shared/store/subjects.ts";
import { Conflict } from "../../shared/store/types.ts";
import { countingStore } from "../support/counting.ts";
import { admin, callerIn, failureOf, fileDeps, storedValues, testDeps } from "../support/entries.ts";
import { type HookService, hookService, Refusal } from "../support/hooks.ts";

const { broker, store, deps } = await fileDeps();

const EVERY = [
  "entry.created",
  "entry.updated",
  "entry.published",
  "entry.unpublished",
  "entry.archived",
  "entry.restored",
  "entry.deleted",
];
let number = 0;
let orbs = 0;
let service: HookService;
let name: string;

beforeEach(async () => {
  name = `checker.check${++number}`;
  service = await hookService(broker, name);
  return () => service.close();
});

/** Creates a published orb with one hook. */
async function orbWith(hook: object = {}, hooks = true) {
  const id = `hooked-${number}-${++orbs}`;
  const [, handler = ""] = name.split(".");
  const document = {
    id,
    uses: [
      { service: "checker", handlers: [handler] },
      { service: "transactions", handlers: ["record"] },
    ],
    ...(hooks ? { hooks: [{ id: "check", on: EVERY, mode: "before", handler: name, ...hook }] } : {}),
    modules: [
      {
        id: "shop",
        type: "CONTENT",
        schemas: [
          {
            id: "order",
            fields: [
              { name: "title", type: "string", required: true, max: 20 },
              { name: "total", type: "number" },
              { name: "card", type: "string", sensitive: true },
              {
                name: "parts",
                type: "object",
                list: true,
                fields: [
                  { name: "text", type: "richText" },
                  { name: "pin", type: "string", sensitive: true },
                ],
              },
            ],
          },
          { id: "note", fields: [{ name: "text", type: "string" }] },
        ],
      },
      {
        id: "book",
        type: "TRANSACTIONS",
        schemas: [{ id: "sale", fields: [{ name: "price", type: "number" }] }],
      },
    ],
  };
  await createOrb(deps, admin, { document, publish: true });
  const orb = await definitionFor(deps, id);
  if (orb === null) throw new Error("nothing is live");
  const at = { orbId: id, orb, module: "shop", schema: "order" };
  return {
    orb,
    id,
    create: (values: object, more: object = {}, by = deps) =>
      createEntry(by, admin, { ...at, values, ...more }),
    /** The orb and an entry of it. */
    target: (entry: string, more: object = {}) => ({ orbId: id, orb, id: entry, ...more }),
    bulk: async (lines: readonly object[], more: object = {}) => {
      async function* texts() {
        for (const line of lines) yield JSON.stringify(line);
      }
      const input = { orbId: id, orb, lines: texts(), parse: JSON.parse, ...more };
      const results: BulkResult[] = [];
      for await (const result of bulkWrite(deps, admin, input)) results.push(result);
      return results;
    },
    messages: async () => (await store.streamInfo(streams.orb(id)))?.state.last_seq,
  };
}

describe("a hook before a write", () => {
  it("gets the event, the entry as it will be with masks, the newest revision and the caller", async () => {
    const { create, target, id } = await orbWith();
    const { snapshot } = await create({ title: "a", card: "card-4111" });
    await updateEntry(deps, admin, target(snapshot.id, { values: { title: "b", card: "••••••••" } }));
    const [first, second] = service.calls;
    expect(first).toMatchObject({
      orbId: id,
      handler: name,
      hook: "check",
      caller: { sub: "admin1", role: "owner" },
      input: {
        event: "entry.created",
        previous: null,
        entry: { id: snapshot.id, revision: 1, status: "SAVED", module: "shop", schema: "order" },
      },
    });
    expect(second?.input).toMatchObject({
      event: "entry.updated",
      entry: { revision: 2, values: { title: "b" } },
      previous: { revision: 1, values: { title: "a" } },
    });
    expect(JSON.stringify(service.calls)).not.toContain("card-4111");
    expect(JSON.stringify(service.calls)).not.toContain("$sealed");
  });

  it("is not called by dry runs of uploads, because it may have effects", async () => {
    const { bulk } = await orbWith();
    const line = { module: "shop", schema: "order", values: { title: "a" } };
    service.answer = () => new Refusal("400", "No.");
    expect(await bulk([line, line], { dryRun: true })).toMatchObject([{ dry: true }, { dry: true }]);
    expect(service.calls).toEqual([]);
    expect(await bulk([line])).toMatchObject([{ error: { code: expect.any(String) } }]);
    expect(service.calls).toHaveLength(1);
  });

  it("refuses a write with errors for its fields, and nothing is stored", async () => {
    const { create, messages } = await orbWith();
    const before = await messages();
    const errors = [{ path: "/values/total", code: "too_small", message: "must be at least 1" }];
    service.answer = () => ({ errors });
    expect(await failureOf(create({ title: "a", total: 0 }))).toMatchObject({
      kind: "invalid",
      code: "validation_failed",
      errors,
    });
    service.answer = () => new Refusal("409", "The shop is closed.");
    expect(await failureOf(create({ title: "a" }))).toMatchObject({
      kind: "invalid",
      code: "write_refused",
      detail: "The shop is closed.",
    });
    expect(await messages()).toBe(before);
  });

  it("is asked about each item of a batch, changes its values, and can refuse all items", async () => {
    const { create, id, orb, messages } = await orbWith();
    const { snapshot } = await create({ title: "a" });
    service.calls.length = 0;
    const items = [
      { create: "shop/order", values: { title: "b" }, publish: true },
      { update: `shop/order/${snapshot.id}`, values: { title: "c" } },
    ];
    const write = () => writeBatch(deps, admin, { orbId: id, orb, items, routed: true });
    service.answer = ({ input }) => ({ values: { total: input.event === "entry.created" ? 1 : 2 } });
    const written = await write();
    expect(service.calls.map(({ input }) => [input.event, input.entry.values.title]).sort()).toEqual([
      ["entry.created", "b"],
      ["entry.updated", "c"],
    ]);
    const ids = written.items.map((item) => item.id);
    const heads = await Promise.all(ids.map((each) => loadEntry(deps, id, each)));
    expect(heads.map((entry) => storedValues(entry?.head).total)).toEqual([1, 2]);
    const before = await messages();
    const errors = [{ path: "/values/total", code: "too_small", message: "must be at least 1" }];
    service.answer = ({ input }) => (input.event === "entry.updated" ? { errors } : null);
    const refused = await failureOf(write());
    expect([refused.code, refused.errors?.[0]?.path]).toEqual(["validation_failed", "/do/1/values/total"]);
    service.answer = () => new Refusal("503", "Away.");
    expect((await failureOf(write())).code).toBe("hook_failed");
    expect(await messages()).toBe(before);
  });

  it("delays a batch only for some seconds", async () => {
    const { orb, id } = await orbWith();
    let now = Date.now();
    service.answer = () => {
      if (service.calls.length % 16 === 0) now += 8_000;
      return null;
    };
    const items = Array.from({ length: 33 }, () => ({ create: "shop/order", values: { title: "a" } }));
    const slow = { ...deps, clock: { now: () => now } };
    const refused = await failureOf(writeBatch(slow, admin, { orbId: id, orb, items, routed: true }));
    expect([refused.code, service.calls.length]).toEqual(["hook_unavailable", 32]);
  });

  it("changes values, which are validated like values of a client, and keeps sealed ones", async () => {
    const { create, orb, target } = await orbWith();
    service.answer = ({ input }) => ({ values: { total: input.entry.values.title === "a" ? 5 : "five" } });
    const { snapshot } = await create({ title: "a", card: "card-4111", total: 1 }, { publish: true });
    expect(snapshot.values).toMatchObject({ title: "a", total: 5 });
    const entry = await loadEntry(deps, orb.orb, snapshot.id);
    if (entry === null) throw new Error("no entry");
    const revealed = await revealValues(deps, callerIn(admin, orb), {
      orb,
      address: entry.address,
      snapshot,
    });
    expect(revealed).toMatchObject({ card: "card-4111" });
    expect(await failureOf(create({ title: "b" }))).toMatchObject({
      code: "validation_failed",
      errors: [{ path: "/values/total", code: "type" }],
    });
    service.answer = () => ({ values: { title: null, nonsense: 1 } });
    const { errors = [] } = await failureOf(
      updateEntry(deps, admin, target(snapshot.id, { values: { title: "c" } })),
    );
    expect(errors.map(({ path }) => path).sort()).toEqual(["/values/nonsense", "/values/title"]);
  });

  it("gets nested values with masks, and changes them as a client does", async () => {
    const { create, orb } = await orbWith();
    service.answer = ({ input }) => {
      const { parts } = input.entry.values as { parts: object[] };
      return { values: { parts: [...parts.map((one) => ({ ...one, text: { markdown: "*New*" } })), {}] } };
    };
    const parts = [{ _key: "k1", pin: "pin-1234", text: { html: "<p>Old</p>" } }];
    const { snapshot } = await create({ title: "a", parts });
    const [call] = service.calls;
    expect(JSON.stringify(call)).not.toContain("pin-1234");
    const entry = await loadEntry(deps, orb.orb, snapshot.id);
    if (entry === null) throw new Error("no entry");
    const { address } = entry;
    const revealed = await revealValues(deps, callerIn(admin, orb), { orb, address, snapshot });
    expect(revealed.parts).toMatchObject([
      { _key: "k1", pin: "pin-1234", text: [{ children: [{ text: "New", marks: ["em"] }] }] },
      { _key: expect.any(String) },
    ]);
  });

  it("runs for the update and the publication of one request, and for each other operation", async () => {
    const { create, target } = await orbWith({ on: ["entry.updated", "entry.archived", "entry.deleted"] });
    const { snapshot } = await create({ title: "a" }, { publish: true });
    expect(service.calls).toEqual([]);
    await updateEntry(deps, admin, target(snapshot.id, { values: { title: "b" }, publish: true }));
    await publishEntry(deps, admin, target((await create({ title: "x" })).snapshot.id));
    await archiveEntry(deps, admin, target(snapshot.id));
    service.answer = () => new Refusal("403", "Keep it.");
    expect(await failureOf(deleteEntry(deps, admin, target(snapshot.id)))).toMatchObject({
      code: "write_refused",
    });
    expect(service.calls.map(({ input }) => input.event)).toEqual([
      "entry.updated",
      "entry.archived",
      "entry.deleted",
    ]);
    const entry = await loadEntry(deps, target("").orbId, snapshot.id);
    expect(entry?.head).toMatchObject({ status: "ARCHIVED", values: { title: "b" } });
  });

  it("runs before a record of a transaction", async () => {
    const { orb } = await orbWith({ module: "book" });
    service.answer = () => ({ values: { price: 49.5 } });
    const schema = orb.compiled.schema("book", "sale");
    if (schema === undefined) throw new Error("no schema");
    const caller = { actor: admin, role: "owner" } as const;
    const { record } = await recordTransaction(deps, caller, orb, schema, { values: { price: 0.01 } });
    expect(record.values).toEqual({ price: 49.5 });
  });
});

describe("a handler that does not answer", () => {
  it.each([
    ["is away", async () => service.close()],
    ["is too slow", async () => (service.answer = () => new Promise(() => undefined))],
  ])("refuses the write with 503 if it %s, unless the hook is not required", async (_what, spoil) => {
    const strict = await orbWith();
    const lenient = await orbWith({ required: false });
    await spoil();
    const messages = await strict.messages();
    expect(await failureOf(strict.create({ title: "a" }))).toMatchObject({
      kind: "unavailable",
      code: "hook_unavailable",
      retryAfter: 1,
      data: { hook: "check" },
    });
    expect(await strict.messages()).toBe(messages);
    expect((await lenient.create({ title: "a" })).snapshot).toMatchObject({ revision: 1 });
  });

  it.each([
    ["fails", () => new Refusal("500", "bug")],
    ["answers a text", () => "fine"],
    ["answers values that are no object", () => ({ values: [1] })],
    ["answers errors that are no list of errors", () => ({ errors: "no" })],
  ])("refuses the write with 502 if it %s", async (_what, answer) => {
    const { create } = await orbWith();
    service.answer = answer;
    expect(await failureOf(create({ title: "a" }))).toMatchObject({
      kind: "bad_gateway",
      code: "hook_failed",
    });
  });
});

describe("calls of a hook", () => {
  it("are not made, and cost no round trip, for other schemas and without hooks", async () => {
    const elsewhere = await orbWith({ module: "shop", schema: "note" });
    const none = await orbWith({}, false);
    for (const { create } of [elsewhere, none]) {
      const counted = countingStore(store);
      await create({ title: "a" }, {}, testDeps(counted.store, deps.config));
      expect(counted.calls).toEqual(["pipeline"]);
    }
    expect(service.calls).toEqual([]);
    const { create } = await orbWith();
    await create({ title: "a" });
    const counted = countingStore(store);
    await create({ title: "a" }, {}, testDeps(counted.store, deps.config));
    expect(counted.calls.toSorted()).toEqual(["kvGet", "pipeline", "request", "streamNames"]);
    expect(counted.trips).toBe(3);
  });

  it("are not repeated for a repeated request with an Idempotency-Key", async () => {
    const { create } = await orbWith();
    const idempotency = { key: "k", route: "POST /x" };
    const first = await create({ title: "a" }, { idempotency });
    const second = await create({ title: "a" }, { idempotency });
    expect(second).toMatchObject({ replayed: true, seq: first.seq });
    expect(service.calls).toHaveLength(1);
  });

  it("are repeated when the write is decided again after a conflict", async () => {
    const { create, target } = await orbWith();
    const { snapshot } = await create({ title: "a" });
    let failures = 2;
    const racing = testDeps(
      {
        ...store,
        append: async (stream, message) => {
          if (message.data !== "" && failures-- > 0) throw new Conflict();
          return store.append(stream, message);
        },
      },
      deps.config,
    );
    await updateEntry(racing, admin, target(snapshot.id, { values: { title: "b" } }));
    expect(service.calls.map(({ input }) => input.event)).toEqual([
      "entry.created",
      "entry.updated",
      "entry.updated",
      "entry.updated",
    ]);
  });

  it("are made for each line of an upload, few at the same time", async () => {
    const { bulk } = await orbWith();
    service.answer = async ({ input }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return input.entry.values.title === "t7"
        ? { errors: [{ path: "/values/title", code: "taken", message: "is taken" }] }
        : { values: { total: 1 } };
    };
    const lines = Array.from({ length: 40 }, (_, i) => ({
      module: "shop",
      schema: "order",
      values: { title: `t${i}` },
    }));
    const results = await bulk(lines);
    const failed = results.flatMap((result) => ("error" in result ? [result] : []));
    expect(failed).toMatchObject([{ line: 8, error: { errors: [{ code: "taken" }] } }]);
    const made = results.flatMap((result) => ("snapshot" in result ? [result.snapshot] : []));
    expect(made).toHaveLength(39);
    expect(made.every(({ values }) => values.total === 1)).toBe(true);
    expect(service.calls).toHaveLength(40);
    expect(service.most).toBeLessThanOrEqual(16);
  });

  it("end if the handler itself writes what the hook is for", async () => {
    const { create } = await orbWith();
    const inner: unknown[] = [];
    service.answer = async ({ input }) => {
      const nested = await create({ title: `${input.entry.values.title}`.slice(0, 20) }).catch(
        (error: unknown) => error,
      );
      inner.push(nested);
      return nested instanceof Error ? new Refusal("409", "The nested write failed.") : null;
    };
    const outcome = await failureOf(create({ title: "a" }));
    expect(["write_refused", "hook_unavailable"]).toContain(outcome.code);
    const calls = service.calls.length;
    expect(calls).toBeLessThanOrEqual(BEFORE_CALLS);
    expect(inner.some((error) => error instanceof Error && "code" in error)).toBe(true);
  });
});
