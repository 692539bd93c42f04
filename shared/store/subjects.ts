/**
 * Names of the platform's streams, subjects and buckets. Bucket keys are built where they are used. Other names are
 * elsewhere: the broker's own (API, inboxes), subjects in stream configurations (provision.ts), permissions of broker
 * users (scripts/broker), and the requests of the handler kit.
 * Every value from a caller (ids, codes, stream names, `sub`) must pass {@link token}. Otherwise a direct get of
 * `$KV.bucket.*` would return any matching key.
 */
import { notFound } from "../kernel/errors.ts";

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;

/** Whether a value can be one token of a subject or key. */
export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

/**
 * Returns a caller's value if it can be one token of a subject or key.
 * @param what what the value names, for the error ("orb", "entry")
 * @throws AppError not_found if it cannot, because nothing can have that name
 */
export function token(value: string, what: string): string {
  if (!TOKEN.test(value)) throw notFound(what);
  return value;
}

/** Module types as subject tokens. */
export const MODULE_TOKENS = ["content", "config", "rules", "transactions", "settings"] as const;
export type ModuleToken = (typeof MODULE_TOKENS)[number];
/** Audiences of live copies. `owner` marks the entry's own log and is not an audience. */
export type LiveRole = "public" | "user" | "admin";

/** The location of a schema's entries in their orb's stream. */
export interface Home {
  type: ModuleToken;
  schema: string;
}

/** The location of an entry in its orb's stream. */
export interface EntryAddress {
  orb: string;
  type: ModuleToken;
  schema: string;
  id: string;
}

/**
 * First tokens of subjects that no orb may use, besides those that begin with `_` or `$`. An orb with such an id would
 * capture every subject below it. For example, it would store requests to services, which listen below `svc`.
 */
export const SUBJECT_SPACES: readonly string[] = ["platform", "heartbeat", "wallet", "svc"];

export const streams = {
  platform: "platform",
  /** One message per rate-limited act. The broker rejects messages when a subject is full. */
  limits: "limits",
  /** Quota counters: in short windows, and in windows of a day. */
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

/** Returns the orb whose entries a stream holds; undefined for other streams. */
export function orbOf(stream: string): string | undefined {
  return stream.startsWith("ø") ? stream.slice("ø".length) : undefined;
}

/** Returns the subject of a key in a bucket. Keys are tokens joined by dots. */
export function kvSubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

const entry = (a: EntryAddress, role: string) =>
  `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.${token(a.id, "entry")}`;

export const subjects = {
  /** History of one orb: one message per revision. */
  orbHistory: (orb: string) => `platform.orbs.${token(orb, "orb")}`,
  allOrbHistories: "platform.orbs.*",
  /** Written when an orb is created, which gives the order of the list of orbs. A tombstone follows its deletion. */
  orbPlace: (orb: string) => `platform.index.orbs.${token(orb, "orb")}`,
  allOrbPlaces: "platform.index.orbs.*",
  /** Written before a writer reopens the active definition under a new fence. */
  orbReopened: (orb: string) => `platform.reopened.${token(orb, "orb")}`,
  /** Written every few seconds by the import that created a revision. */
  orbImport: (orb: string, revision: number) => `platform.imports.${token(orb, "orb")}.${revision}`,
  definition: (kind: "messages" | "modules", id: string) =>
    `platform.definitions.${kind}.${token(id, "definition")}`,
  definitions: (kind: "messages" | "modules") => `platform.definitions.${kind}.*`,
  /** Written when every stored entry has index keys in the normal form of its unique values. */
  claimForms: "platform.claims.forms",
  /** Audit records of one realm and action, e.g. `platform.audit.shop.signin`. */
  audit: (realm: string, action: string) =>
    `platform.audit.${token(realm, "realm")}.${token(action, "action")}`,
  allAudit: "platform.audit.>",
  /** Audit records of a realm, an action, both or all. */
  auditOf: (realm?: string, action?: string) =>
    `platform.audit.${realm === undefined ? "*" : token(realm, "realm")}.${action === undefined ? "*" : token(action, "action")}`,
  /** Idempotency records of operations on orbs. */
  platformIdempotency: (hash: string) => `platform.idempotency.${token(hash, "key")}`,
  /** Heartbeats, published by the scheduler every few seconds, and the schedule itself. */
  heartbeat: "heartbeat.tick",
  heartbeatSchedule: "heartbeat.schedule",
  /** Counter of one rate-limited act by one client. */
  limit: (rule: string, client: string) => `_limit.${token(rule, "rule")}.${token(client, "client")}`,

  /** Counter of one quota in one window. The key is tokens joined by dots. */
  quota: (stream: "quotas" | "quotas_long", rule: string, key: string, window: number) =>
    ["_quota", stream, token(rule, "rule"), ...key.split(".").map((part) => token(part, "key")), window].join(
      ".",
    ),

  /** Everything in one orb's stream. */
  orbAll: (orb: string) => `${token(orb, "orb")}.>`,
  /** An entry's event log. Its last message is the head, the authoritative state. */
  entryLog: (a: EntryAddress) => entry(a, "owner"),
  /** The live copy of an entry for one audience. */
  entryLive: (a: EntryAddress, role: LiveRole) => entry(a, role),
  /** All live copies of one schema for one audience. */
  schemaLive: (a: Omit<EntryAddress, "id">, role: LiveRole) =>
    `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.*`,
  /** All logs of one schema. */
  schemaLogs: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}.${a.type}.owner.${token(a.schema, "schema")}.*`,
  /** All logs of an orb. */
  allLogs: (orb: string) => `${token(orb, "orb")}.*.owner.>`,
  /** Finds the head of an entry by id only. */
  anyEntryLog: (orb: string, id: string) => `${token(orb, "orb")}.*.owner.*.${token(id, "entry")}`,
  /** Written once when an entry is created, which gives the order of lists. A tombstone follows its deletion. */
  entryIndex: (a: EntryAddress) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.${token(a.id, "entry")}`,
  schemaIndex: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.*`,
  /** Every entry of an orb in order of creation. */
  orbIndex: (orb: string) => `${token(orb, "orb")}._ix.>`,
  /**
   * Equality index: this entry has or had this value, in its newest revision or live. May be outdated: readers verify
   * it.
   */
  equality: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  equalityOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /**
   * Ids of a schema's entries in order of creation, all on one subject, so that a page costs the same at any size.
   * Deleted ids stay: readers verify them.
   */
  schemaOrder: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._or.${a.type}.${token(a.schema, "schema")}`,
  /**
   * Written besides `equality` and `reference` if the entry got the value after its creation: those messages are out of
   * order.
   */
  late: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  lateOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /** Unique key of a value; the message names the entry that holds it. */
  unique: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}`,
  uniqueOf: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.*`,
  /** The entry `source` refers to `target` by a field. */
  reference: (target: string, source: EntryAddress, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.${token(source.id, "entry")}`,
  referencesBy: (target: string, source: Omit<EntryAddress, "id">, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.*`,
  referrers: (orb: string, target: string) => `${token(orb, "orb")}._ref.${token(target, "entry")}.>`,
  /** Written by every write that adds a reference to `target`, so that its deletion can expect that none was added. */
  referenceGuard: (orb: string, target: string) => `${token(orb, "orb")}._rc.${token(target, "entry")}`,
  /** Carries an expectation about another subject if no other message of a batch can. Expires after a second. */
  guard: (orb: string, id: string, number: number) =>
    `${token(orb, "orb")}._guard.${token(id, "entry")}.${number}`,
  /** One part of the fence that every write of an entry expects. */
  fence: (orb: string, incarnation: number, part: number) =>
    `${token(orb, "orb")}._def.${incarnation}.${part}`,
  /** In the orb's stream while it is imported. Another orb of the same name does not have it. */
  importMark: (orb: string, revision: number) => `${token(orb, "orb")}._import.${revision}`,
  /** Idempotency record, written in the same batch as the write. */
  idempotency: (orb: string, hash: string) => `${token(orb, "orb")}._idem.${token(hash, "key")}`,
  /** The broker's schedule that opens or closes the validity window of one published revision. */
  schedule: (orb: string, id: string, revision: number, edge: "open" | "close") =>
    `${token(orb, "orb")}._at.${token(id, "entry")}.${revision}.${edge}`,
  schedulesOf: (orb: string, id: string) => `${token(orb, "orb")}._at.${token(id, "entry")}.>`,
  /**
   * Ids of one account's records in order of creation, all on one subject. Readers verify them, like the index of
   * entries.
   */
  ownOrder: (a: Omit<EntryAddress, "id">, owner: string) =>
    `${token(a.orb, "orb")}._own.${a.type}.${token(a.schema, "schema")}.${token(owner, "user")}`,
  /** The broker traces a message on this subject to its subscribers without delivering it. */
  probe: (id: string, index: number) => `_probe.${token(id, "probe")}.${index}`,
  probes: (id: string) => `_probe.${token(id, "probe")}.*`,
} as const;

/** Buckets that every request needs: live definitions and sessions. Their streams republish what they store. */
export const FOLLOWED: readonly string[] = [buckets.orbs, buckets.sessions];

/** The stream of live definitions. It also shows when an orb's stream may have been replaced. */
export const DEFINITIONS = streams.kv(buckets.orbs);

/** Returns the filter of all subjects of a stream whose changes can be followed; undefined for other streams. */
export function followedFilter(stream: string): string | undefined {
  for (const bucket of FOLLOWED) if (stream === streams.kv(bucket)) return kvSubject(bucket, ">");
  const orb = orbOf(stream);
  return orb === undefined ? undefined : subjects.orbAll(orb);
}

/** Returns the stream of the orb whose definition is stored on a subject; undefined for other subjects. */
export function definedStream(subject: string): string | undefined {
  const start = kvSubject(buckets.orbs, "");
  const orb = subject.startsWith(start) ? subject.slice(start.length) : "";
  return isToken(orb) ? streams.orb(orb) : undefined;
}

const STATE =
  /^(\$KV\.[^.*>]+(\.[^.*>]+)+|[^._*>$][^.*>]*\._def\.\d+\.0|[^._*>$][^.*>]*\.[^._*>][^.*>]*\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/;

/**
 * Whether a literal subject holds state, so that its last message counts: an entry's log or live copy, a key, or the
 * first part of a fence.
 */
export function isStateSubject(subject: string): boolean {
  return STATE.test(subject);
}

/** Whether a filter selects an index that readers verify: entries in order of creation, or with one value. */
export function isIndexFilter(filter: string): boolean {
  return /^[^.*>]+\.(_(ix|eq|late)\.[^*>]*\*|_or\.[^.*>]+\.[^.*>]+)$/.test(filter);
}
