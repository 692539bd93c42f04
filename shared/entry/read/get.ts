/** Reads one entry for the runtime API. */
import type { Actor } from "../../access/actor.ts";
import { entryRefusal, may, requireMay, roleIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { isEntryId } from "../../definition/document/ids.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import type { Consistency } from "../../store/types.ts";
import { isOwn } from "../index/references.ts";
import { maskedRevision, newestRevision, readLive, type VisibleEntry } from "../index/visible.ts";
import type { Choice } from "../model/localize.ts";
import { addressOf, loadEntry, type OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import type { OneQuery } from "../query/query.ts";
import { expandAll, mayReadLive } from "./expand.ts";
import { choiceKey, presentEntry, type RuntimeEntry, runtimeTag } from "./present.ts";

/** The entry to read, and the form of the response. */
export interface GetInput {
  orb: OrbContext;
  schema: CompiledSchema;
  id: string;
  choice: Choice;
  query: Pick<OneQuery, "fields" | "expand">;
  /** Reads the newest revision, which may be a draft. Only for callers who may read drafts. */
  latest?: boolean;
}

/** The response for one entry. */
export interface GetResult {
  entry: RuntimeEntry;
  etag: string;
  /** Languages of its translatable values, for `Content-Language`. */
  languages: string[];
}

/** Anonymous reads may come from a replica that lags by milliseconds. Signed-in callers must see their own writes. */
function consistencyFor(actor: Actor): Consistency {
  return actor.kind === "anonymous" ? "stale" : "cached";
}

/**
 * Returns whether the caller could read some entry of the schema. If not, the response is 401 or 403 instead of 404:
 * 401 if signing in could give access, 403 if it could not.
 */
function mightSee(actor: Actor, context: OrbContext, schema: CompiledSchema): boolean {
  const role = roleIn(actor, context.orb, context.compiled);
  return may(role, "read", { access: schema.access, own: true });
}

/** Requires that the actor can read some entry of the schema. @throws AppError unauthenticated, forbidden */
export function requireReader(actor: Actor, context: OrbContext, schema: CompiledSchema): void {
  if (!mightSee(actor, context, schema))
    throw entryRefusal(actor, "read", { access: schema.access, own: true });
}

/** Requires that the actor can read some draft of the schema. @throws AppError unauthenticated, forbidden */
export function requireDraftReader(actor: Actor, context: OrbContext, schema: CompiledSchema): void {
  const role = roleIn(actor, context.orb, context.compiled);
  requireMay(actor, role, "readDraft", { access: schema.access, own: true });
}

/** Returns whether the actor may read the draft of an entry. */
export function maySeeDraft(
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  createdBy: string,
): boolean {
  const own = isOwn(actor, createdBy);
  return may(roleIn(actor, context.orb, context.compiled), "readDraft", { access: schema.access, own });
}

async function find(deps: Deps, actor: Actor, input: GetInput): Promise<VisibleEntry | undefined> {
  const { orb, schema, id, latest } = input;
  if (latest === true) {
    const entry = await loadEntry(deps, orb.orb, id, schema);
    if (entry === null || entry.head.status === "DELETED") return undefined;
    if (maySeeDraft(actor, orb, schema, entry.head.createdBy)) {
      return newestRevision(schema, entry.address, entry.head, deps.clock.now());
    }
  }
  const [seen] = await readLive(deps, orb.orb, [{ schema, id }], consistencyFor(actor), SMALL_BYTES);
  return seen !== undefined && mayReadLive(actor, orb.compiled, schema, seen.head.createdBy)
    ? seen
    : undefined;
}

/** Returns what a response depends on besides the newest revision number. It becomes part of the entity tag. */
function variantOf(
  orb: OrbContext,
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
  ];
}

/** Returns the response to a write: the new revision, as `latest` would return it. */
export function presentWritten(
  orb: OrbContext,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
  choice: Choice,
): GetResult {
  const languages = new Set<string>();
  const seen: VisibleEntry = {
    schema,
    address: addressOf(schema, snapshot.id),
    head: snapshot,
    shown: maskedRevision(schema, snapshot),
    newest: snapshot.revision,
  };
  const entry = presentEntry(seen, { choice }, languages);
  const etag = runtimeTag(snapshot.revision, variantOf(orb, entry, choice, undefined));
  return { entry, etag, languages: [...languages] };
}

/**
 * Reads the live revision of an entry. One request besides the definition, and one more for everything expanded.
 * Entries that the caller may not read are reported as not found.
 * @throws AppError not_found `entry_not_found`; unauthenticated, forbidden when the schema is closed to the caller
 */
export async function getEntry(deps: Deps, actor: Actor, input: GetInput): Promise<GetResult> {
  const { orb, schema, query, choice } = input;
  if (input.latest === true) requireDraftReader(actor, orb, schema);
  else requireReader(actor, orb, schema);
  const missing = () => notFound("entry", "There is no such entry, or it is not live.");
  if (!isEntryId(input.id)) throw missing();
  const seen = await find(deps, actor, input);
  if (seen === undefined) throw missing();
  const languages = new Set<string>();
  const entry = presentEntry(seen, { choice, fields: query.fields }, languages);
  const variant = variantOf(orb, entry, choice, query.fields);
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
