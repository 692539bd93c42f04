/** Mappings. A mapping gives a stream of the broker a public name, under which clients can read it. */
import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { type Fault, invalid, notFound } from "../../kernel/errors.ts";
import { BUCKET_BYTES } from "../../store/budget.ts";
import { buckets, isToken, MODULE_TOKENS, orbOf, streams, token } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";

export interface MappingInput {
  stream: string;
  /** The subjects of the stream whose messages clients get. `{userID}` stands for the caller's id. */
  subjectFilter: string;
  description: string;
  /** `public` also admits readers without a session. If missing: `user`. */
  read?: "public" | "user" | undefined;
}

export interface Mapping extends MappingInput {
  name: string;
  read: "public" | "user";
}

const USER_ID = "{userID}";

const MODULE_FILTERS: readonly string[] = [...MODULE_TOKENS, "*"];
const STREAM_NAME = /^[^\s.*>/\\]{1,255}$/;
const LITERAL = /^[^\s.*>{}]{1,255}$/;

/** Returns whether a stream is internal, such as accounts or the audit log. Clients must never get such streams. */
function isPrivate(stream: string): boolean {
  return (
    stream.startsWith(streams.kv("")) ||
    stream.startsWith("OBJ_") ||
    stream.startsWith("$") ||
    stream === streams.platform ||
    stream === streams.limits ||
    stream === streams.hooks ||
    stream === streams.quotas ||
    stream === streams.longQuotas ||
    stream === streams.usage
  );
}

function filterFaults(stream: string, filter: string): Fault[] {
  const fault = (code: string, message: string): Fault[] => [{ path: "/subjectFilter", code, message }];
  const tokens = filter.split(".");
  const last = tokens.length - 1;
  const sound = tokens.every(
    (part, i) => part === "*" || (part === ">" && i === last) || part === USER_ID || LITERAL.test(part),
  );
  if (!sound || filter.length > 1024)
    return fault(
      "invalid_filter",
      `must be a subject filter with ${USER_ID} only as a whole token, for instance orders.${USER_ID}.>`,
    );
  if (filter.startsWith("$") || filter.startsWith("_"))
    return fault(
      "private_subjects",
      "must not begin with $ or _: those subjects belong to the broker and the platform",
    );
  const orb = orbOf(stream);
  if (orb === undefined) return [];
  const [first = "", type = "", role = ""] = tokens;
  if (first !== orb || !MODULE_FILTERS.includes(type) || role !== "public" || tokens.length < 4) {
    return fault(
      "private_subjects",
      `may cover only the public subjects of an orb's stream. Begin with ${orb}.*.public.`,
    );
  }
  return [];
}

export function mappingFaults(input: MappingInput): Fault[] {
  const faults: Fault[] = [];
  if (!STREAM_NAME.test(input.stream))
    faults.push({
      path: "/stream",
      code: "invalid_stream",
      message: "must be the name of a broker stream, without dots, wildcards, slashes or spaces",
    });
  else if (isPrivate(input.stream))
    faults.push({
      path: "/stream",
      code: "private_stream",
      message: "must not be an internal stream of the platform. Choose another stream.",
    });
  return [...faults, ...filterFaults(input.stream, input.subjectFilter)];
}

/** Replaces `{userID}` in a filter by the caller's id. An id with a wildcard would expose messages of other users. */
export function filterFor(mapping: MappingInput, userId: string): string {
  if (!mapping.subjectFilter.includes(USER_ID)) return mapping.subjectFilter;
  if (!isToken(userId)) throw notFound("stream");
  return mapping.subjectFilter
    .split(".")
    .map((part) => (part === USER_ID ? userId : part))
    .join(".");
}

/**
 * Returns the errors of a mapping that anonymous readers may use. Its stream must belong to an application, because
 * only such a stream can be limited to public data. Its filter cannot contain `{userID}`, because anonymous readers
 * have no id.
 */
function readFaults({ read: readers, stream, subjectFilter }: MappingInput): Fault[] {
  if (readers !== "public" || (orbOf(stream) !== undefined && !subjectFilter.includes(USER_ID))) return [];
  const message = `must be user. Only an orb's own stream, with a filter without ${USER_ID}, can be public.`;
  return [{ path: "/read", code: "not_public", message }];
}

interface Stored extends MappingInput {
  v: 1;
}

const read = (name: string, stored: Stored): Mapping => ({
  name,
  stream: stored.stream,
  subjectFilter: stored.subjectFilter,
  description: stored.description,
  read: stored.read ?? "user",
});

export function isOfOrb(mapping: MappingInput, orb: string): boolean {
  return mapping.stream === streams.orb(orb);
}

/** Returns the mapping with this public name, or throws 404. */
export async function getMapping(store: Store, name: string): Promise<Mapping> {
  const entry = await store.kvGet(buckets.streamMappings, token(name, "stream"));
  if (entry === null) throw notFound("stream");
  return read(name, entry.json<Stored>());
}

export async function listMappings(store: Store): Promise<Mapping[]> {
  const entries = await store.kvList(buckets.streamMappings, ">", { maxBytes: BUCKET_BYTES });
  return entries
    .map((entry) => read(entry.key, entry.json<Stored>()))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Gives a stream a public name, or moves a name to another stream. Responses that have already begun use the old
 * stream for up to a minute.
 * @returns `created` is true if the name is new
 */
export async function putMapping(
  deps: Deps,
  actor: Actor,
  name: string,
  input: MappingInput,
): Promise<{ mapping: Mapping; created: boolean }> {
  requireOperator(actor, "streams.write");
  const faults = [...mappingFaults(input), ...readFaults(input)];
  if (faults.length > 0) throw invalid(faults);
  const key = token(name, "stream");
  const known = await deps.store.kvGet(buckets.streamMappings, key);
  const { stream, subjectFilter, description, read: readers = "user" } = input;
  const stored: Stored = { v: 1, stream, subjectFilter, description, read: readers };
  await deps.store.kvPut(buckets.streamMappings, key, JSON.stringify(stored));
  const created = known === null;
  const opened = readers === "public" ? ", public" : "";
  await note(deps, actor, name, `${created ? "created" : "replaced"} ${stream} ${subjectFilter}${opened}`);
  return { mapping: read(name, stored), created };
}

export async function deleteMapping(deps: Deps, actor: Actor, name: string): Promise<void> {
  requireOperator(actor, "streams.write");
  const { stream, subjectFilter } = await getMapping(deps.store, name);
  await deps.store.kvDelete(buckets.streamMappings, name);
  await note(deps, actor, name, `removed ${stream} ${subjectFilter}`);
}

/** Adds a change of a mapping to the audit log, because mappings decide which messages of a stream users can read. */
function note(deps: Deps, actor: Actor, target: string, detail: string): Promise<void> {
  return audit(deps, { realm: "platform", action: "stream", actor, target, detail });
}
