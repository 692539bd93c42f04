import { randomBytes } from "node:crypto";
import type { Actor } from "../../shared/access/actor.ts";
import { type Principal, principalIn } from "../../shared/access/authorize.ts";
import { type CompiledSchema, compileOrb } from "../../shared/definition/compile.ts";
import { type OrbDocumentInput, orbDocumentSchema } from "../../shared/definition/document/document.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { withNames } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";
import { Reading } from "../../shared/entry/read/reading.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import { actingFor } from "../../shared/modules/acting.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { buckets } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileBroker, type TestBroker } from "./broker.ts";
import { type LookingStore, looking } from "./looking.ts";

export const admin: Actor = {
  kind: "platform",
  sub: "admin1",
  name: "Admin",
  email: null,
  sid: "s",
  exp: 4e9,
};

/** A user of the shared realm or of another one. */
export function user(sub: string, role: "owner" | "admin" | "user" = "user", realm = "auth"): Actor {
  return { kind: "orb", realm, sub, role, name: sub, sid: "s", exp: 4e9 };
}

/** The dependencies of the platform's operations in a test: a real store, and a clock that the test sets. */
/** Returns an actor with its rights in an application. */
export const callerIn = (actor: Actor, { orb, compiled }: Pick<LiveOrb, "orb" | "compiled">): Principal =>
  principalIn(actor, orb, compiled);

/** Returns what an actor may read of a schema. */
export function readAs(
  actor: Actor,
  orb: Pick<LiveOrb, "orb" | "compiled" | "revision">,
  schema: CompiledSchema,
  latest = false,
): Reading {
  return Reading.of(callerIn(actor, orb), orb, schema, latest);
}

export interface TestDeps extends HandlerDeps {
  store: LookingStore;
  clock: { now(): number };
  /** Resolves when all work that continues after a response is done. */
  settled(): Promise<void>;
}

export const key = (): string => randomBytes(32).toString("base64url");

/** Quotas of 0, which mean unlimited use. */
export const NO_QUOTAS: HandlerDeps["config"]["quotas"] = {
  windowSeconds: 60,
  longWindowSeconds: 86_400,
  accountWrites: 0,
  orbWrites: 0,
  accountCalls: 0,
  orbCalls: 0,
  accountBytes: 0,
  orbBytes: 0,
  orbFileBytes: 0,
  accountConflicts: 0,
  networkSignups: 0,
  realmSignups: 0,
  readersPerUser: 100,
  readersPerAdmin: 6_000,
  readersPerOrb: 5_000,
};

/** Returns dependencies for the platform's operations that use this store. */
export function testDeps(store: Store, more: Partial<HandlerDeps["config"]> = {}): TestDeps {
  const work: Promise<unknown>[] = [];
  const silent = () => undefined;
  return {
    store: looking(store),
    clock: { now: () => Date.now() },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    config: {
      publicUrl: "http://localhost",
      allowedOrigins: [],
      hosts: [],
      replicas: 1,
      jwtSigningKeys: "[]",
      encryptionKeys: JSON.stringify([{ kid: "k1", k: key() }]),
      claimKeys: [key()],
      streamsUrl: undefined,
      longPollMs: 1000,
      metricsToken: undefined,
      fileBytes: 1024 ** 3,
      imagePixels: 20_000_000,
      clientAddress: undefined,
      quotas: NO_QUOTAS,
      ...more,
    },
    request: { requestId: "test", traceparent: undefined, client: "test" },
    newId: () => newId(Date.now()),
    randomToken,
    builtIn: BUILT_IN,
    actingFor,
    afterwards: (promise) => {
      work.push(promise);
      promise.catch(() => undefined);
    },
    settled: async () => {
      await Promise.all(work.splice(0));
    },
  };
}

/** Compiles a document to a definition that operations can use. Publishes nothing. */
export function definition(document: OrbDocumentInput, revision = 1): LiveOrb {
  const parsed = orbDocumentSchema.parse(document);
  return { orb: parsed.id, revision, document: parsed, compiled: compileOrb(parsed) };
}

/** Stores a document as the published definition of an orb, and creates the orb's stream. */
export async function installOrb(
  store: Store,
  document: OrbDocumentInput,
  revision = 1,
  replicas = 1,
): Promise<LiveOrb> {
  const live = definition(document, revision);
  await store.createStream(orbStreamConfig(live.orb, replicas));
  await store.kvPut(
    buckets.orbs,
    live.orb,
    JSON.stringify({ v: 1, orb: live.orb, revision, at: new Date().toISOString(), document: live.document }),
  );
  return live;
}

/**
 * Starts a broker for all tests of a file. Returns it with dependencies for the platform's operations. @param more
 * options of the store
 */
export async function fileDeps(more: Parameters<TestBroker["store"]>[1] = {}) {
  const broker = await fileBroker();
  const store: Store = broker.store("fn", more);
  return { broker, store, deps: testDeps(store) };
}

/** Starts a broker with an orb for all tests of a file. @param more options of the store */
export async function fileOrb(document = SHOP, more: Parameters<TestBroker["store"]>[1] = {}) {
  const started = await fileDeps(more);
  return { ...started, orb: await installOrb(started.broker.store("operator"), document) };
}

/** Returns the error of a promise that must reject. */
export async function failureOf(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("it should have failed");
}

/** A shop with a field for each attribute. */
export const SHOP: OrbDocumentInput = {
  id: "shop",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string", required: true }] },
        { id: "note", fields: [{ name: "text", type: "string" }] },
        {
          id: "product",
          fields: [
            { name: "title", type: "string", required: true, translatable: true },
            { name: "price", type: "number", min: 0, marketSpecific: true },
            { name: "slogan", type: "string", translatable: true, marketSpecific: true },
            { name: "sku", type: "string", unique: true },
            { name: "slug", type: "string", unique: true, translatable: true },
            { name: "state", type: "string", enum: ["new", "used"], default: "new" },
            { name: "hot", type: "boolean" },
            { name: "secret", type: "string", sensitive: true },
            { name: "serial", type: "string", sensitive: true, unique: true },
            { name: "tags", type: "string", list: true },
            { name: "author", type: "reference", ref: "shop/catalog/author" },
            { name: "related", type: "reference", ref: "shop/catalog/product", list: true },
            { name: "data", type: "json" },
            { name: "day", type: "date" },
            { name: "count", type: "integer" },
          ],
        },
      ],
    },
    {
      id: "wishes",
      type: "CONTENT",
      schemas: [
        {
          id: "wish",
          access: { read: "own", write: "user" },
          fields: [{ name: "text", type: "string" }],
        },
      ],
    },
  ],
};

/** Returns the values of a stored revision, under their stored names. */
export function storedValues(stored: { values: StoredValues } | null | undefined): Record<string, unknown> {
  if (stored === null || stored === undefined) return {};
  return withNames(undefined, { id: "", module: "", schema: "", ...stored }).values;
}
