/** Where the acts in an application are stored, and what a list says about each of them. It has no values of entries. */
import type { AuditRecord } from "../access/audit.ts";
import type { PlatformOperation } from "../access/credentials/index.ts";
import type { ChangeSet } from "../changes/record/index.ts";
import type { SetComment } from "../changes/review/index.ts";
import type { CompiledOrb } from "../definition/compile.ts";
import type { OrbRecord } from "../definition/stored/index.ts";
import { type EntrySnapshot, schemaOf, snapshotOf } from "../entry/model/index.ts";
import type { FileRecord } from "../files/record.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { isToken, parsedHome, streams, subjects } from "../store/subjects.ts";
import type { StoredMessage } from "../store/types.ts";

export const ACTIVITY_KINDS = ["entry", "change", "comment", "file", "definition", "access"] as const;
export type ActivityKind = (typeof ACTIVITY_KINDS)[number];

/** An act, as it is stored. */
export interface Noted {
  kind: ActivityKind;
  /** What was done, such as `publish`. */
  act: string;
  /** ISO 8601. */
  at: string;
  /** Id of the account that acted. */
  by: string;
  /** The handler that acted for the account. */
  through?: string;
  /** Id of the API token that the account used. */
  token?: string;
  entry?: {
    id: string;
    /** The current ids. Missing if the act does not say them. */
    module?: string;
    schema?: string;
    revision?: number;
    status?: EntrySnapshot["status"];
  };
  /** The change set. */
  change?: { id: string; title?: string };
  /** The field that a comment is about. */
  field?: string;
  file?: { id: string; name: string };
  /** What a revision of the definition changed, and its number. */
  definition?: { revision: number; summary: string[] };
  /** Id of the account that the act is about. */
  account?: string;
  /** A stable code that says more about an act of the kind `access`. */
  detail?: string;
}

/** Messages that store acts of some kinds. */
export interface Source {
  name: string;
  kinds: readonly ActivityKind[];
  /** What the caller must be allowed to do in the application. */
  right: PlatformOperation;
  stream: string;
  filter: string;
  /** Returns the act that a message stores. Null if it stores none that a list shows. */
  note(message: StoredMessage, compiled: CompiledOrb): Noted | null;
}

type Origin = { through?: string | undefined; token?: string | undefined };

const originOf = ({ through, token }: Origin): Pick<Noted, "through" | "token"> => ({
  ...(through === undefined ? {} : { through }),
  ...(token === undefined ? {} : { token }),
});

function entryAct(message: StoredMessage, compiled: CompiledOrb): Noted | null {
  const snapshot = snapshotOf(message);
  if (snapshot === null) return null;
  const { id, revision, status, operation, updatedAt, updatedBy, change } = snapshot;
  const [, type = "", , home = ""] = message.subject.split(".");
  const schema = schemaOf(compiled, parsedHome(type, home));
  return {
    ...{ kind: "entry", act: operation, at: updatedAt, by: updatedBy, ...originOf(snapshot) },
    entry: {
      ...{ id, module: schema?.module ?? snapshot.module, schema: schema?.id ?? snapshot.schema },
      ...{ revision, status },
    },
    ...(change === undefined ? {} : { change: { id: change } }),
  };
}

function changeAct(message: StoredMessage): Noted {
  const set = message.json<ChangeSet>();
  const { id, title, act = "update", changedAt, changedBy } = set;
  // The handler and the token of a record are those that opened the set.
  const origin = act === "open" ? originOf(set) : {};
  return { kind: "change", act, at: changedAt, by: changedBy, ...origin, change: { id, title } };
}

function commentAct(message: StoredMessage): Noted {
  const comment = message.json<SetComment>();
  const { resolved, entry, field } = comment;
  const [, , set = ""] = message.subject.split(".");
  const [module = "", schema = "", id = ""] = entry?.split("/") ?? [];
  return {
    ...(resolved === undefined
      ? { kind: "comment", act: "comment", at: comment.at, by: comment.by, ...originOf(comment) }
      : { kind: "comment", act: "resolve", at: resolved.at, by: resolved.by }),
    change: { id: set },
    ...(entry === undefined ? {} : { entry: { id, module, schema } }),
    ...(field === undefined ? {} : { field }),
  };
}

/** Milliseconds between the time in a record and the one at which the broker stored the message of the same act. */
const SAME_ACT_MS = 60_000;
/** Number of the first version of a file that has a description. */
const FIRST_DESCRIBED = 2;

const withoutRealm = (account: string) => account.slice(account.indexOf("/") + 1);

/**
 * The record of a file is replaced by every act, also by entries that begin to use it. Their revisions are acts of their
 * own, so the record then counts as none.
 */
function fileAct(message: StoredMessage): Noted | null {
  const { id, name, asset, entries, at, by } = message.json<FileRecord>();
  const uploaded: Noted = { kind: "file", act: "upload", at, by: withoutRealm(by), file: { id, name } };
  if (asset === undefined) return entries.length > 0 ? null : uploaded;
  const described = Date.parse(asset.at);
  if (Math.abs(message.time - described) > SAME_ACT_MS) return null;
  // The library keeps an upload by an empty description.
  const isUpload = asset.revision === FIRST_DESCRIBED && described - Date.parse(at) < SAME_ACT_MS;
  if (isUpload && asset.by === by) return uploaded;
  const act = asset.replacedBy === undefined ? "describe" : "replace";
  return { ...uploaded, act, at: asset.at, by: withoutRealm(asset.by) };
}

function definitionAct(message: StoredMessage): Noted {
  const { operation, at, by, revision, summary } = message.json<OrbRecord>();
  return { kind: "definition", act: operation, at, by, definition: { revision, summary } };
}

/** Audited acts on entries that leave no revision. */
const ENTRY_ACTS: Readonly<Record<string, string>> = { purged: "purge" };
/** Audited acts whose target is an account. */
const OF_ACCOUNTS: ReadonlySet<string> = new Set([
  "register",
  "passkey",
  "recovery",
  "identity",
  "user",
  "role",
  "token",
]);
/** Audited acts that the list leaves out: sign-ins are no changes, and records of change sets and entries say the others. */
const LEFT_OUT: ReadonlySet<string> = new Set(["signin", "signout", "change", "orb", "stream", "handler"]);

function auditAct(message: StoredMessage): Noted | null {
  const record = message.json<AuditRecord>();
  const { action, target, detail, outcome, at, actor: by } = record;
  if (outcome !== "ok" || LEFT_OUT.has(action)) return null;
  const base = { at, by, ...originOf(record) };
  if (action === "entry" || action === "reveal") {
    const act = action === "reveal" ? "reveal" : ENTRY_ACTS[detail ?? ""];
    const [id = ""] = target?.split("/") ?? [];
    return act === undefined || id === "" ? null : { kind: "entry", act, ...base, entry: { id } };
  }
  const [account] = target?.split("/") ?? [];
  return {
    ...{ kind: "access", act: action, ...base },
    ...(OF_ACCOUNTS.has(action) && account !== undefined ? { account } : {}),
    ...(detail === null ? {} : { detail }),
  };
}

/**
 * Returns the sources of an application.
 * @param entry id of the only entry whose acts are wanted
 */
export function sourcesOf(orb: string, entry: string | undefined): readonly Source[] {
  if (entry !== undefined && !isToken(entry)) return [];
  const stream = streams.orb(orb);
  const audit = (action: string | undefined, kinds: readonly ActivityKind[]): Source => ({
    ...{ name: "audit", kinds, right: "audit.read", stream: streams.platform },
    ...{ filter: subjects.auditOf(orb, action), note: auditAct },
  });
  const ofEntries: Source = {
    ...{ name: "entry", kinds: ["entry"], right: "entries.read", stream },
    ...{
      filter: entry === undefined ? subjects.allLogs(orb) : subjects.anyEntryLog(orb, entry),
      note: entryAct,
    },
  };
  const comments: Source = {
    ...{ name: "comment", kinds: ["comment"], right: "entries.read", stream },
    ...{ filter: subjects.allChangeComments(orb), note: commentAct },
  };
  // Acts of other kinds are about no entry.
  if (entry !== undefined)
    return [ofEntries, comments, audit("entry", ["entry"]), audit("reveal", ["entry"])];
  return [
    ofEntries,
    comments,
    {
      ...{ name: "change", kinds: ["change"], right: "entries.read", stream },
      ...{ filter: subjects.allChangeRecords(orb), note: changeAct },
    },
    {
      ...{ name: "file", kinds: ["file"], right: "entries.read", stream },
      ...{ filter: fileSubjects.records(orb), note: fileAct },
    },
    {
      ...{ name: "definition", kinds: ["definition"], right: "orbs.read", stream: streams.platform },
      ...{ filter: subjects.orbHistory(orb), note: definitionAct },
    },
    audit(undefined, ["entry", "access"]),
  ];
}
