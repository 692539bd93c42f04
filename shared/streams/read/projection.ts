/**
 * Decides which messages of an orb's stream are delivered, and in which form, by the live definition and the entry's
 * head. Pure. Every reading mode goes through {@link project}, which withholds each message that no rule allows.
 * Stored messages are not rewritten when a definition changes, because one change may affect many entries.
 */
import { may } from "../../access/authorize.ts";
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { type Choice, presentValues } from "../../entry/model/localize.ts";
import { maskValues } from "../../entry/model/masking.ts";
import { addressIn, schemaOf } from "../../entry/model/resolve.ts";
import { type EntrySnapshot, type LiveCopy, type Tombstone, viewWith } from "../../entry/model/snapshot.ts";
import { isObject } from "../../kernel/json.ts";
import { type EntryAddress, isToken, MODULE_TOKENS } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

/**
 * The role of all readers. Mappings expose only public subjects. The readers of a filter share its pages and its tail,
 * so an account's own role must not add anything.
 */
const READER = "public";

/** A live copy or a tombstone on a public subject of an orb's stream. */
export interface PublicMessage {
  message: StoredMessage;
  address: EntryAddress;
  body: LiveCopy | Tombstone;
}

/** A live copy, which holds an entry's values. */
export type PublicCopy = PublicMessage & { body: LiveCopy };

/** The members of a head that decide about delivery. */
export type HeadState = Pick<EntrySnapshot, "status" | "revision" | "publishedRevision" | "liveTo">;

/** A message as delivered to readers. */
export interface DeliveredCopy {
  event: Record<string, unknown>;
  /** When the entry's validity window closes, after which it must not be delivered, in milliseconds since the epoch. */
  until: number | undefined;
}

const types: readonly string[] = MODULE_TOKENS;

/** Parses a message. Returns undefined if no definition can make it deliverable. */
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

/** Whether a message holds an entry's values. If so, its delivery depends on the entry's head. */
export function isCopy(read: PublicMessage): read is PublicCopy {
  return !("tombstone" in read.body);
}

/**
 * Compares a live copy with its entry's head. `unread` means that the head is older than the write that made the copy.
 * `invitationRevoked` is final, because each publication has its own revision.
 */
export function copyState(copy: LiveCopy, head: HeadState | undefined): "live" | "withdrawn" | "unread" {
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
): DeliveredCopy | undefined {
  // Deliver tombstones even if the schema is gone or now restricted: they hold no values, and readers that have the
  // entry need them.
  const { body } = read;
  if ("tombstone" in body) return { event: tombstoneEvent(body), until: undefined };
  const schema = schemaOf(definition, read.address);
  if (schema === undefined || !may(READER, "read", { access: schema.access, own: false })) return undefined;
  if (head === undefined || copyState(body, head) !== "live") return undefined;
  const until = head.liveTo === null ? undefined : Date.parse(head.liveTo);
  // Do not check `validFrom`: the broker opened the window, and a slow clock here would lose the message for good.
  if (until !== undefined && until <= now) return undefined;
  return { event: copyEvent(body, schema), until };
}

function tombstoneEvent({ v, id, orb, module, schema, revision, at }: Tombstone): Record<string, unknown> {
  return { v, id, orb, module, schema, tombstone: true, revision, at };
}

function copyEvent(copy: LiveCopy, schema: CompiledSchema): Record<string, unknown> {
  const view = viewWith(copy, shownValues(schema, copy.values));
  return { v: copy.v, ...view, module: schema.module, schema: schema.id };
}

/** A stream has no language and no market, so maps are delivered whole. */
const WHOLE: Choice = { languages: [], markets: [], allLocales: true, negotiated: false };

function shownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return maskValues(presentValues(schema, stored, { choice: WHOLE }, new Set()), schema);
}
