/**
 * Names of streams, subjects and buckets in the broker. Every value from a client must pass {@link token}, because an
 * injected wildcard could match other users' data.
 */
import { notFound } from "../kernel/errors.ts";

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;

export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

/**
 * Returns a client's value if it is safe between two dots of a subject, such as `<value>` in `orbs.<value>.log`.
 * @param what what the value identifies: "orb", "entry"
 * @throws AppError not_found otherwise, because nothing can have such a name
 */
export function token(value: string, what: string): string {
  if (!TOKEN.test(value)) throw notFound(what);
  return value;
}

export const MODULE_TOKENS = ["content", "config", "rules", "transactions", "settings"] as const;
export type ModuleToken = (typeof MODULE_TOKENS)[number];
/** The group of readers that a published copy of an entry is for. */
export type LiveRole = "public" | "user" | "admin";

/** The name of a schema in message subjects. It can differ from the schema's id, so it has its own type. */
export type SchemaToken = string & { readonly brand: "SchemaToken" };

/** Identifies where the entries of one schema are stored in the stream of their orb. */
export interface Home {
  type: ModuleToken;
  schema: SchemaToken;
}

/** Returns the home for a module type and a schema name from a stored subject. */
export function parsedHome(type: string, schema: string): Home {
  return { type: type as ModuleToken, schema: schema as SchemaToken };
}

export interface EntryAddress extends Home {
  orb: string;
  id: string;
}

/** The first part of other programs' subjects. No orb may have such an id, or its stream would store their messages. */
export const SUBJECT_SPACES: readonly string[] = ["platform", "heartbeat", "wallet", "svc"];

export const streams = {
  platform: "platform",
  /** For rate limits, each attempt is one message. The broker rejects further messages when a subject is full. */
  limits: "limits",
  /** Counters of how often a client has used its quota, for short periods and for periods of a day. */
  quotas: "quotas",
  longQuotas: "quotas_long",
  heartbeat: "heartbeat",
  wallet: "wallet",
  /** Progress and deliveries of after-write hooks. */
  hooks: "hooks",
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
  apiTokens: "api_tokens",
  challenges: "challenges",
  handlers: "handlers",
  streamMappings: "stream_mappings",
  platformSettings: "platform_settings",
} as const;

export function orbOf(stream: string): string | undefined {
  return stream.startsWith("ø") ? stream.slice("ø".length) : undefined;
}

export function kvSubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

const entry = (a: EntryAddress, role: string) =>
  `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.${token(a.id, "entry")}`;

export const subjects = {
  orbHistory: (orb: string) => `platform.orbs.${token(orb, "orb")}`,
  allOrbHistories: "platform.orbs.*",
  /** Written when an orb is created, so that orbs can be listed by creation time. */
  orbPlace: (orb: string) => `platform.index.orbs.${token(orb, "orb")}`,
  allOrbPlaces: "platform.index.orbs.*",
  orbReopened: (orb: string) => `platform.reopened.${token(orb, "orb")}`,
  /** Written again and again while an import runs, to show that it is still alive. */
  orbImport: (orb: string, revision: number) => `platform.imports.${token(orb, "orb")}.${revision}`,
  definition: (kind: "messages" | "modules", id: string) =>
    `platform.definitions.${kind}.${token(id, "definition")}`,
  definitions: (kind: "messages" | "modules") => `platform.definitions.${kind}.*`,
  /** Written once the unique values of all existing entries are stored in normalized form. */
  claimForms: "platform.claims.forms",
  /** Audit log of one realm and action, such as `platform.audit.shop.signin`. */
  audit: (realm: string, action: string) =>
    `platform.audit.${token(realm, "realm")}.${token(action, "action")}`,
  allAudit: "platform.audit.>",
  auditOf: (realm?: string, action?: string) =>
    `platform.audit.${realm === undefined ? "*" : token(realm, "realm")}.${action === undefined ? "*" : token(action, "action")}`,
  platformIdempotency: (hash: string) => `platform.idempotency.${token(hash, "key")}`,
  heartbeat: "heartbeat.tick",
  heartbeatSchedule: "heartbeat.schedule",
  limit: (rule: string, client: string) => `_limit.${token(rule, "rule")}.${token(client, "client")}`,

  quota: (stream: "quotas" | "quotas_long", rule: string, key: string, window: number) =>
    ["_quota", stream, token(rule, "rule"), ...key.split(".").map((part) => token(part, "key")), window].join(
      ".",
    ),

  orbAll: (orb: string) => `${token(orb, "orb")}.>`,
  /** Event log of an entry. Its last message is the newest revision, the source of truth. */
  entryLog: (a: EntryAddress) => entry(a, "owner"),
  /** Published copy of an entry for one group of readers. */
  entryLive: (a: EntryAddress, role: LiveRole) => entry(a, role),
  schemaLive: (a: Omit<EntryAddress, "id">, role: LiveRole) =>
    `${token(a.orb, "orb")}.${a.type}.${role}.${token(a.schema, "schema")}.*`,
  schemaLogs: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}.${a.type}.owner.${token(a.schema, "schema")}.*`,
  allLogs: (orb: string) => `${token(orb, "orb")}.*.owner.>`,
  anyEntryLog: (orb: string, id: string) => `${token(orb, "orb")}.*.owner.*.${token(id, "entry")}`,
  /** Written when an entry is created, so that entries can be listed by creation time. */
  entryIndex: (a: EntryAddress) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.${token(a.id, "entry")}`,
  schemaIndex: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._ix.${a.type}.${token(a.schema, "schema")}.*`,
  orbIndex: (orb: string) => `${token(orb, "orb")}._ix.>`,
  /** Equality index: the entry has this value, or had it earlier. */
  equality: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  equalityOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /**
   * Ids of a schema's entries in order of creation, including deleted ones. All ids are on one subject, so that every
   * page is equally fast to read.
   */
  schemaOrder: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._or.${a.type}.${token(a.schema, "schema")}`,
  /**
   * Marks that an entry got this value after its creation. The index then does not list the entry in order of creation.
   */
  late: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.${token(a.id, "entry")}`,
  lateOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}.*`,
  /** Unique index: the message names the entry that uses the value. */
  unique: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(value, "value")}`,
  uniqueOf: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.*`,
  /** Reference index: a field of the entry `source` refers to the entry `target`. */
  reference: (target: string, source: EntryAddress, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.${token(source.id, "entry")}`,
  referencesBy: (target: string, source: Omit<EntryAddress, "id">, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${token(field, "field")}.*`,
  referrers: (orb: string, target: string) => `${token(orb, "orb")}._ref.${token(target, "entry")}.>`,
  /** Changes of an ordered index that its pages do not contain yet. */
  orderedLog: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._ol.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}`,
  /** The list of an ordered index's pages. */
  orderedRoot: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._om.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}`,
  /** A page of an ordered index. It never changes, and a later page has another name. */
  orderedPage: (a: Omit<EntryAddress, "id">, field: string, page: string) =>
    `${token(a.orb, "orb")}._os.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.${token(page, "page")}`,
  orderedPages: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._os.${a.type}.${token(a.schema, "schema")}.${token(field, "field")}.*`,
  /** Each new reference to `target` writes this subject. A concurrent deletion of `target` then gets a conflict. */
  referenceGuard: (orb: string, target: string) => `${token(orb, "orb")}._rc.${token(target, "entry")}`,
  /**
   * For messages that carry a condition about another subject: the batch fails if that subject has changed. These
   * messages expire after a second.
   */
  guard: (orb: string, id: string, number: number) =>
    `${token(orb, "orb")}._guard.${token(id, "entry")}.${number}`,
  /**
   * The fence of the active definition. A new definition changes the fence, and every write requires that the fence is
   * unchanged. So writes that used an outdated definition fail.
   */
  fence: (orb: string, incarnation: number, part: number) =>
    `${token(orb, "orb")}._def.${incarnation}.${part}`,
  /** Shows that an import is filling the orb's stream. */
  importMark: (orb: string, revision: number) => `${token(orb, "orb")}._import.${revision}`,
  /** Says that a request with this Idempotency-Key was executed. Written in the same atomic batch as the change. */
  idempotency: (orb: string, hash: string) => `${token(orb, "orb")}._idem.${token(hash, "key")}`,
  /** Message that the broker sends at `validFrom` to show an entry, or at `validTo` to hide it. */
  schedule: (orb: string, id: string, revision: number, edge: "open" | "close") =>
    `${token(orb, "orb")}._at.${token(id, "entry")}.${revision}.${edge}`,
  schedulesOf: (orb: string, id: string) => `${token(orb, "orb")}._at.${token(id, "entry")}.>`,
  /** Ids of the entries that belong to one user account, in order of creation, including deleted ones. */
  ownOrder: (a: Omit<EntryAddress, "id">, owner: string) =>
    `${token(a.orb, "orb")}._own.${a.type}.${token(a.schema, "schema")}.${token(owner, "user")}`,
  /** Name of the process that currently runs the after-write hooks. */
  hooksLeader: "_hooks.leader",
  /** How far an after-write hook has progressed in the orb's stream. */
  hookState: (orb: string, hook: string) => `_hooks.state.${token(orb, "orb")}.${token(hook, "hook")}`,
  hookStates: (orb: string) => `_hooks.state.${token(orb, "orb")}.*`,
  /** The most recent successful deliveries of a hook, all stored under one subject. */
  hookDone: (orb: string, hook: string) => `_hooks.done.${token(orb, "orb")}.${token(hook, "hook")}`,
  hooksDone: (orb: string) => `_hooks.done.${token(orb, "orb")}.*`,
  /**
   * A failed delivery that is no longer retried. The last part of the subject is the sequence of the delivered
   * revision.
   */
  hookFailed: (orb: string, hook: string, seq: number) =>
    `_hooks.failed.${token(orb, "orb")}.${token(hook, "hook")}.${seq}`,
  hooksFailed: (orb: string) => `_hooks.failed.${token(orb, "orb")}.*.*`,
  /** Requests another delivery of a revision. */
  hookAgain: (orb: string, hook: string, seq: number) =>
    `_hooks.again.${token(orb, "orb")}.${token(hook, "hook")}.${seq}`,
  allHooksAgain: "_hooks.again.*.*.*",
  /** Tells the broker when a schedule has its ticks. */
  hookCron: (orb: string, schedule: string) =>
    `_hooks.cron.${token(orb, "orb")}.${token(schedule, "schedule")}`,
  allHookCrons: "_hooks.cron.*.*",
  /** Each message is a tick of a schedule. The broker writes it. */
  hookTicks: (orb: string, schedule: string) =>
    `_hooks.tick.${token(orb, "orb")}.${token(schedule, "schedule")}`,
  allHookTicks: "_hooks.tick.*.*",
  /** The secret that signs the requests of a webhook. */
  hookSecret: (orb: string, hook: string) => `_hooks.secret.${token(orb, "orb")}.${token(hook, "hook")}`,
  hookSecrets: (orb: string) => `_hooks.secret.${token(orb, "orb")}.*`,
  /** All messages about the hooks of one orb. */
  hooksOf: (orb: string) => `_hooks.*.${token(orb, "orb")}.>`,
  /**
   * Receives the broker's trace of a test message. The trace shows whether a program is subscribed, and nothing is
   * delivered.
   */
  probe: (id: string, index: number) => `_probe.${token(id, "probe")}.${index}`,
  probes: (id: string) => `_probe.${token(id, "probe")}.*`,
} as const;

/** Key-value buckets that every request needs: published definitions, and the data that authenticates callers. */
export const FOLLOWED: readonly string[] = [
  buckets.orbs,
  buckets.sessions,
  buckets.apiTokens,
  buckets.platformAdmins,
  buckets.orbUsers,
];

/**
 * Streams whose messages contain their own expiry time. The cache can therefore store these messages although they
 * expire.
 */
export const SELF_EXPIRING: readonly string[] = [streams.kv(buckets.sessions), streams.kv(buckets.apiTokens)];

export const DEFINITIONS = streams.kv(buckets.orbs);

export function followedFilter(stream: string): string | undefined {
  for (const bucket of FOLLOWED) if (stream === streams.kv(bucket)) return kvSubject(bucket, ">");
  const orb = orbOf(stream);
  return orb === undefined ? undefined : subjects.orbAll(orb);
}

export function definedStream(subject: string): string | undefined {
  const start = kvSubject(buckets.orbs, "");
  const orb = subject.startsWith(start) ? subject.slice(start.length) : "";
  return isToken(orb) ? streams.orb(orb) : undefined;
}

const STATE =
  /^(\$KV\.[^.*>]+(\.[^.*>]+)+|[^._*>$][^.*>]*\._(def\.\d+\.0|file\.[^.*>]+|o[ms](\.[^.*>]+){3,4})|[^._*>$][^.*>]*\.[^._*>][^.*>]*\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/;

/** Header of an ordered index's root: the sequence from which readers must also read the log. */
export const LOG_START = "Log-Start";

/** Returns the log that belongs to the root of an ordered index. */
export function logOfRoot(subject: string): string | undefined {
  const [, space] = subject.split(".", 2);
  return space === "_om" ? subject.replace("._om.", "._ol.") : undefined;
}

export function isOrderedLog(filter: string): boolean {
  return filter.split(".", 2)[1] === "_ol";
}

/** Returns whether only the last message of a subject matters, as for entries and key-value pairs. */
export function isStateSubject(subject: string): boolean {
  return STATE.test(subject);
}

export function isIndexFilter(filter: string): boolean {
  return /^[^.*>]+\.(_(ix|eq|late)\.[^*>]*\*|_or\.[^.*>]+\.[^.*>]+|_ol\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/.test(
    filter,
  );
}
