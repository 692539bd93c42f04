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
import { newestOf, readLive, type Seen, shownOf } from "../index/seen.ts";
import type { Choice } from "../model/localize.ts";
import { addressOf, loadEntry, type OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import type { OneQuery } from "../query/query.ts";
import { expandAll, maySee } from "./expand.ts";
import { choiceKey, presentEntry, type RuntimeEntry, runtimeTag } from "./present.ts";

/** Which entry, and how it is answered. */
export interface GetInput {
  orb: OrbContext;
  schema: CompiledSchema;
  id: string;
  choice: Choice;
  query: Pick<OneQuery, "fields" | "expand">;
  /** The newest revision, draft or not, for those who may write. */
  latest?: boolean;
}

/** One answer. */
export interface Got {
  entry: RuntimeEntry;
  etag: string;
  /** Languages of its translatable values. */
  languages: string[];
}

/** Public reads may lag by milliseconds on replicas; who signed in sees what he wrote. */
function consistencyFor(actor: Actor): Consistency {
  return actor.kind === "anonymous" ? "any" : "told";
}

/** What nobody in particular may not see at all is told apart from what he might see after signing in. */
function mightSee(actor: Actor, context: OrbContext, schema: CompiledSchema): boolean {
  const role = roleIn(actor, context.orb, context.compiled);
  return may(role, "read", { access: schema.access, own: true });
}

/** @throws AppError unauthenticated, forbidden when no entry of the schema can be seen by the actor */
export function requireReader(actor: Actor, context: OrbContext, schema: CompiledSchema): void {
  if (!mightSee(actor, context, schema))
    throw entryRefusal(actor, "read", { access: schema.access, own: true });
}

/** @throws AppError unauthenticated, forbidden when the actor can write no entry of the schema */
export function requireDraftReader(actor: Actor, context: OrbContext, schema: CompiledSchema): void {
  const role = roleIn(actor, context.orb, context.compiled);
  requireMay(actor, role, "readDraft", { access: schema.access, own: true });
}

/** Whether the actor may see the draft of an entry. */
export function maySeeDraft(
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  createdBy: string,
): boolean {
  const own = isOwn(actor, createdBy);
  return may(roleIn(actor, context.orb, context.compiled), "readDraft", { access: schema.access, own });
}

async function find(deps: Deps, actor: Actor, input: GetInput): Promise<Seen | undefined> {
  const { orb, schema, id, latest } = input;
  if (latest === true) {
    const entry = await loadEntry(deps, orb.orb, id, schema);
    if (entry === null || entry.head.status === "DELETED") return undefined;
    if (maySeeDraft(actor, orb, schema, entry.head.createdBy)) {
      return newestOf(schema, entry.address, entry.head, deps.clock.now());
    }
  }
  const [seen] = await readLive(deps, orb.orb, [{ schema, id }], consistencyFor(actor), SMALL_BYTES);
  return seen !== undefined && maySee(actor, orb.compiled, schema, seen.head.createdBy) ? seen : undefined;
}

/** What an answer depends on beside the newest revision's number. */
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

/** The answer to a write: the revision that it made, as `latest` would read it. */
export function presentWritten(
  orb: OrbContext,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
  choice: Choice,
): Got {
  const languages = new Set<string>();
  const seen: Seen = {
    schema,
    address: addressOf(schema, snapshot.id),
    head: snapshot,
    shown: shownOf(schema, snapshot),
    newest: snapshot.revision,
  };
  const entry = presentEntry(seen, { choice }, languages);
  const etag = runtimeTag(snapshot.revision, variantOf(orb, entry, choice, undefined));
  return { entry, etag, languages: [...languages] };
}

/**
 * Reads what is live of an entry; one request beyond the definition, and one more for everything that is expanded.
 * What the caller may not see does not exist.
 * @throws AppError not_found `entry_not_found`; unauthenticated, forbidden when the schema is closed to the caller
 */
export async function getEntry(deps: Deps, actor: Actor, input: GetInput): Promise<Got> {
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
