import { randomBytes } from "node:crypto";
import type { Actor } from "../../shared/access/actor.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/errors.ts";
import { newId, randomToken } from "../../shared/ids.ts";
import { compileOrb } from "../../shared/orb/compile.ts";
import { type OrbDocumentInput, orbDocumentSchema } from "../../shared/orb/document.ts";
import type { LiveOrb } from "../../shared/orb/live.ts";
import { orbStreamConfig } from "../../shared/store/provision.ts";
import { buckets } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { type LookingStore, looking } from "./looking.ts";

export const admin: Actor = {
  kind: "platform",
  sub: "admin1",
  name: "Admin",
  email: null,
  sid: "s",
  exp: 4e9,
};

/** A user of the shared realm, or of another one. */
export function user(sub: string, role: "owner" | "admin" | "user" = "user", realm = "auth"): Actor {
  return { kind: "orb", realm, sub, role, name: sub, sid: "s", exp: 4e9 };
}

/** What verbs get in a test: a real store, a clock that can be set, and everything else as in a host. */
export interface TestDeps extends Deps {
  store: LookingStore;
  clock: { now(): number };
  /** Resolves when the work that goes on after the answer is done. */
  settled(): Promise<void>;
}

export const key = (): string => randomBytes(32).toString("base64url");

/** Dependencies around a store. */
export function testDeps(store: Store, more: Partial<Deps["config"]> = {}): TestDeps {
  const work: Promise<unknown>[] = [];
  const silent = () => undefined;
  return {
    store: looking(store),
    clock: { now: () => Date.now() },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    config: {
      publicUrl: "http://localhost",
      allowedOrigins: [],
      replicas: 1,
      jwtSigningKeys: "[]",
      encryptionKeys: JSON.stringify([{ kid: "k1", k: key() }]),
      claimKeys: [key()],
      streamsUrl: undefined,
      longPollMs: 1000,
      metricsToken: undefined,
      clientAddress: undefined,
      ...more,
    },
    request: { requestId: "test", traceparent: undefined, client: "test" },
    newId: () => newId(Date.now()),
    randomToken,
    afterwards: (promise) => {
      work.push(promise);
      promise.catch(() => undefined);
    },
    settled: async () => {
      await Promise.all(work.splice(0));
    },
  };
}

/** A definition as it would be live, without the verbs that publish orbs. */
export function definition(document: OrbDocumentInput, revision = 1): LiveOrb {
  const parsed = orbDocumentSchema.parse(document);
  return { orb: parsed.id, revision, document: parsed, compiled: compileOrb(parsed) };
}

/** Puts a definition live and creates its stream. */
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

/** The error of something that must fail. */
export async function failureOf(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("it should have failed");
}

/** A shop with every kind of attribute. */
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

/** Waits until something holds; gives up after five seconds, so that the expectation which follows tells what is wrong. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 5_000; Date.now() < end && !(await holds()); ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
