/**
 * Decides which messages of an application clients get, and in which form. The published definition's rules are applied
 * at delivery. So a change of the rules needs no change of stored messages, of which there may be many.
 */

import { may, PUBLIC } from "../../access/authorize.ts";
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import {
  addressIn,
  type Choice,
  type EntrySnapshot,
  type LiveCopy,
  maskValues,
  ofFields,
  presentValues,
  readableBy,
  type StoredCopy,
  schemaOf,
  type Tombstone,
  viewWith,
  withNames,
} from "../../entry/model/index.ts";
import { isObject } from "../../kernel/json.ts";
import { type EntryAddress, isToken, MODULE_TOKENS } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

/**
 * The role that decides what clients get. All clients with the same filter share the same messages, so their own
 * roles do not matter.
 */
const READER = "public";

/** A message with the published copy of an entry, or one that reports its deletion. */
export interface PublicMessage {
  message: StoredMessage;
  address: EntryAddress;
  body: StoredCopy | Tombstone;
}

export type PublicCopy = PublicMessage & { body: StoredCopy };

/** The properties of an entry's newest revision that decide whether clients receive its published copy. */
export type HeadState = Pick<EntrySnapshot, "status" | "revision" | "publishedRevision" | "liveTo">;

export interface DeliveredCopy {
  event: Record<string, unknown>;
  /** Time at which the entry expires, in milliseconds since the epoch. Do not deliver the copy after this time. */
  until: number | undefined;
}

const types: readonly string[] = MODULE_TOKENS;

export function publicMessage(orb: string, message: StoredMessage): PublicMessage | undefined {
  const tokens = message.subject.split(".");
  const [first, type = "", role, schema = "", id = ""] = tokens;
  if (tokens.length !== 5 || first !== orb || role !== READER || !types.includes(type)) return undefined;
  if (!isToken(schema) || !isToken(id)) return undefined;
  const address = addressIn(message.subject);
  const body = bodyOf(message);
  if (body === undefined || body.id !== address.id || !Number.isSafeInteger(body.revision)) return undefined;
  if (body.tombstone !== true && !isObject(body.values)) return undefined;
  return { message, address, body: body as unknown as StoredCopy | Tombstone };
}

function bodyOf(message: StoredMessage): Record<string, unknown> | undefined {
  if (message.size === 0) return undefined;
  try {
    const body = message.json<unknown>();
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

export function isCopy(read: PublicMessage): read is PublicCopy {
  return !("tombstone" in read.body);
}

/**
 * Returns whether the published copy of an entry is still current. `unread` means that this process has not read the
 * newest revision yet. `withdrawn` never becomes `live` again, because a later publication has a new revision number.
 */
export function copyState(
  copy: Pick<StoredCopy, "revision">,
  head: HeadState | undefined,
): "live" | "withdrawn" | "unread" {
  if (head === undefined || head.revision < copy.revision) return "unread";
  return head.status === "PUBLISHED" && head.publishedRevision === copy.revision ? "live" : "withdrawn";
}

/**
 * Returns the part of a message that clients get, or undefined if they must not get the message.
 * @param now milliseconds since the epoch
 */
export function project(
  read: PublicMessage,
  definition: CompiledOrb,
  head: HeadState | undefined,
  now: number,
): DeliveredCopy | undefined {
  // Deliver every deletion. It contains no values, and clients that have the entry must learn of it.
  const { body } = read;
  const schema = schemaOf(definition, read.address);
  if ("tombstone" in body) return { event: tombstoneEvent(body, schema), until: undefined };
  if (schema === undefined || !may(PUBLIC, "read", { access: schema.access, own: false })) return undefined;
  if (head === undefined || copyState(body, head) !== "live") return undefined;
  const until = head.liveTo === null ? undefined : Date.parse(head.liveTo);
  // Do not check `validFrom` here. The broker published the copy at that time, and a slow clock of this host would drop
  // it.
  if (until !== undefined && until <= now) return undefined;
  return { event: copyEvent(withNames(schema, body), readableBy(schema, PUBLIC, false)), until };
}

function tombstoneEvent(stored: Tombstone, definition: CompiledSchema | undefined): Record<string, unknown> {
  const { v, id, orb, module, revision, at, change } = stored;
  const schema = definition?.id ?? stored.schema;
  const by = change === undefined ? {} : { change };
  return { v, id, orb, module, schema, tombstone: true, revision, at, ...by };
}

function copyEvent(copy: LiveCopy, schema: CompiledSchema): Record<string, unknown> {
  const named = { module: schema.module, schema: schema.id };
  const values = schema.omitted.length === 0 ? copy.values : ofFields(schema, copy.values);
  const { v, change } = copy;
  return {
    v,
    ...(change === undefined ? {} : { change }),
    ...viewWith(copy, shownValues(schema, values), named),
  };
}

/** Clients of a stream cannot choose a language, so they get all translations. */
const WHOLE: Choice = { languages: [], markets: [], allLocales: true, negotiated: false };

/** @param schema the schema, reduced to the fields that everyone may read */
function shownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return maskValues(presentValues(schema, stored, { choice: WHOLE }, new Set()), schema);
}
