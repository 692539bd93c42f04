/**
 * Decides which messages of an orb readers get, and in which form. Everything that no rule allows is left out.
 *
 * Stored messages are not rewritten when a definition changes, because one change may affect many entries. So the
 * published definition decides at delivery.
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

/** All readers of a filter share its messages, so a reader's own role must not reveal more. */
const READER = "public";

/** The published copy of an entry, or the mark of its deletion. */
export interface PublicMessage {
  message: StoredMessage;
  address: EntryAddress;
  body: LiveCopy | Tombstone;
}

export type PublicCopy = PublicMessage & { body: LiveCopy };

/** The members of an entry's newest revision that decide about delivery. */
export type HeadState = Pick<EntrySnapshot, "status" | "revision" | "publishedRevision" | "liveTo">;

export interface DeliveredCopy {
  event: Record<string, unknown>;
  /** When the entry expires and must no longer be delivered, in milliseconds since the epoch. */
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

export function isCopy(read: PublicMessage): read is PublicCopy {
  return !("tombstone" in read.body);
}

/**
 * Compares a published copy with its entry. `unread` means that the entry's newest revision is missing here.
 * `withdrawn` is final, because a later publication has a new revision number.
 */
export function copyState(copy: LiveCopy, head: HeadState | undefined): "live" | "withdrawn" | "unread" {
  if (head === undefined || head.revision < copy.revision) return "unread";
  return head.status === "PUBLISHED" && head.publishedRevision === copy.revision ? "live" : "withdrawn";
}

/**
 * @returns what readers get, or undefined if they must not get the message
 * @param now milliseconds since the epoch
 */
export function project(
  read: PublicMessage,
  definition: CompiledOrb,
  head: HeadState | undefined,
  now: number,
): DeliveredCopy | undefined {
  // Always deliver deletions: they contain no values, and readers who have the entry need them.
  const { body } = read;
  if ("tombstone" in body) return { event: tombstoneEvent(body), until: undefined };
  const schema = schemaOf(definition, read.address);
  if (schema === undefined || !may(READER, "read", { access: schema.access, own: false })) return undefined;
  if (head === undefined || copyState(body, head) !== "live") return undefined;
  const until = head.liveTo === null ? undefined : Date.parse(head.liveTo);
  // The broker publishes at `validFrom`. Do not check the time here: a slow clock would lose the message for good.
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

/** Readers choose no language, so they get all translations. */
const WHOLE: Choice = { languages: [], markets: [], allLocales: true, negotiated: false };

function shownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return maskValues(presentValues(schema, stored, { choice: WHOLE }, new Set()), schema);
}
