/**
 * The names of the platform's streams, subjects and buckets. Keys in buckets are put together where they are used. Other
 * names stand elsewhere: the broker's own (its API, inboxes), the subjects that streams are made with and tell on
 * (provision.ts), what its users may do (scripts/broker), and what the kit of handlers asks its own client for.
 *
 * Whatever a caller supplied (ids, codes, stream names, `sub`) passes {@link token} first: a direct get of
 * `$KV.bucket.*` would otherwise answer with whatever is there.
 */
import { notFound } from "../kernel/errors.ts";

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;

/** Whether a value can be one token of a subject or key. */
export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

/**
 * Lets a caller's value become one token of a subject or key.
 * @param what what the value names, for the error ("orb", "entry")
 * @throws AppError not_found when it could not be the name of anything
 */
export function token(value: string, what: string): string {
  if (!TOKEN.test(value)) throw notFound(what);
  return value;
}

/** Lower-case module types as they stand in subjects. */
export const MODULE_TOKENS = ["content", "config", "rules", "transactions", "settings"] as const;
export type ModuleToken = (typeof MODULE_TOKENS)[number];
/** Audiences of live copies. `owner` is the entry's own log and no audience. */
export type LiveRole = "public" | "user" | "admin";

/** Where the entries of a schema lie inside their orb's stream. */
export interface Home {
  type: ModuleToken;
  schema: string;
}

/** Where an entry lives inside its orb's stream. */
export interface EntryAddress {
  orb: string;
  type: ModuleToken;
  schema: string;
  id: string;
}

/**
 * First tokens of subjects that are not an orb's, beside those that begin with `_` or `$`. An orb of such an id would own
 * every subject below it: its stream would store what is sent to services, say. `svc` is where services answer.
 */
export const SUBJECT_SPACES: readonly string[] = ["platform", "heartbeat", "wallet", "svc"];

export const streams = {
  platform: "platform",
  /** One message per rate-limited act; refuses by itself when a subject is full. */
  limits: "limits",
  /** Counters of quotas: in short windows, and in windows of a day. */
  quotas: "quotas",
  longQuotas: "quotas_long",
  heartbeat: "heartbeat",
  wallet: "wallet",
  /** The stream that holds an orb's entries. */
  orb: (orb: string) => `ø${token(orb, "orb")}`,
  kv: (bucket: string) => `KV_${bucket}`,
} as const;

export const buckets = {
  orbs: "orbs",
  platformAdmins: "platform_admins",
  platformInvitations: "platform_invitations",
  platformCredentials: "platform_credentials",
  orbUsers: "orb_users",
  orbCredentials: "orb_credentials",
  orbInvitations: "orb_invitations",
  sessions: "sessions",
  challenges: "challenges",
  handlers: "handlers",
  streamMappings: "stream_mappings",
} as const;

/** The orb whose entries a stream holds; undefined for any other stream. */
export function orbOf(stream: string): string | undefined {
  return stream.startsWith("ø") ? stream.slice("ø".length) : undefined;
}

/** The subject of a key in a bucket. Keys are tokens joined by dots. */
export function kvSubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

const entry = (a: EntryAddress, role: string) =>
  `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.${token(a.id, "entry")}`;

export const subjects = {
  /** History of one orb: a message per revision. */
  orbHistory: (orb: string) => `platform.orbs.${token(orb, "orb")}`,
  allOrbHistories: "platform.orbs.*",
  /** Written when an orb is created: the order of the list of orbs. A tombstone follows when it is deleted. */
  orbPlace: (orb: string) => `platform.index.orbs.${token(orb, "orb")}`,
  allOrbPlaces: "platform.index.orbs.*",
  /** Touched before a writer reopens the definition in force under a new fence. */
  orbReopened: (orb: string) => `platform.reopened.${token(orb, "orb")}`,
  /** Given every few seconds by the import that a revision began. */
  orbImport: (orb: string, revision: number) => `platform.imports.${token(orb, "orb")}.${revision}`,
  definition: (kind: "messages" | "modules", id: string) =>
    `platform.definitions.${kind}.${token(id, "definition")}`,
  definitions: (kind: "messages" | "modules") => `platform.definitions.${kind}.*`,
  /** Written when every stored entry claims the normal form of its unique values. */
  claimForms: "platform.claims.forms",
  /** Audit records of one realm and action, e.g. `platform.audit.shop.signin`. */
  audit: (realm: string, action: string) =>
    `platform.audit.${token(realm, "realm")}.${token(action, "action")}`,
  allAudit: "platform.audit.>",
  /** Audit records of a realm, an action, both or all. */
  auditOf: (realm?: string, action?: string) =>
    `platform.audit.${realm === undefined ? "*" : token(realm, "realm")}.${action === undefined ? "*" : token(action, "action")}`,
  /** Idempotency claims of operations on orbs. */
  platformIdempotency: (hash: string) => `platform.idempotency.${token(hash, "key")}`,
  /** What the scheduler publishes every few seconds, and the schedule that makes it. */
  heartbeat: "heartbeat.tick",
  heartbeatSchedule: "heartbeat.schedule",
  /** Counter subject of one limited act by one client. */
  limit: (rule: string, client: string) => `_limit.${token(rule, "rule")}.${token(client, "client")}`,

  /** Counter of one quota in one window. The key is tokens joined by dots. */
  quota: (stream: "quotas" | "quotas_long", rule: string, key: string, window: number) =>
    ["_quota", stream, token(rule, "rule"), ...key.split(".").map((part) => token(part, "key")), window].join(
      ".",
    ),

  /** Everything of one orb's stream. */
  orbAll: (orb: string) => `${token(orb, "orb")}.>`,
  /** An entry's event log; its last message is the head, which is the truth. */
  entryLog: (a: EntryAddress) => entry(a, "owner"),
  /** What is live of an entry, for one audience. */
  entryLive: (a: EntryAddress, role: LiveRole) => entry(a, role),
  /** All live copies of one schema for one audience. */
  schemaLive: (a: Omit<EntryAddress, "id">, role: LiveRole) =>
    `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.*`,
  /** All logs of one schema. */
  schemaLogs: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}.${a.type}.owner.${token(a.schema, "schema")}.*`,
  /** All logs of an orb. */
  allLogs: (orb: string) => `${token(orb, "orb")}.*.owner.>`,
  /** The head of an entry of which only the id is known. */
  anyEntryLog: (orb: string, id: string) => `${token(orb, "orb")}.*.owner.*.${token(id, "entry")}`,
  /** Written once when an entry is created: the order of lists. A tombstone follows when it is deleted. */
  entryIndex: (a: EntryAddress) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.${token(a.id, "entry")}`,
  schemaIndex: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.*`,
  /** Every entry of an orb in order of creation. */
  orbIndex: (orb: string) => `${token(orb, "orb")}._ix.>`,
  /** Equality index: this entry has (or had) this value in its newest revision or live. A hint: verify on read. */
  equality: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  equalityOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /** The ids of one schema in order of creation, all on one subject: pages of it cost the same at any size. A hint: deleted ones stay. */
  schemaOrder: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._or.${a.type}.${token(a.schema, "schema")}`,
  /** Beside `equality` and `reference` where the value came later than the entry: those messages are out of order. */
  late: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  lateOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /** Claim of a unique value; the message names the entry that holds it. */
  unique: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}`,
  uniqueOf: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.*`,
  /** `source` refers to `target` by a field. */
  reference: (target: string, source: EntryAddress, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.${token(source.id, "entry")}`,
  referencesBy: (target: string, source: Omit<EntryAddress, "id">, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.*`,
  referrers: (orb: string, target: string) => `${token(orb, "orb")}._ref.${token(target, "entry")}.>`,
  /** Touched by every write that adds a reference to `target`, so that deleting it can expect that none was added. */
  referenceGuard: (orb: string, target: string) => `${token(orb, "orb")}._rc.${token(target, "entry")}`,
  /** Carries an expectation about another subject where no other message of a batch can; gone after a second. */
  guard: (orb: string, id: string, number: number) =>
    `${token(orb, "orb")}._guard.${token(id, "entry")}.${number}`,
  /** A part of the fence that every write of an entry expects. */
  fence: (orb: string, incarnation: number, part: number) =>
    `${token(orb, "orb")}._def.${incarnation}.${part}`,
  /** In the orb's stream while it is imported: a namesake lacks it. */
  importMark: (orb: string, revision: number) => `${token(orb, "orb")}._import.${revision}`,
  /** Idempotency claim in the same atomic act as the write. */
  idempotency: (orb: string, hash: string) => `${token(orb, "orb")}._idem.${token(hash, "key")}`,
  /** The broker's schedule that opens or closes one published revision's window. */
  schedule: (orb: string, id: string, revision: number, edge: "open" | "close") =>
    `${token(orb, "orb")}._at.${token(id, "entry")}.${revision}.${edge}`,
  schedulesOf: (orb: string, id: string) => `${token(orb, "orb")}._at.${token(id, "entry")}.>`,
  /** Ids of one account's records in the order of their creation, all on one subject. A hint, like the index of entries. */
  ownOrder: (a: Omit<EntryAddress, "id">, owner: string) =>
    `${token(a.orb, "orb")}._own.${a.type}.${token(a.schema, "schema")}.${token(owner, "user")}`,
  /** Where the broker tells who would have got a message that is delivered to nobody. */
  probe: (id: string, index: number) => `_probe.${token(id, "probe")}.${index}`,
  probes: (id: string) => `_probe.${token(id, "probe")}.*`,
} as const;

/** Buckets that every request needs: live definitions and sessions. Their streams tell what they store. */
export const FOLLOWED: readonly string[] = [buckets.orbs, buckets.sessions];

/** The stream of live definitions. It tells too when an orb's stream may be another one. */
export const DEFINITIONS = streams.kv(buckets.orbs);

/** What all subjects of a stream are, for the streams whose live state may be followed; undefined for others. */
export function followedFilter(stream: string): string | undefined {
  for (const bucket of FOLLOWED) if (stream === streams.kv(bucket)) return kvSubject(bucket, ">");
  const orb = orbOf(stream);
  return orb === undefined ? undefined : subjects.orbAll(orb);
}

/** The stream of the orb whose definition a subject holds; undefined for every other subject. */
export function definedStream(subject: string): string | undefined {
  const start = kvSubject(buckets.orbs, "");
  const orb = subject.startsWith(start) ? subject.slice(start.length) : "";
  return isToken(orb) ? streams.orb(orb) : undefined;
}

const STATE =
  /^(\$KV\.[^.*>]+(\.[^.*>]+)+|[^._*>$][^.*>]*\._def\.\d+\.0|[^._*>$][^.*>]*\.[^._*>][^.*>]*\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/;

/**
 * Whether a literal subject holds state whose last message counts: an entry's log or live copy, a key, the first part of a
 * fence.
 */
export function isStateSubject(subject: string): boolean {
  return STATE.test(subject);
}

/** Whether a filter asks for an index that readers verify: entries in the order of creation, or with one value. */
export function isIndexFilter(filter: string): boolean {
  return /^[^.*>]+\.(_(ix|eq|late)\.[^*>]*\*|_or\.[^.*>]+\.[^.*>]+)$/.test(filter);
}
