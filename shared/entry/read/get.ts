import type { Actor } from "../../access/actor.ts";
import { mayWith, principalIn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { isEntryId } from "../../definition/document/ids.ts";
import type { Deps } from "../../deps.ts";
import { invalidParameters, notFound } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/tags.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import type { Consistency } from "../../store/types.ts";
import {
  maskedRevision,
  newestRevision,
  presentEntry,
  type RuntimeEntry,
  readLive,
  seenBy,
  type VisibleEntry,
} from "../index/visible.ts";
import { viewKey } from "../model/fields.ts";
import type { Choice } from "../model/localize.ts";
import { addressOf, loadEntry, type OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import type { OneQuery } from "../query/query.ts";
import { entryAt } from "./at.ts";
import { expandAll } from "./expand.ts";
import { revealEntry } from "./reveal.ts";

export interface GetInput {
  orb: OrbContext;
  schema: CompiledSchema;
  id: string;
  choice: Choice;
  query: Pick<OneQuery, "fields" | "expand">;
  /** Whether to read the newest revision, even if it is an unpublished draft. */
  latest?: boolean;
  /** Reads the revision that was the newest at this time, in milliseconds since the epoch. */
  at?: number | undefined;
  /** Decrypts sensitive values, for owners of the application. Entries of `expand` stay masked. */
  reveal?: boolean;
}

export interface GetResult {
  entry: RuntimeEntry;
  etag: string;
  /** Languages of the returned values, for the `Content-Language` header. */
  languages: string[];
}

/**
 * Chooses where to read from. Anonymous callers may get data that is milliseconds old. Signed-in users must see their
 * own writes.
 */
function consistencyFor(actor: Actor): Consistency {
  return actor.kind === "anonymous" ? "stale" : "cached";
}

/** Throws if the caller can read no entry of the schema: 401 if signing in could help, otherwise 403. */
export function requireReader(
  actor: Actor,
  { compiled }: OrbContext,
  { access }: CompiledSchema,
  drafts: boolean,
): void {
  const principal = principalIn(actor, compiled.id, compiled);
  requireMay(principal, drafts ? "readDraft" : "read", { access, own: true });
}

/**
 * Returns which revision the parameter `revision` asks for: true for the newest one, false for the published one.
 * Throws if the caller may not read that kind of revision in any entry of the schema.
 */
export function latestOf(
  actor: Actor,
  orb: OrbContext,
  schema: CompiledSchema,
  revision: string | undefined,
): boolean {
  const latest = revision === "latest";
  requireReader(actor, orb, schema, latest);
  if (revision !== undefined && !latest && revision !== "published") {
    throw invalidParameters([
      { path: "/revision", code: "invalid_value", message: "must be published or latest" },
    ]);
  }
  return latest;
}

async function find(deps: Deps, actor: Actor, input: GetInput): Promise<VisibleEntry | undefined> {
  const { orb, schema, id, latest } = input;
  const caller = principalIn(actor, orb.orb, orb.compiled);
  if (input.at !== undefined) return findAt(deps, actor, input, Math.min(input.at, deps.clock.now()));
  if (latest === true) {
    const entry = await loadEntry(deps, orb.orb, id, schema);
    if (entry === null || entry.head.status === "DELETED") return undefined;
    const { createdBy } = entry.head;
    if (mayWith(actor, orb.compiled, "readDraft", { access: schema.access, createdBy })) {
      return seenBy(caller, newestRevision(schema, entry.address, entry.head, deps.clock.now()));
    }
  }
  const [seen] = await readLive(deps, orb.orb, [{ schema, id }], consistencyFor(actor), SMALL_BYTES);
  if (seen === undefined) return undefined;
  const { createdBy } = seen.head;
  const on = { access: schema.access, createdBy };
  return mayWith(actor, orb.compiled, "read", on) ? seenBy(caller, seen) : undefined;
}

async function findAt(
  deps: Deps,
  actor: Actor,
  { orb, schema, id }: GetInput,
  at: number,
): Promise<VisibleEntry | undefined> {
  const entry = await loadEntry(deps, orb.orb, id, schema);
  if (entry === null || entry.head.status === "DELETED") return undefined;
  const { createdBy } = entry.head;
  if (!mayWith(actor, orb.compiled, "readRevisions", { access: schema.access, createdBy })) return undefined;
  const past = await entryAt(deps, entry.address, at);
  if (past === null) return undefined;
  const caller = principalIn(actor, orb.orb, orb.compiled);
  return seenBy(caller, newestRevision(schema, entry.address, past.snapshot, at));
}

/**
 * Returns the ETag of a response: the number of the newest revision, and a hash of everything else that the response
 * depends on.
 */
function runtimeTag(newest: number, parts: readonly unknown[]): string {
  return `"${newest}-${fingerprint(JSON.stringify(parts))}"`;
}

function choiceKey(choice: Choice): unknown[] {
  return choice.allLocales ? ["*"] : [choice.languages, choice.markets];
}

function variantOf(
  orb: OrbContext,
  schema: CompiledSchema,
  entry: RuntimeEntry,
  choice: Choice,
  fields: ReadonlySet<string> | undefined,
): unknown[] {
  return [
    orb.revision,
    entry.revision,
    entry.status,
    choiceKey(choice),
    fields === undefined ? null : [...fields].sort(),
    // Callers with different roles see different fields, so their ETags must differ.
    ...viewKey(schema),
  ];
}

/**
 * Returns the response to a write. If the caller may delete entries but not read drafts, the response contains no
 * values, except for an entry that the caller has just created.
 */
export function presentWritten(
  actor: Actor,
  orb: OrbContext,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
  choice: Choice,
): GetResult {
  const languages = new Set<string>();
  const { createdBy, operation } = snapshot;
  const { access } = schema;
  const shows = operation === "create" || mayWith(actor, orb.compiled, "readDraft", { access, createdBy });
  const caller = principalIn(actor, orb.orb, orb.compiled);
  const seen = seenBy(caller, {
    schema,
    address: addressOf(schema, snapshot.id),
    head: snapshot,
    shown: shows ? maskedRevision(schema, snapshot) : { ...snapshot, values: {} },
    newest: snapshot.revision,
  });
  const entry = presentEntry(seen, { choice }, languages);
  const etag = runtimeTag(snapshot.revision, variantOf(orb, seen.schema, entry, choice, undefined));
  return { entry, etag, languages: [...languages] };
}

/** Reads the published revision of an entry. If the caller may not read the entry, throws 404. */
export async function getEntry(deps: Deps, actor: Actor, input: GetInput): Promise<GetResult> {
  const { orb, schema, query, choice } = input;
  requireReader(actor, orb, schema, input.latest === true);
  const missing = () => notFound("entry", "There is no such entry, or it is not live.");
  if (!isEntryId(input.id)) throw missing();
  const found = await find(deps, actor, input);
  if (found === undefined) throw missing();
  const seen = input.reveal === true ? await revealEntry(deps, actor, orb, found, input.at) : found;
  const languages = new Set<string>();
  const entry = presentEntry(seen, { choice, fields: query.fields }, languages);
  const variant = variantOf(orb, seen.schema, entry, choice, query.fields);
  if (query.expand.length > 0) {
    const expansion = {
      fields: query.expand,
      actor,
      compiled: orb.compiled,
      choice,
      consistency: consistencyFor(actor),
    };
    const [expanded] = await expandAll(deps, [seen], expansion, languages);
    entry.expand = expanded?.expand ?? {};
    variant.push(
      query.expand.map((field) => field.name),
      expanded?.tags,
    );
  }
  return { entry, etag: runtimeTag(seen.newest, variant), languages: [...languages] };
}
