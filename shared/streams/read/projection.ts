/**
 * Decides which messages of an orb's stream are delivered, and in which form: by the live definition and the entry's
 * head. Pure. Every mode of reading goes through {@link project}, which withholds each message that no rule allows.
 *
 * Stored messages are not rewritten, because one act changes a definition and its entries may be many.
 */
import { may } from "../../access/authorize.ts";
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import type { Choice } from "../../entry/model/localize.ts";
import { maskValues } from "../../entry/model/masking.ts";
import { addressIn, schemaOf } from "../../entry/model/resolve.ts";
import type { EntrySnapshot, LiveCopy, Tombstone } from "../../entry/model/snapshot.ts";
import { presentValues } from "../../entry/read/present.ts";
import { isObject } from "../../kernel/json.ts";
import { type EntryAddress, isToken, MODULE_TOKENS } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

/**
 * The role that all readers count as. Mappings open only public subjects, and the readers of a filter share its pages
 * and its live end, so an account's own role must not add anything.
 */
const READER = "public";

/** A live copy or a tombstone on a public subject of an orb's stream. */
export interface PublicMessage {
  message: StoredMessage;
  address: EntryAddress;
  body: LiveCopy | Tombstone;
}

/** A message that holds an entry's values. */
export type PublicCopy = PublicMessage & { body: LiveCopy };

/** The members of a head that decide. */
export type HeadState = Pick<EntrySnapshot, "status" | "revision" | "publishedRevision" | "liveTo">;

/** A message in the form that readers get. */
export interface Shown {
  event: Record<string, unknown>;
  /** When the entry's window closes, after which it must not be delivered; milliseconds since the epoch. */
  until: number | undefined;
}

const types: readonly string[] = MODULE_TOKENS;

/** Parses a message; undefined for one that no definition can make deliverable. */
export function publicMessage(orb: string, message: StoredMessage): PublicMessage | undefined {
  const tokens = message.subject.split(".");
  const [first, type = "", role, schema = "", id = ""] = tokens;
  if (tokens.length !== 5 || first !== orb || role !== READER || !types.includes(type)) return undefined;
  if (!isToken(schema) || !isToken(id)) return undefined;
  const address = addressIn(message.subject);
  const body = bodyOf(message);
  if (body === undefined || body.id !== address.id || !Number.isSafeInteger(body.revision)) return undefined;
  if (body.tombstone !== true && !isObject(body.values)) return undefined;
  return { message, address, body: body as unknown as LiveCopy | Tombstone };
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

/** Whether a message holds an entry's values, so that it needs the entry's head. */
export function isCopy(read: PublicMessage): read is PublicCopy {
  return !("tombstone" in read.body);
}

/**
 * Judges a live copy by its entry's head. `unread`: the head is older than the write that made the copy. `withdrawn` is
 * final, because each publication has a revision of its own.
 */
export function standing(copy: LiveCopy, head: HeadState | undefined): "live" | "withdrawn" | "unread" {
  if (head === undefined || head.revision < copy.revision) return "unread";
  return head.status === "PUBLISHED" && head.publishedRevision === copy.revision ? "live" : "withdrawn";
}

/**
 * Returns the form in which a message is delivered; undefined when it is not.
 * @param definition the orb's live definition
 * @param head the newest revision of the message's entry; undefined when there is none
 * @param now milliseconds since the epoch
 */
export function project(
  read: PublicMessage,
  definition: CompiledOrb,
  head: HeadState | undefined,
  now: number,
): Shown | undefined {
  // A tombstone holds no values, and readers that have the entry need it, also when its schema is gone or narrower.
  const { body } = read;
  if ("tombstone" in body) return { event: tombstoneEvent(body), until: undefined };
  const schema = schemaOf(definition, read.address);
  if (schema === undefined || !may(READER, "read", { access: schema.access, own: false })) return undefined;
  if (head === undefined || standing(body, head) !== "live") return undefined;
  const until = head.liveTo === null ? undefined : Date.parse(head.liveTo);
  // `validFrom` does not count: the broker opened the window, and a slow clock here would lose the message for good.
  if (until !== undefined && until <= now) return undefined;
  return { event: copyEvent(body, schema), until };
}

function tombstoneEvent({ v, id, orb, module, schema, revision, at }: Tombstone): Record<string, unknown> {
  return { v, id, orb, module, schema, tombstone: true, revision, at };
}

function copyEvent(copy: LiveCopy, schema: CompiledSchema): Record<string, unknown> {
  return {
    v: copy.v,
    id: copy.id,
    orb: copy.orb,
    module: schema.module,
    schema: schema.id,
    status: copy.status,
    revision: copy.revision,
    publishedRevision: copy.publishedRevision,
    validFrom: copy.validFrom,
    validTo: copy.validTo,
    createdAt: copy.createdAt,
    createdBy: copy.createdBy,
    updatedAt: copy.updatedAt,
    updatedBy: copy.updatedBy,
    values: shownValues(schema, copy.values),
  };
}

/** A stream has no language and no market, so maps are delivered whole. */
const WHOLE: Choice = { languages: [], markets: [], whole: true, negotiated: false };

function shownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return maskValues(presentValues(schema, stored, { choice: WHOLE }, new Set()), schema);
}
