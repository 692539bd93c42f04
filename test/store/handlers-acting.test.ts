/** Handlers in this process that act for their callers, and what a call costs. */
import { connect } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { type Actor, anonymous, system } from "../../shared/access/actor.ts";
import { type Principal, principalIn } from "../../shared/access/authorize.ts";
import { verifyHandlerToken } from "../../shared/access/tokens.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import type { Acting } from "../../shared/handlers/contract/acting.ts";
import type { LocalHandler } from "../../shared/handlers/contract/types.ts";
import { handlerActor } from "../../shared/handlers/credential.ts";
import { invoke, resolveHandler } from "../../shared/handlers/dispatch.ts";
import type { RemoteRequest } from "../../shared/handlers/remote.ts";
import { actingFor } from "../../shared/modules/acting.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams } from "../../shared/store/subjects.ts";
import { EVERY_ACT, shopDocument } from "../support/acting.ts";
import { countingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, testDeps, user } from "../support/entries.ts";
import { entryOf } from "../support/services.ts";

const { broker, store } = await fileDeps();
const config = { jwtSigningKeys: (await generateKeys()).JWT_SIGNING_KEYS };

/** Runs in the handler. The test sets it before a call. */
let work: (acting: Acting) => unknown = () => null;
const local = (name: string, more: Partial<LocalHandler> = {}): LocalHandler => ({
  kind: "local",
  name,
  description: "",
  auth: "None",
  acts: [...EVERY_ACT],
  input: {},
  run: async ({ acting }) => work(acting),
  ...more,
});
const order = local("shop.order");
const probe = local("shop.probe");
const deps = { ...testDeps(store, config), builtIn: [...BUILT_IN, order, probe] };

const account = (sub: string, realm: string): Actor => user(sub, "user", realm);

let number = 0;
async function newShop(acts = EVERY_ACT) {
  const id = `local${++number}`;
  await createOrb(deps, admin, { document: shopDocument(id, acts), publish: true });
  return requireLive(deps, id);
}

/** Calls a handler in this process, which does what the test says. */
async function through<T>(
  handler: LocalHandler,
  actor: Actor,
  orb: string,
  doing: (acting: Acting) => Promise<T>,
): Promise<T> {
  const live = await requireLive(deps, orb);
  work = doing;
  const principal = principalIn(actor, orb, live.compiled);
  return (await invoke(deps, { handler, guess: undefined }, { live, principal, input: {} })) as T;
}

describe("a handler in this process", () => {
  test("records for its caller where the schema names it, for an anonymous one too, and no other handler does", async () => {
    const { orb } = await newShop();
    const ann = account("ann", orb);
    const record = (handler: LocalHandler, actor: Actor) =>
      through(handler, actor, orb, ({ transactions }) =>
        transactions.record({ values: { count: 2, total: 99 } }),
      );
    expect(await record(order, ann)).toMatchObject({ createdBy: "ann", through: "shop.order" });
    expect(await record(order, anonymous)).toMatchObject({ createdBy: "anonymous", through: "shop.order" });
    expect(await failureOf(record(probe, ann))).toMatchObject({ code: "handlers_only" });
  });

  test("creates, changes, publishes and reads entries as its caller, and reveals what the caller may read", async () => {
    const { orb } = await newShop();
    const [ann, bob] = [account("ann", orb), account("bob", orb)];
    const place = { module: "content", schema: "note" };
    const { id } = await through(probe, ann, orb, ({ entries }) =>
      entries.create({ ...place, values: { text: "a", code: "code-4711" } }),
    );
    const at = { ...place, id };
    const changed = await through(probe, ann, orb, async ({ entries }) => {
      await entries.update({ ...at, values: { text: "b", code: "code-4711" }, ifMatch: 1 });
      return entries.publish(at);
    });
    expect(changed).toMatchObject({ revision: 3, updatedBy: "ann", values: { text: "b" } });
    expect(JSON.stringify(changed)).not.toContain("code-4711");
    const shown = await through(probe, ann, orb, ({ entries }) => entries.get(at, { reveal: true }));
    expect(shown.values).toEqual({ text: "b", code: "code-4711" });
    for (const actor of [bob, anonymous]) {
      const read = failureOf(through(probe, actor, orb, ({ entries }) => entries.get(at)));
      const update = failureOf(
        through(probe, actor, orb, ({ entries }) => entries.update({ ...at, values: { text: "stolen" } })),
      );
      const kind = actor === bob ? "not_found" : "unauthenticated";
      expect([(await read).kind, (await update).kind]).toEqual([kind, kind]);
    }
  });

  test("has only the acts that it requests and the orb grants", async () => {
    const { orb } = await newShop(["entries:read", "entries:write"]);
    const ann = account("ann", orb);
    const create = ({ entries }: Acting) =>
      entries.create({ module: "content", schema: "note", values: { text: "a" } });
    const reader = local("shop.probe", { acts: ["entries:read"] });
    expect(await failureOf(through(reader, ann, orb, create))).toMatchObject({ code: "missing_act" });
    const { id } = await through(probe, ann, orb, create);
    const refused: ((acting: Acting) => Promise<unknown>)[] = [
      ({ entries }) => entries.publish({ module: "content", schema: "note", id }),
      ({ entries }) => entries.get({ module: "content", schema: "note", id }, { latest: true, reveal: true }),
      ({ transactions }) => transactions.record({ values: { count: 1, total: 1 } }),
    ];
    for (const act of refused)
      expect(await failureOf(through(probe, ann, orb, act))).toMatchObject({ code: "missing_act" });
  });

  test("writes nothing if the orb withdraws the grant while the write is on its way", async () => {
    const before = await newShop();
    const { orb } = before;
    const principal = principalIn(account("ann", orb), orb, before.compiled);
    const acting = actingFor(deps, before, handlerActor(deps, before, probe, principal));
    const less = shopDocument(orb, ["entries:read"]);
    await updateOrb(deps, admin, { orb, document: less, publish: true });
    const create = acting.entries.create({ module: "content", schema: "note", values: { text: "late" } });
    expect(await failureOf(create)).toMatchObject({ code: "missing_act" });
    const record = acting.transactions.record({ values: { count: 1, total: 1 } });
    expect(await failureOf(record)).toMatchObject({ kind: "forbidden" });
    const logs = await store.scan(streams.orb(orb), `${orb}.*.owner.>`, {
      fromSeq: 1,
      limit: 10,
      maxBytes: 1024 * 1024,
    });
    expect(logs.messages).toEqual([]);
  });

  test("never has the rights of the platform, or of a handler that called it", async () => {
    const live = await newShop();
    const given = (principal: Principal) => handlerActor(deps, live, probe, principal);
    expect(given({ actor: system, role: "owner" })).toMatchObject({ caller: { kind: "anonymous" } });
    const ann = account("ann", live.orb);
    expect(given({ actor: ann, role: "user" }).acts).toEqual(EVERY_ACT);
    const acting = principalIn(given({ actor: ann, role: "user" }), live.orb, live.compiled);
    expect(given(acting).acts).toEqual([]);
  });
});

describe("a call of a service", () => {
  const requests: RemoteRequest[] = [];
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const url = new URL(broker.tcpUrl());
    const client = await connect({ servers: url.host, user: url.username, pass: url.password });
    closing.push(() => client.close());
    for (const [name, acts] of [
      ["shop.order", undefined],
      ["shop.probe", EVERY_ACT],
    ] as const) {
      const entry = entryOf(name, acts === undefined ? {} : { acts, timeoutMs: 3_000 });
      await client.request(`$KV.handlers.${name}`, JSON.stringify(entry));
      client.subscribe(`svc.${name}`, {
        callback: (_error, message) => {
          requests.push(message.json<RemoteRequest>());
          message.respond("{}");
        },
      });
    }
    await client.flush();
  });
  afterAll(() => Promise.all(closing.map((close) => close())));

  /** Counts the signatures that work makes. */
  async function signatures(doing: () => Promise<unknown>): Promise<number> {
    const { subtle } = crypto;
    let count = 0;
    const sign = subtle.sign;
    subtle.sign = (...parameters: Parameters<typeof sign>) => {
      count++;
      return Reflect.apply(sign, subtle, parameters) as ReturnType<typeof sign>;
    };
    try {
      await doing();
      return count;
    } finally {
      subtle.sign = sign;
    }
  }

  test("sends a credential only with a grant, for one signature and no further request to the broker", async () => {
    const id = `remote${++number}`;
    const remote = { ...deps, builtIn: BUILT_IN };
    await createOrb(remote, admin, { document: shopDocument(id), publish: true });
    const orb = await requireLive(remote, id);
    const principal = principalIn(account("ann", id), id, orb.compiled);
    const costs: unknown[] = [];
    for (const name of ["shop.order", "shop.probe"]) {
      const call = async (by: typeof remote) =>
        invoke(by, await resolveHandler(by, name), { live: orb, principal, input: {} });
      // The first call of a handler learns its subject.
      await call(remote);
      const counted = countingStore(store);
      const signed = await signatures(() => call({ ...remote, store: counted.store as typeof store }));
      costs.push([counted.calls.toSorted(), counted.trips, signed]);
    }
    expect(costs).toEqual([
      [["kvGet", "request", "streamNames"], 2, 0],
      [["kvGet", "request", "streamNames"], 2, 1],
    ]);
    const [without, , withGrant] = requests;
    expect(Object.keys(without ?? {}).sort()).toEqual(["caller", "handler", "input", "orbId"]);
    const { token = "", acts } = withGrant?.credential ?? {};
    expect(acts).toEqual(EVERY_ACT);
    const claims = await verifyHandlerToken(deps.config, token, Date.now());
    expect(claims).toMatchObject({
      handler: "shop.probe",
      orb: id,
      requestId: "test",
      caller: { realm: id, sub: "ann", sid: "s" },
    });
    expect(claims.exp - claims.iat).toBe(5);
    // The clocks of hosts may differ by five seconds.
    const end = claims.exp * 1000 + 5_000;
    expect(await verifyHandlerToken(deps.config, token, end - 1_000)).toEqual(claims);
    expect(await failureOf(verifyHandlerToken(deps.config, token, end + 1_000))).toMatchObject({
      code: "invalid_token",
    });
  });
});
