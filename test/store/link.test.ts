import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AppError } from "../../shared/kernel/errors.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { linkedStore } from "../../shared/store/link/link-client.ts";
import { LinkServer } from "../../shared/store/link/link-server.ts";
import { streams } from "../../shared/store/subjects.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { startCutter } from "../support/cutter.ts";
import { installOrb, SHOP } from "../support/entries.ts";
import { type LinkWorker, startLinkWorker } from "../support/link.ts";
import { type Asked, bytes, type Outcome, outcomeOf, revive } from "../support/outcome.ts";

const SHOP_STREAM = streams.orb("shop");
const subject = (id: string) => `shop.content.owner.note.${id}`;
/** More bytes than any read here returns. */
const BOUND = { maxBytes: 1e8 };
const ask = (call: Asked["call"], ...args: unknown[]): Asked => ({ call, args });
const nobody = () => {
  throw new Error("the link must not open a connection of its own");
};

describe("link in workerd", () => {
  let broker: TestBroker;
  let alone: LinkWorker;
  let replicated: LinkWorker;

  beforeAll(async () => {
    broker = await startBroker();
    const store = broker.store("operator");
    await installOrb(store, SHOP);
    // With replicated streams, reads go to the leader, whose responses have another form.
    [alone, replicated] = await Promise.all([
      startLinkWorker(broker.access("operator")),
      startLinkWorker(broker.access("operator"), 3),
    ]);
    const append = (id: string, data: string | Uint8Array, headers?: Record<string, string>) =>
      store.append(SHOP_STREAM, {
        subject: subject(id),
        data,
        ...(headers === undefined ? {} : { headers }),
      });
    await append("1", `{"text":"é ø 漢 🙂"}`, { Own: "mine: é" });
    await append("2", Uint8Array.of(0, 255, 254, 128, 10));
    await append("3", "");
    await append("1", "second", { "Nats-TTL": "1h" });
    await append("4", "x".repeat(70_000));
    await append("5", "{}");
    for (let i = 0; i < 300; i++) await store.kvPut("handlers", `s.h${i}`, `{"n":${i}}`);
    await store.kvDelete("handlers", "s.h7");
  });
  afterAll(async () => {
    await Promise.all([alone[Symbol.asyncDispose](), replicated[Symbol.asyncDispose]()]);
    await broker[Symbol.asyncDispose]();
  });

  const reads: Asked[] = [
    ask("get", SHOP_STREAM, subject("1")),
    ask("get", SHOP_STREAM, subject("1"), { consistency: "stale" }),
    ask("get", SHOP_STREAM, subject("2")),
    ask("get", SHOP_STREAM, subject("3"), { consistency: "stale" }),
    ask("get", SHOP_STREAM, subject("none")),
    ask("get", SHOP_STREAM, subject("*")),
    ask("get", streams.kv("handlers"), "$KV.handlers.s.h7"),
    ask("getSeq", SHOP_STREAM, 1),
    ask("getSeq", SHOP_STREAM, 4_000),
    ask("getMany", SHOP_STREAM, ["1", "2", "3", "4", "none"].map(subject), BOUND),
    ask("getMany", SHOP_STREAM, ["4", "2"].map(subject), { consistency: "stale", ...BOUND }),
    ask("getMany", SHOP_STREAM, [], BOUND),
    ask("scan", SHOP_STREAM, subject("*"), { fromSeq: 1, limit: 3, ...BOUND }),
    ask("scan", SHOP_STREAM, subject("none"), { fromSeq: 1, limit: 3, ...BOUND }),
    ask("nextMessage", SHOP_STREAM, subject(">"), 2),
    ask("nextMessage", SHOP_STREAM, subject(">"), 4_000),
    ask("kvGet", "handlers", "s.h1"),
    ask("kvGet", "handlers", "s.h7"),
    ask("kvGet", "handlers", "none", { consistency: "stale" }),
    ask("kvList", "handlers", "s.>", BOUND),
    ask("kvList", "handlers", "none.>", BOUND),
    ask("kvLast", "handlers"),
    ask("streamInfo", "ønone"),
    ask("streamNames", "shop.>"),
    ask("server"),
  ];

  test.each([1, 3])("reads return the same as a direct store (%i replicas)", async (replicas) => {
    const own = openStore({ ...broker.access("operator"), replicas });
    const expected: Outcome[] = [];
    for (const one of reads) expected.push(JSON.parse(JSON.stringify(await outcomeOf(own, one))) as Outcome);
    await own.close();
    const worker = replicas === 1 ? alone : replicated;
    // First in parallel, as in one request, then one by one.
    expect(await worker.ask(...reads)).toEqual(expected);
    for (const [i, one] of reads.entries()) expect(await worker.ask(one)).toEqual([expected[i]]);
    expect(expected.filter((outcome) => "thrown" in outcome)).toEqual([]);
  });

  test("writes have the same effect as those of a direct store", async () => {
    const own = broker.store("operator");
    const [first] = await alone.ask(
      ask("append", SHOP_STREAM, {
        subject: subject("w"),
        data: bytes(1, 0, 255),
        expect: { seq: 0 },
        headers: { Own: "ø" },
      }),
    );
    const stored = await own.get(SHOP_STREAM, subject("w"));
    expect(first).toEqual({ answer: stored?.seq });
    expect([...(stored?.data ?? [])]).toEqual([1, 0, 255]);
    expect(stored?.header("Own")).toBe("ø");

    const seq = stored?.seq ?? 0;
    const [batch] = await alone.ask(
      ask("batch", SHOP_STREAM, [
        { subject: subject("w"), data: "a", expect: { seq }, rollup: true },
        { subject: subject("v"), data: "b", ttl: 3600 },
      ]),
    );
    expect(batch).toEqual({ answer: seq + 2 });
    expect((await own.get(SHOP_STREAM, subject("v")))?.header("Nats-TTL")).toBe("3600s");
    const [pipeline] = await alone.ask(
      ask(
        "pipeline",
        SHOP_STREAM,
        ["p", "q", "r"].map((id) => ({ subject: subject(id), data: id })),
      ),
    );
    expect(pipeline).toEqual({ answer: [seq + 3, seq + 4, seq + 5] });
    expect(await alone.ask(ask("purge", SHOP_STREAM, subject("q")))).toEqual([{ answer: 1 }]);
    expect(await own.get(SHOP_STREAM, subject("q"))).toBeNull();

    const [put] = await alone.ask(ask("kvPut", "handlers", "w.x", "one", { expect: 0 }));
    const revision = (await own.kvGet("handlers", "w.x"))?.revision;
    expect(put).toEqual({ answer: revision });
    expect(await alone.ask(ask("kvDelete", "handlers", "w.x", { expect: revision }))).toEqual([
      { answer: (revision ?? 0) + 1 },
    ]);
    expect(await own.kvGet("handlers", "w.x")).toBeNull();
    // A deleted key counts as absent.
    const [again] = await alone.ask(ask("kvPut", "handlers", "w.x", "two", { expect: 0 }));
    expect(again).toEqual({ answer: (revision ?? 0) + 2 });

    const config = { name: "made", subjects: ["made.>"], storage: "memory", num_replicas: 1 };
    expect(await alone.ask(ask("createStream", config))).toEqual([{ answer: null }]);
    expect(await alone.ask(ask("updateStream", { ...config, max_msgs: 5 }))).toEqual([{ answer: null }]);
    expect((await own.streamInfo("made"))?.config.max_msgs).toBe(5);
    expect(await alone.ask(ask("deleteStream", "made"))).toEqual([{ answer: true }]);
    expect(await alone.ask(ask("deleteStream", "made"))).toEqual([{ answer: false }]);
  });

  test("a batch that is too large for one RPC is stored over a connection of its own", async () => {
    const data = "x".repeat(1_000_000);
    const messages = Array.from({ length: 36 }, (_, number) => ({
      subject: subject(`large${number}`),
      data,
    }));
    const [batch] = await alone.ask(ask("batch", SHOP_STREAM, messages));
    const last = await broker.store("operator").streamInfo(SHOP_STREAM);
    expect(batch).toEqual({ answer: last?.state.last_seq });
  });

  test("a service request returns the service's reply and headers", async () => {
    const service = broker.store("operator");
    service.subscribe("svc.echo", (message) => {
      const { data, reply } = message;
      if (reply !== undefined) service.publish(reply, data, { Own: message.header("Own") ?? "" });
    });
    await service.ping();
    const asked = ask("request", "svc.echo", bytes(7, 0, 200), {
      timeoutMs: 20_000,
      headers: { Own: "back" },
    });
    expect(await alone.ask(asked)).toEqual([
      { answer: { bytes: [3, 7, 0, 200], headers: ["back", null, null, null, null, null, null] } },
    ]);
  });

  test("errors keep their type and details", async () => {
    const silent = broker.store("operator");
    silent.subscribe("svc.silent", () => undefined);
    await silent.ping();
    await silent.append(streams.limits, { subject: "_limit.x", data: "" });
    await silent.updateStream({
      ...(await silent.streamInfo(streams.limits))?.config,
      name: streams.limits,
      max_msgs_per_subject: 1,
    });
    const many = Array.from({ length: 1_100 }, (_, i) => ({
      subject: `shop.content.owner.many.${i}`,
      data: "",
    }));
    await silent.pipeline(SHOP_STREAM, many);
    const failing: [Asked, Record<string, unknown>][] = [
      [
        ask("append", SHOP_STREAM, { subject: subject("1"), data: "", expect: { seq: 0 } }),
        { of: "Conflict" },
      ],
      [
        ask("batch", SHOP_STREAM, [
          { subject: subject("b"), data: "" },
          { subject: subject("1"), data: "", expect: { seq: 1 } },
        ]),
        { of: "Conflict" },
      ],
      [ask("kvPut", "handlers", "s.h1", "", { expect: 0 }), { of: "Conflict" }],
      [ask("get", "ønone", "none.x"), { of: "StreamMissing", stream: "ønone" }],
      [ask("append", "ønone", { subject: "none.x", data: "" }), { of: "StreamMissing", stream: "ønone" }],
      [ask("kvGet", "none", "x"), { of: "StreamMissing", stream: "KV_none" }],
      [ask("append", streams.limits, { subject: "_limit.x", data: "" }), { of: "SubjectFull" }],
      [
        ask("getMany", SHOP_STREAM, ["4", "5"].map(subject), { consistency: "stale", maxBytes: 1_000 }),
        { of: "TooMuch" },
      ],
      [ask("createStream", { name: "taken", subjects: ["shop.>"] }), { of: "SubjectsTaken" }],
      [
        ask("request", "svc.none", "", { timeoutMs: 20_000 }),
        { code: "no_responders", kind: "unavailable", retryAfter: 1 },
      ],
      [
        ask("request", "svc.silent", "", { timeoutMs: 200 }),
        { code: "broker_timeout", kind: "timeout", retryAfter: 1 },
      ],
      [
        ask("append", SHOP_STREAM, { subject: subject("1"), data: "x".repeat(4 * 1024 * 1024) }),
        { code: "payload_too_large", kind: "too_large" },
      ],
      [
        ask(
          "batch",
          SHOP_STREAM,
          Array.from({ length: 20_001 }, () => many[0]),
        ),
        { code: "batch_too_large", kind: "too_large" },
      ],
      [
        ask("getMany", SHOP_STREAM, ["shop.content.owner.many.*"], { consistency: "stale", ...BOUND }),
        { code: "too_broad", kind: "invalid" },
      ],
      [
        ask("createStream", { name: "bad", subjects: ["bad.>"], num_replicas: 3 }),
        { code: "broker_unavailable", retryAfter: 1 },
      ],
    ];
    for (const [asked, expected] of failing) {
      const own = JSON.parse(JSON.stringify(asked), revive) as Asked;
      const [outcome] = await alone.ask(asked);
      expect(outcome).toEqual(await outcomeOf(silent, own));
      expect(outcome).toMatchObject({ thrown: expected });
    }
    // None of the failed writes was stored.
    expect((await silent.get(SHOP_STREAM, subject("1")))?.text()).toBe("second");
    expect(await silent.get(SHOP_STREAM, subject("b"))).toBeNull();
  });

  test("calls fail as unavailable when the object is reset, and the next call works", async () => {
    const service = broker.store("operator");
    const heard = Promise.withResolvers<void>();
    service.subscribe("svc.never", () => heard.resolve());
    await service.ping();
    const never = ask("request", "svc.never", "", { timeoutMs: 20_000 });
    const underWay = alone.ask(never, never);
    await heard.promise;
    await alone.reset();
    for (const outcome of await underWay)
      expect(outcome).toMatchObject({
        thrown: { of: "AppError", code: "broker_unavailable", retryAfter: 1 },
      });
    const [after] = await alone.ask(ask("kvGet", "handlers", "s.h1"));
    expect(after).toMatchObject({ answer: { key: "s.h1" } });
    expect(alone.complaints).toEqual([]);
  });

  test("allows only calls that send broker requests", async () => {
    for (const call of ["close", "subscribe", "publish", "open", "latest", "constructor", "toString"]) {
      const far = new LinkServer(nobody);
      expect(await far.call(call, [])).toMatchObject({ is: "failure", failure: { name: "Error" } });
    }
  });
});

/**
 * Connects both ends in one process.
 * @param seen called with the name of each call
 */
function inOneProcess(far: LinkServer, seen: (call: string) => void = () => undefined) {
  const call = async (name: string, args: readonly unknown[]) => {
    seen(name);
    return structuredClone(await far.call(name, structuredClone(args)));
  };
  return linkedStore({ session: () => ({ call, [Symbol.dispose]: () => undefined }) }, nobody);
}

test("uses one RPC per call, however many broker requests it takes", async () => {
  await using broker = await startBroker();
  const own = broker.store("operator");
  await installOrb(own, SHOP);
  for (let i = 0; i < 600; i++) await own.kvPut("handlers", `s.h${i}`, "{}");
  const calls: string[] = [];
  const far = new LinkServer(() => openStore({ ...broker.access("operator"), replicas: 3 }));
  const store = inOneProcess(far, (call) => calls.push(call));
  expect(await store.kvList("handlers", "s.>", { maxBytes: 1e8 })).toHaveLength(600);
  await store.getMany(SHOP_STREAM, ["1", "2", "3"].map(subject), { maxBytes: 1e8 });
  await store.batch(
    SHOP_STREAM,
    ["1", "2"].map((id) => ({ subject: subject(id), data: "" })),
  );
  await store.pipeline(
    SHOP_STREAM,
    ["1", "2"].map((id) => ({ subject: subject(id), data: "" })),
  );
  expect(calls).toEqual(["kvList", "getMany", "batch", "pipeline"]);
  await far.call("ping", []);
});

describe("limits of the link server", () => {
  test("limits parallel calls, and service requests to half of them", async () => {
    await using broker = await startBroker();
    const silent = broker.store("operator");
    silent.subscribe("svc.silent", () => undefined);
    await silent.ping();
    await installOrb(silent, SHOP);
    const store = inOneProcess(new LinkServer(() => openStore(broker.access("operator")), { maxCalls: 8 }));
    const busy = (work: Promise<unknown>) =>
      work.then(
        () => "answered",
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
    const services = Array.from({ length: 6 }, () =>
      busy(store.request("svc.silent", "", { timeoutMs: 700 })),
    );
    const reads = Array.from({ length: 6 }, () => busy(store.get(SHOP_STREAM, subject("1"))));
    expect((await Promise.all(reads)).sort()).toEqual([
      ...Array(4).fill("answered"),
      "link_busy",
      "link_busy",
    ]);
    expect(await busy(store.get(SHOP_STREAM, subject("1")))).toBe("answered");
    expect((await Promise.all(services)).sort()).toEqual([
      ...Array(4).fill("broker_timeout"),
      "link_busy",
      "link_busy",
    ]);
    const after = Array.from({ length: 8 }, () => busy(store.get(SHOP_STREAM, subject("1"))));
    expect(await Promise.all(after)).toEqual(Array(8).fill("answered"));
  });

  test("limits the bytes of parallel pages, but not of a single page", async () => {
    await using broker = await startBroker();
    const own = broker.store("operator");
    await installOrb(own, SHOP);
    const ids = Array.from({ length: 40 }, (_, i) => subject(`${i}`));
    await own.pipeline(
      SHOP_STREAM,
      ids.map((of) => ({ subject: of, data: "x".repeat(100_000) })),
    );
    const far = new LinkServer(() => openStore({ ...broker.access("operator"), maxHeldBytes: 1_000_000 }));
    const store = inOneProcess(far);
    const page = () => store.scan(SHOP_STREAM, subject("*"), { fromSeq: 1, limit: 40, maxBytes: 1e8 });
    expect((await page()).messages).toHaveLength(40);
    const several = await Promise.allSettled(Array.from({ length: 4 }, page));
    const failed = several
      .filter((result) => result.status === "rejected")
      .map(({ reason }) => reason as AppError);
    expect(failed.length).toBeGreaterThan(0);
    expect(new Set(failed.map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
    expect((await page()).messages).toHaveLength(40);
  });
});

test("shares one connection, closes it when idle, and opens it again", async () => {
  await using broker = await startBroker();
  await using way = await startCutter(broker.wsPort);
  const access = { ...broker.access("operator"), url: `ws://127.0.0.1:${way.port}` };
  const store = inOneProcess(new LinkServer(() => openStore(access), { idleMs: 3_000 }));
  await Promise.all(Array.from({ length: 50 }, (_, i) => store.kvPut("handlers", `s.h${i}`, "{}")));
  expect([way.opened, way.open]).toEqual([1, 1]);
  await expect.poll(() => way.open).toBe(0);
  expect(await store.kvList("handlers", "s.>", { maxBytes: 1e8 })).toHaveLength(50);
  expect([way.opened, way.open]).toEqual([2, 1]);
  for (let i = 0; i < 10; i++) {
    await delay(400);
    await store.ping();
  }
  expect(way.opened).toBe(2);
  await expect.poll(() => way.open).toBe(0);
});

test("retries reads, but not writes, when the connection breaks", async () => {
  await using broker = await startBroker();
  await using way = await startCutter(broker.wsPort);
  const access = { ...broker.access("operator"), url: `ws://127.0.0.1:${way.port}` };
  const store = inOneProcess(
    new LinkServer((broken) =>
      openStore({ ...access, onStatus: (status) => status === "closed" && broken() }),
    ),
  );
  for (let i = 0; i < 20; i++) {
    await store.ping();
    const both = Promise.allSettled([store.kvGet("handlers", "s.x"), store.kvPut("handlers", "s.x", "{}")]);
    way.cutAll();
    const [read, write] = await both;
    expect(read.status).toBe("fulfilled");
    if (write.status === "rejected")
      expect(write.reason).toMatchObject({ kind: "unavailable", code: "broker_unavailable" });
  }
  // Each break opened one connection. No write was sent twice.
  expect(way.opened).toBeLessThanOrEqual(21);
  expect((await store.kvGet("handlers", "s.x"))?.revision ?? 0).toBeLessThanOrEqual(20);
});
