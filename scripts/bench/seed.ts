import { setTimeout } from "node:timers/promises";
import { system } from "../../shared/access/actor.ts";
import { PLATFORM_REALM, principalIn } from "../../shared/access/authorize.ts";
import { startSession } from "../../shared/access/sessions.ts";
import { liveOrb } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { messagesOf } from "../../shared/entry/model/index.ts";
import { planNew, schemaFor } from "../../shared/entry/write/index.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Append } from "../../shared/store/types.ts";

export const CATEGORIES = 20;
const IN_FLIGHT = 64;

/** Returns a document with one schema, which has a field of each common type. One of the fields is indexed. */
export function document(orb: string): object {
  return {
    id: orb,
    name: orb,
    languages: ["en"],
    markets: ["US"],
    uses: [],
    modules: [
      {
        id: "catalog",
        type: "CONTENT",
        schemas: [
          {
            id: "product",
            access: { read: "public", write: "user" },
            fields: [
              { name: "title", type: "string", required: true, max: 200 },
              { name: "body", type: "text" },
              { name: "price", type: "number", required: true, min: 0 },
              {
                name: "category",
                type: "string",
                enum: Array.from({ length: CATEGORIES }, (_, i) => `category-${i}`),
              },
              { name: "stock", type: "integer", default: 0 },
            ],
          },
        ],
      },
    ],
  };
}

/** Values of an entry: about 450 bytes of JSON with the default padding. */
export function values(n: number, padding = 300): Record<string, unknown> {
  return {
    title: `Product number ${n}`,
    body: "A sentence about it. ".repeat(Math.ceil(padding / 21)).slice(0, padding),
    price: (n * 7919) % 10_000,
    category: `category-${n % CATEGORIES}`,
    stock: n % 100,
  };
}

const COPIES = 100;
const COPIES_IN_FLIGHT = 8;

/**
 * Stores many entries quickly: prepares the messages for one entry of each category, and appends them again under
 * other ids.
 * @returns ids in order of creation
 */
export async function seedCopies(
  deps: Deps,
  orb: string,
  count: number,
  more: { publish?: boolean; validTo?: string; status?: string } = {},
): Promise<string[]> {
  const context = await liveOrb(deps, orb);
  if (context === null) throw new Error(`${orb} is not live`);
  const schema = schemaFor(context, "catalog", "product");
  const caller = principalIn(system, orb, context.compiled);
  const { status, ...rest } = more;
  const plan = async (_: unknown, n: number) => {
    const id = deps.newId();
    const input = { module: "catalog", values: values(n), publish: true, ...rest };
    const write = await planNew(deps, caller, context, schema, input, id);
    const snapshots = write.snapshots.map((one) => (status === undefined ? one : { ...one, status }));
    return { id, messages: messagesOf({ ...write, snapshots: snapshots as typeof write.snapshots }) };
  };
  const originals = await Promise.all(Array.from({ length: CATEGORIES }, plan));
  const ids = Array.from({ length: count }, () => deps.newId());
  const copy = (id: string, n: number): Append[] => {
    const original = originals[n % CATEGORIES];
    return (original?.messages ?? []).map((message) => ({
      ...message,
      subject: message.subject.replace(original?.id ?? "", id),
      data: String(message.data).replaceAll(original?.id ?? "", id),
    }));
  };
  let next = 0;
  const some = async () => {
    while (next < count) {
      const first = next;
      next += COPIES;
      const messages = ids.slice(first, next).flatMap((id, i) => copy(id, first + i));
      await deps.store.pipeline(streams.orb(orb), messages);
    }
  };
  await Promise.all(Array.from({ length: COPIES_IN_FLIGHT }, some));
  return ids;
}

export const HIDDEN_KINDS = ["drafts", "archived", "expired"] as const;
export type HiddenKind = (typeof HIDDEN_KINDS)[number];

/** Milliseconds until entries expire: enough to store them first. */
const EXPIRE_MS = 15_000;

/** Stores entries that lists of published entries do not show. Resolves when they are hidden. */
export async function seedHidden(deps: Deps, orb: string, kind: HiddenKind, count: number): Promise<void> {
  if (kind === "drafts") await seedCopies(deps, orb, count, { publish: false });
  if (kind === "archived") await seedCopies(deps, orb, count, { publish: false, status: "ARCHIVED" });
  if (kind !== "expired") return;
  const ends = Date.now() + EXPIRE_MS;
  await seedCopies(deps, orb, count, { validTo: new Date(ends).toISOString() });
  await setTimeout(Math.max(0, ends - Date.now()));
}

export async function adminToken(deps: Deps): Promise<string> {
  const who = { realm: PLATFORM_REALM, sub: "bench", role: "owner", name: "Bench", email: null } as const;
  return (await startSession(deps, { ...who, ttl: 3600 })).token;
}

export async function seedOrb(deps: HandlerDeps, orb: string): Promise<void> {
  await createOrb(deps, system, { document: document(orb), publish: true });
}

/** @returns ids in order of creation */
export async function seedEntries(
  deps: Deps,
  orb: string,
  count: number,
  padding?: number,
): Promise<string[]> {
  const context = await liveOrb(deps, orb);
  if (context === null) throw new Error(`${orb} is not live`);
  const schema = schemaFor(context, "catalog", "product");
  const caller = principalIn(system, orb, context.compiled);
  const ids: string[] = [];
  const begun = Date.now();
  const one = async (n: number): Promise<void> => {
    const id = deps.newId();
    ids[n] = id;
    const input = { module: "catalog", values: values(n, padding), publish: true };
    const messages = messagesOf(await planNew(deps, caller, context, schema, input, id));
    await deps.store.pipeline(streams.orb(orb), messages);
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (next < count) await one(next++);
    }),
  );
  const perSecond = Math.round((count * 1000) / Math.max(1, Date.now() - begun));
  if (count >= 1000) console.error(`  ${orb}: ${count} entries, ${perSecond} a second`);
  return ids;
}
