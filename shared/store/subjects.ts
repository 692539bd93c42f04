/**
 * Names of streams, subjects and buckets in the broker. Every value from a client must pass {@link token}, because an
 * injected wildcard could match other users' data.
 */
import { notFound } from "../kernel/errors.ts";

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;
const FIELD_TOKEN = /^[A-Za-z0-9_~-]{1,128}$/;

export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

/** Returns the part of a subject after its last dot, which is the id of what the message is about. */
export function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}

/**
 * Returns a client's value if it is safe as one part of a subject, such as `<value>` in `orbs.<value>.log`.
 * @param what what the value identifies: "orb", "entry"
 * @throws AppError not_found if it is not safe, because nothing can have such a name
 */
export function token(value: string, what: string): string {
  if (!TOKEN.test(value)) throw notFound(what);
  return value;
}

/** Returns the stored name of a field, which may end with a number: `price~2`. */
function fieldToken(value: string): string {
  return FIELD_TOKEN.test(value) ? value : token(value, "field");
}

export const MODULE_TOKENS = ["content", "config", "rules", "transactions", "settings"] as const;
export type ModuleToken = (typeof MODULE_TOKENS)[number];
/** The readers of a published copy. An entry has one copy for each of these groups that may read the entry. */
export type LiveRole = "public" | "user" | "admin";

/** Identifies a schema in message subjects. Stays the same if the schema is renamed, unlike the current name. */
export type SchemaToken = string & { readonly brand: "SchemaToken" };

/** Identifies the entries of one schema in the stream of their application. */
export interface Home {
  type: ModuleToken;
  schema: SchemaToken;
}

/** Parses the module type and the schema name in a subject. */
export function parsedHome(type: string, schema: string): Home {
  return { type: type as ModuleToken, schema: schema as SchemaToken };
}

export interface EntryAddress extends Home {
  orb: string;
  id: string;
}

/**
 * The first parts of subjects that other programs use. No application may have one of these ids, because its stream
 * would then store the messages of those programs.
 */
export const SUBJECT_SPACES: readonly string[] = ["platform", "heartbeat", "wallet", "svc"];

export const streams = {
  platform: "platform",
  /** Counts attempts for rate limits, one message each. The broker rejects messages beyond the limit of a subject. */
  limits: "limits",
  /** Counters of the requests of each account and application, for short periods and for days. */
  quotas: "quotas",
  longQuotas: "quotas_long",
  /** Counts of the requests of each application, by the hour. */
  usage: "usage",
  heartbeat: "heartbeat",
  wallet: "wallet",
  /** Progress and deliveries of after-write hooks. */
  hooks: "hooks",
  /** The stream that holds the entries of an application (an orb). */
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
  /** Unsaved changes of forms. */
  unsaved: "unsaved",
  /** Presence: the people who edit an entry at the moment. */
  presence: "presence",
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
  /** Written when an orb (an application) is created, so that applications can be listed by creation time. */
  orbPlace: (orb: string) => `platform.index.orbs.${token(orb, "orb")}`,
  allOrbPlaces: "platform.index.orbs.*",
  /** Names and hooks of all published orbs: a cache for processes that start. */
  orbSummaries: "platform.summaries.orbs",
  orbReopened: (orb: string) => `platform.reopened.${token(orb, "orb")}`,
  /** Heartbeat of a running import. It expires if the import stops renewing it. */
  orbImport: (orb: string, revision: number) => `platform.imports.${token(orb, "orb")}.${revision}`,
  /** A caller that names a revision of an orb's definition. @param user hash of who that is */
  pinnedUse: (orb: string, revision: number, user: string) =>
    `platform.pinned.${token(orb, "orb")}.${revision}.${token(user, "user")}`,
  pinnedUses: (orb: string) => `platform.pinned.${token(orb, "orb")}.>`,
  definition: (kind: "messages" | "modules", id: string) =>
    `platform.definitions.${kind}.${token(id, "definition")}`,
  definitions: (kind: "messages" | "modules") => `platform.definitions.${kind}.*`,
  /** Audit log of one action in one realm (set of accounts), such as `platform.audit.shop.signin`. */
  audit: (realm: string, action: string) =>
    `platform.audit.${token(realm, "realm")}.${token(action, "action")}`,
  allAudit: "platform.audit.>",
  auditOf: (realm?: string, action?: string) =>
    `platform.audit.${realm === undefined ? "*" : token(realm, "realm")}.${action === undefined ? "*" : token(action, "action")}`,
  platformIdempotency: (hash: string) => `platform.idempotency.${token(hash, "key")}`,
  heartbeat: "heartbeat.tick",
  heartbeatSchedule: "heartbeat.schedule",
  /** Proof that the broker stores data, written by health checks. */
  writeProof: "_limit.health.write",
  /** Requests to the program that started the broker: why the broker stores no data, or an empty reply. */
  brokerFault: "_broker.fault",
  limit: (rule: string, client: string) => `_limit.${token(rule, "rule")}.${token(client, "client")}`,

  quota: (stream: "quotas" | "quotas_long", rule: string, key: string, window: number) =>
    ["_quota", stream, token(rule, "rule"), ...key.split(".").map((part) => token(part, "key")), window].join(
      ".",
    ),

  /** Counts of the requests of an application in one hour. @param hour hours since 1970 */
  usage: (orb: string, incarnation: number, hour: number) =>
    `_usage.${token(orb, "orb")}.${incarnation}.${hour}`,
  usageOf: (orb: string, incarnation: number) => `_usage.${token(orb, "orb")}.${incarnation}.*`,

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
  /** Equality index. The message says that the entry has this value, or had it earlier. */
  equality: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(value, "value")}.${token(a.id, "entry")}`,
  equalityOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._eq.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(value, "value")}.*`,
  /**
   * Ids of a schema's entries in order of creation, including deleted ones. All ids are on one subject, so that every
   * page is equally fast to read.
   */
  schemaOrder: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._or.${a.type}.${token(a.schema, "schema")}`,
  /** Marks that an entry got this value after its creation, so that the index is not in order of creation. */
  late: (a: EntryAddress, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(value, "value")}.${token(a.id, "entry")}`,
  lateOf: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._late.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(value, "value")}.*`,
  /** Unique index. The message names the entry that has the value. */
  unique: (a: Omit<EntryAddress, "id">, field: string, value: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(value, "value")}`,
  uniqueOf: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._uq.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.*`,
  /** Reference index. The message says that a field of the entry `source` refers to the entry `target`. */
  reference: (target: string, source: EntryAddress, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${fieldToken(field)}.${token(source.id, "entry")}`,
  referencesBy: (target: string, source: Omit<EntryAddress, "id">, field: string) =>
    `${token(source.orb, "orb")}._ref.${token(target, "entry")}.${source.type}.${token(source.schema, "schema")}.${fieldToken(field)}.*`,
  referrers: (orb: string, target: string) => `${token(orb, "orb")}._ref.${token(target, "entry")}.>`,
  /** The log of an ordered index: changes that are not yet in the index's sorted pages. */
  orderedLog: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._ol.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}`,
  everyOrderedLog: "*._ol.>",
  /** The root of an ordered index: the list of its pages. */
  orderedRoot: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._om.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}`,
  /** A sorted page of an ordered index. A page never changes; a newer version gets another name. */
  orderedPage: (a: Omit<EntryAddress, "id">, field: string, page: string) =>
    `${token(a.orb, "orb")}._os.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.${token(page, "page")}`,
  orderedPages: (a: Omit<EntryAddress, "id">, field: string) =>
    `${token(a.orb, "orb")}._os.${a.type}.${token(a.schema, "schema")}.${fieldToken(field)}.*`,
  /** The ordered indexes of a schema: logs, roots and pages. They contain values of entries. */
  orderedIndexes: (a: Omit<EntryAddress, "id">) =>
    ["_ol", "_om", "_os"].map(
      (kind) => `${token(a.orb, "orb")}.${kind}.${a.type}.${token(a.schema, "schema")}.>`,
    ),
  /** Each new reference to `target` writes this subject. A concurrent deletion of `target` then gets a conflict. */
  referenceGuard: (orb: string, target: string) => `${token(orb, "orb")}._rc.${token(target, "entry")}`,
  /** A message that makes the broker reject a batch if some other subject has changed. Expires after a second. */
  guard: (orb: string, id: string, number: number) =>
    `${token(orb, "orb")}._guard.${token(id, "entry")}.${number}`,
  /**
   * Each publication of a definition writes to this subject. A write of an entry fails if the subject has changed
   * since the definition was read, so no write follows an outdated definition.
   */
  fence: (orb: string, incarnation: number, part: number) =>
    `${token(orb, "orb")}._def.${incarnation}.${part}`,
  /** Says up to which message all entries have the index keys of a version of the normal forms. */
  formsMark: (orb: string, version: number) => `${token(orb, "orb")}._forms.${version}`,
  /** Marks that an import into this application is running. */
  importMark: (orb: string, revision: number) => `${token(orb, "orb")}._import.${revision}`,
  /** Marks that a publication makes entries of a new schema. */
  splitMark: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._split.${a.type}.${token(a.schema, "schema")}`,
  splitMarks: (orb: string) => `${token(orb, "orb")}._split.>`,
  /** All messages of a change set. */
  changeOf: (orb: string, set: string) => `${token(orb, "orb")}._change.${token(set, "change")}.>`,
  /** The log of a change set: a whole record for each revision. Its last message is the set as it is. */
  changeRecord: (orb: string, set: string) => `${token(orb, "orb")}._change.${token(set, "change")}.record`,
  allChangeRecords: (orb: string) => `${token(orb, "orb")}._change.*.record`,
  /** A comment on a change set. */
  changeComment: (orb: string, set: string, id: string) =>
    `${token(orb, "orb")}._change.${token(set, "change")}.comment.${token(id, "comment")}`,
  allChangeComments: (orb: string) => `${token(orb, "orb")}._change.*.comment.*`,
  /** The ids of the comments on a change set, in the order in which they were written. */
  changeCommentOrder: (orb: string, set: string) =>
    `${token(orb, "orb")}._change.${token(set, "change")}.order`,
  /** The comments that mention an account, in the order in which they were written. */
  mentions: (orb: string, account: string) => `${token(orb, "orb")}._mention.${token(account, "account")}`,
  /** The ids of the orb's change sets, in the order in which they were opened. */
  changeOrder: (orb: string) => `${token(orb, "orb")}._change.order`,
  /** The list of what a change set contains. Every write into the set replaces it. */
  changeContent: (orb: string, set: string) => `${token(orb, "orb")}._change.${token(set, "change")}.content`,
  /** The definition that a change set contains. */
  changeDefinition: (orb: string, set: string) =>
    `${token(orb, "orb")}._change.${token(set, "change")}.definition`,
  allChangeDefinitions: (orb: string) => `${token(orb, "orb")}._change.*.definition`,
  /** The last message of the batch that publishes a definition together with a change set. */
  changeDecided: (orb: string, set: string) => `${token(orb, "orb")}._change.${token(set, "change")}.decided`,
  /** Says when a change set is to be published. Removed by the process that finds it published, or no longer scheduled. */
  changeDue: (orb: string, set: string) => `${token(orb, "orb")}._change.${token(set, "change")}.due`,
  changesDue: (orb: string) => `${token(orb, "orb")}._change.*.due`,
  everyChangeDue: "*._change.*.due",
  /** The saved views of a schema's lists that several accounts see. */
  sharedViews: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._view.${a.type}.${token(a.schema, "schema")}.shared`,
  /** The saved views of a schema's lists that only one account sees. @param kind of the account */
  ownViews: (a: Omit<EntryAddress, "id">, kind: "platform" | "orb", account: string) =>
    `${token(a.orb, "orb")}._view.${a.type}.${token(a.schema, "schema")}.${kind}.${token(account, "account")}`,
  /** The pending version of an entry in a change set. */
  changeVersion: (set: string, a: EntryAddress) =>
    `${token(a.orb, "orb")}._change.${token(set, "change")}.entry.${a.type}.${token(a.schema, "schema")}.${token(a.id, "entry")}`,
  changeVersions: (orb: string, set: string) =>
    `${token(orb, "orb")}._change.${token(set, "change")}.entry.>`,
  allChangeVersions: (orb: string) => `${token(orb, "orb")}._change.*.entry.>`,
  /** The pending versions of the entries of a schema in all change sets. */
  changeVersionsIn: (a: Omit<EntryAddress, "id">) =>
    `${token(a.orb, "orb")}._change.*.entry.${a.type}.${token(a.schema, "schema")}.*`,
  /** The pending versions of an entry in all change sets. */
  changesOfEntry: (orb: string, id: string) =>
    `${token(orb, "orb")}._change.*.entry.*.*.${token(id, "entry")}`,
  /** The places of the entries that an API token has written, in the order in which it first wrote each of them. */
  tokenWrites: (orb: string, id: string) => `${token(orb, "orb")}._by.${token(id, "token")}`,
  /** Marks that a request with this Idempotency-Key was executed. Written in the same batch as its change. */
  idempotency: (orb: string, hash: string) => `${token(orb, "orb")}._idem.${token(hash, "key")}`,
  /** The broker publishes this message at `validFrom` (shows the entry) or at `validTo` (hides the entry). */
  schedule: (orb: string, id: string, revision: number, edge: "open" | "close") =>
    `${token(orb, "orb")}._at.${token(id, "entry")}.${revision}.${edge}`,
  schedulesOf: (orb: string, id: string) => `${token(orb, "orb")}._at.${token(id, "entry")}.>`,
  /** Ids of the entries that belong to one user account, in order of creation, including deleted ones. */
  ownOrder: (a: Omit<EntryAddress, "id">, owner: string) =>
    `${token(a.orb, "orb")}._own.${a.type}.${token(a.schema, "schema")}.${token(owner, "user")}`,
  /** Name of the process that currently runs the after-write hooks. */
  hooksLeader: "_hooks.leader",
  /** Progress of a hook: which revisions of the application's entries it has already received. */
  hookState: (orb: string, hook: string) => `_hooks.state.${token(orb, "orb")}.${token(hook, "hook")}`,
  hookStates: (orb: string) => `_hooks.state.${token(orb, "orb")}.*`,
  /** The newest successful deliveries of a hook, all under one subject. */
  hookDone: (orb: string, hook: string) => `_hooks.done.${token(orb, "orb")}.${token(hook, "hook")}`,
  hooksDone: (orb: string) => `_hooks.done.${token(orb, "orb")}.*`,
  /** A delivery whose last attempt failed. The subject ends with the sequence number of the delivered revision. */
  hookFailed: (orb: string, hook: string, seq: number) =>
    `_hooks.failed.${token(orb, "orb")}.${token(hook, "hook")}.${seq}`,
  hooksFailed: (orb: string) => `_hooks.failed.${token(orb, "orb")}.*.*`,
  /** An operator's request to deliver a revision again. */
  hookAgain: (orb: string, hook: string, seq: number) =>
    `_hooks.again.${token(orb, "orb")}.${token(hook, "hook")}.${seq}`,
  allHooksAgain: "_hooks.again.*.*.*",
  /** A broker schedule: writes a message to `hookTicks` whenever an application's schedule is due. */
  hookCron: (orb: string, schedule: string) =>
    `_hooks.cron.${token(orb, "orb")}.${token(schedule, "schedule")}`,
  allHookCrons: "_hooks.cron.*.*",
  /** The broker writes a message here each time a schedule is due. */
  hookTicks: (orb: string, schedule: string) =>
    `_hooks.tick.${token(orb, "orb")}.${token(schedule, "schedule")}`,
  allHookTicks: "_hooks.tick.*.*",
  /** The secret that signs the requests of a webhook. */
  hookSecret: (orb: string, hook: string) => `_hooks.secret.${token(orb, "orb")}.${token(hook, "hook")}`,
  hookSecrets: (orb: string) => `_hooks.secret.${token(orb, "orb")}.*`,
  /** All messages about the hooks of one application. */
  hooksOf: (orb: string) => `_hooks.*.${token(orb, "orb")}.>`,
  /** Receives the broker's trace of a test message, which tells who is subscribed to a subject. */
  probe: (id: string, index: number) => `_probe.${token(id, "probe")}.${index}`,
  probes: (id: string) => `_probe.${token(id, "probe")}.*`,
} as const;

/**
 * Key-value buckets that nearly all requests read: published definitions, and the data that authenticates callers.
 */
export const FOLLOWED: readonly string[] = [
  buckets.orbs,
  buckets.sessions,
  buckets.apiTokens,
  buckets.platformAdmins,
  buckets.orbUsers,
];

/** Buckets whose values contain their own expiry time. The cache can hold these although they expire. */
export const SELF_EXPIRING: readonly string[] = [streams.kv(buckets.sessions), streams.kv(buckets.apiTokens)];

export const DEFINITIONS = streams.kv(buckets.orbs);

export function followedFilter(stream: string): string | undefined {
  for (const bucket of FOLLOWED) if (stream === streams.kv(bucket)) return kvSubject(bucket, ">");
  const orb = orbOf(stream);
  return orb === undefined ? undefined : subjects.orbAll(orb);
}

const DEFINITION = kvSubject(buckets.orbs, "");

export function definedStream(subject: string): string | undefined {
  const orb = subject.startsWith(DEFINITION) ? subject.slice(DEFINITION.length) : "";
  return isToken(orb) ? streams.orb(orb) : undefined;
}

const STATE =
  /^(\$KV\.[^.*>]+(\.[^.*>]+)+|[^._*>$][^.*>]*\._(def\.\d+\.0|file\.[^.*>]+|o[ms](\.[^.*>]+){3,4})|[^._*>$][^.*>]*\.[^._*>][^.*>]*\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/;

/**
 * Header of a message that a restore adds to an application's stream. The messages of the stream are now others under
 * the same sequence numbers, so hosts must forget what they have cached.
 */
export const RESTORED = "Restored";

/**
 * Header of the messages of an atomic batch that publishes several entries. Readers see all of them or none; see
 * `whole.ts`. The root of an index has it too if the index includes such messages since the root before.
 */
export const TOGETHER = "Together";

/** Header of an ordered index's root (the list of its pages): read the index's log from this sequence number on. */
export const LOG_START = "Log-Start";

/** Returns the subject of an ordered index's log, given the subject of the index's root. */
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
  return /^[^.*>]+\.(_(ix|eq|ref|late)\.[^*>]*\*|_or\.[^.*>]+\.[^.*>]+|_ol\.[^.*>]+\.[^.*>]+\.[^.*>]+)$/.test(
    filter,
  );
}
