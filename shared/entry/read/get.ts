import type { Actor } from "../../access/actor.ts";
import { mayWith, type Principal, seeing } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { isEntryId } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/tags.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import type { Consistency } from "../../store/types.ts";
import {
  type EntryKey,
  holdsKey,
  maskedRevision,
  newestRevision,
  ownerOf,
  presentEntry,
  type RuntimeEntry,
  readLive,
  seenBy,
  type VisibleEntry,
} from "../index/index.ts";
import {
  addressOf,
  type Choice,
  type EntrySnapshot,
  loadEntry,
  namedEntry,
  type OrbContext,
  viewKey,
  withNames,
} from "../model/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";
import type { OneQuery } from "../query/index.ts";
import { entryAt } from "./at.ts";
import { expandAll } from "./expand.ts";
import type { Reading } from "./reading.ts";
import { revealEntry } from "./reveal.ts";
import { readTogether } from "./together.ts";

export interface GetInput {
  reading: Reading;
  /** The entry's id, or a value of a unique field that the revision must have. */
  id: string | EntryKey;
  choice: Choice;
  query: Pick<OneQuery, "fields" | "expand">;
  /** Reads the revision that was the newest at this time, in milliseconds since the epoch. */
  at?: number | undefined;
  /** Decrypts sensitive values, for owners of the application. Entries of `expand` stay masked. */
  reveal?: boolean;
  /** The earlier revision of the definition whose shape the response has. `query.expand` has fields of the live one. */
  pinned?: PinnedRequest | undefined;
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

async function find(deps: Deps, input: GetInput, id: string): Promise<VisibleEntry | undefined> {
  const { orb, schema, caller, latest } = input.reading;
  if (input.at !== undefined) return findAt(deps, input.reading, id, Math.min(input.at, deps.clock.now()));
  if (latest) {
    const entry = namedEntry(orb.compiled, await loadEntry(deps, orb.orb, id, schema));
    if (entry !== null) deps.sawDefinition?.(entry.head.defRevision);
    if (entry === null || entry.head.status === "DELETED") return undefined;
    const newest = input.reading.newest(entry.head, deps.clock.now());
    if (newest !== undefined) return seenBy(caller, newest);
  }
  const consistency = consistencyFor(caller.actor);
  const [seen] = await readLive(deps, orb.orb, [{ schema, id }], consistency, SMALL_BYTES);
  return seen === undefined ? undefined : input.reading.shown(seen);
}

async function findAt(
  deps: Deps,
  reading: Reading,
  id: string,
  at: number,
): Promise<VisibleEntry | undefined> {
  const { orb, schema, caller } = reading;
  const entry = await loadEntry(deps, orb.orb, id, schema);
  if (entry === null || entry.head.status === "DELETED") return undefined;
  if (!reading.may("readRevisions", entry.head.createdBy)) return undefined;
  const past = await entryAt(deps, entry.address, at);
  if (past === null) return undefined;
  return seenBy(caller, newestRevision(schema, entry.address, withNames(schema, past.snapshot), at));
}

/**
 * Returns the ETag of a response: the number of the newest revision, and a hash of everything else that the response
 * depends on.
 */
function runtimeTag(newest: number, parts: readonly unknown[]): string {
  return `"${newest}-${fingerprint(JSON.stringify(parts))}"`;
}

function choiceKey(choice: Choice): unknown[] {
  const { richText, allLocales, languages, markets, fallback } = choice;
  const form = richText === undefined ? [] : [richText.name];
  return allLocales ? ["*", ...form] : [languages, markets, fallback, ...form];
}

function variantOf(
  orb: OrbContext,
  schema: CompiledSchema,
  entry: RuntimeEntry,
  choice: Choice,
  { fields, pinned }: { fields?: ReadonlySet<string> | undefined; pinned?: PinnedRequest | undefined },
): unknown[] {
  return [
    orb.revision,
    entry.revision,
    entry.status,
    choiceKey(choice),
    fields === undefined ? null : [...fields].sort(),
    // Callers with different roles see different fields, so their ETags must differ.
    ...viewKey(schema),
    // The shapes of two revisions of the definition may have the same fields.
    ...(pinned?.orb.since === undefined ? [] : [{ definition: pinned.revision }]),
  ];
}

/**
 * Returns the response to a write. If the caller may delete entries but not read drafts, the response contains no
 * values, except for an entry that the caller has just created.
 */
export function presentWritten(
  caller: Principal,
  orb: OrbContext,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
  choice: Choice,
  pinned?: PinnedRequest,
): GetResult {
  const languages = new Set<string>();
  const { createdBy, operation } = snapshot;
  const { access } = schema;
  const shows = operation === "create" || mayWith(caller, "readDraft", { access, createdBy });
  const own = seenBy(caller, {
    schema,
    address: addressOf(schema, snapshot.id),
    head: snapshot,
    shown: shows ? maskedRevision(schema, snapshot) : { ...snapshot, values: {} },
    newest: snapshot.revision,
  });
  const seen = pinned?.seen(own) ?? own;
  const entry = presentEntry(seen, { choice }, languages);
  const etag = runtimeTag(snapshot.revision, variantOf(orb, seen.schema, entry, choice, { pinned }));
  return { entry, etag, languages: [...languages] };
}

/** Reads the published revision of an entry. If the caller may not read the entry, throws 404. */
export function getEntry(deps: Deps, input: GetInput): Promise<GetResult> {
  if (input.query.expand.length === 0) return getOnce(deps, input);
  return readTogether(deps, input.reading.orb, (whole) => getOnce(whole, input));
}

async function getOnce(deps: Deps, input: GetInput): Promise<GetResult> {
  const { query, choice } = input;
  const { orb, schema, caller } = input.reading;
  const consistency = consistencyFor(caller.actor);
  const missing = () => notFound("entry", "There is no such entry, or it is not live.");
  const key = typeof input.id === "string" ? undefined : input.id;
  const id = key === undefined ? input.id : await ownerOf(deps, schema, key, consistency);
  if (typeof id !== "string" || !isEntryId(id)) throw missing();
  const found = await find(deps, input, id);
  // The entry may have the key in its draft only, or in its published revision only.
  if (found === undefined || (key !== undefined && !holdsKey(key, found.shown.values))) throw missing();
  const own = input.reveal === true ? await revealEntry(deps, input.reading, found, input.at) : found;
  const seen = input.pinned?.seen(own) ?? own;
  const languages = new Set<string>();
  const entry = presentEntry(seen, { choice, fields: query.fields }, languages);
  const { pinned } = input;
  const variant = variantOf(orb, seen.schema, entry, choice, { fields: query.fields, pinned });
  if (query.expand.length > 0) {
    const expansion = {
      fields: query.expand,
      caller: seeing(caller),
      compiled: orb.compiled,
      choice,
      consistency,
      pinned,
    };
    const [expanded] = await expandAll(deps, [own], expansion, languages);
    entry.expand = expanded?.expand ?? {};
    variant.push(
      query.expand.map((field) => field.name),
      expanded?.tags,
    );
  }
  return { entry, etag: runtimeTag(seen.newest, variant), languages: [...languages] };
}
