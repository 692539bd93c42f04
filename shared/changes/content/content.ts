/** The list of what a change set contains: one message, which every write into the set replaces. */

import { homeKey } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { sha256 } from "../../kernel/ids.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { ReadSemaphore } from "../../store/read-semaphore.ts";
import {
  type EntryAddress,
  type ModuleToken,
  parsedHome,
  type SchemaToken,
  streams,
  subjects,
} from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import type { DefinitionItem } from "../definition/index.ts";
import type { SetContent } from "../record/index.ts";

/** What the publication of a set does with an entry. `publish` also creates an entry, or restores an archived one. */
export type VersionAct = "publish" | "unpublish" | "archive" | "restore" | "delete";

/** The state of an entry just before a publication. */
export interface Before {
  status: "SAVED" | "PUBLISHED" | "UNPUBLISHED" | "ARCHIVED";
  /** The live revision, or the newest one if none was live, and the sequence number of its message. */
  revision: number;
  seq: number;
}

/** An entry of a set. */
export interface Item {
  type: ModuleToken;
  schema: SchemaToken;
  id: string;
  act: VersionAct;
  /** Set if the set creates the entry. */
  creates?: true;
  /** Number of the pending version within the set. */
  revision: number;
  /** Hash of the pending version. */
  hash: string;
  /** Bytes of the pending version. */
  bytes: number;
  /** Set by the publication: the revision that it wrote, and what was there before; null for a new entry. */
  done?: { revision: number; before: Before | null };
}

export interface Content {
  v: 1;
  items: readonly Item[];
  /** Ids of the accounts that wrote into the set. */
  authors: readonly string[];
  /**
   * The highest number of the versions that have left the set. New versions get higher numbers, so that `If-Match` never
   * takes another version of an entry for the one that the client has seen.
   */
  last?: number;
  /**
   * Ids of the entries that a set takes back, if it takes others back, also those for which it had no room. Where they are
   * not in the set at its publication, they can be taken back later.
   */
  takes?: readonly string[];
  /** The definition of the orb that the set proposes. */
  definition?: DefinitionItem;
  /**
   * Set if a definition was taken out: how far the number that stands for the live definition in the set is ahead of its
   * revision. So no number of a version is used again.
   */
  ahead?: number;
}

/** The content of a set, and the sequence number of its message: 0 if nothing was written into the set yet. */
export interface ReadContent {
  content: Content;
  seq: number;
}

export const EMPTY: Content = { v: 1, items: [], authors: [] };

/** Maximum entries of a set. */
export const MOST_ENTRIES = 1_000;
/** Maximum bytes of all pending versions of a set. */
export const MOST_BYTES = 100 * 1024 * 1024;
/** Maximum bytes of pending versions that one request reads to show a set. */
export const SHOWN_BYTES = 32 * 1024 * 1024;

/** Limits the versions of all sets that this process publishes or takes back at once: it holds them several times. */
const room = new ReadSemaphore(2 * MOST_BYTES, 30_000);

const bytesOf = (items: readonly Item[]) => items.reduce((sum, { bytes }) => sum + bytes, 0);

/** Returns whether this host has too little memory to publish entries. */
export function isTooLargeHere({ config }: Pick<Deps, "config">, { items }: Pick<Content, "items">): boolean {
  return bytesOf(items) > (config.publishBytes ?? MOST_BYTES);
}

/**
 * Publishes or takes back entries when this process has the memory for their versions.
 * @throws AppError unavailable `reads_busy` if others take it for too long
 */
export function withRoom<T>(items: readonly Item[], work: () => Promise<T>): Promise<T> {
  return room.enter(bytesOf(items), work);
}

export function parseContent(message: StoredMessage | null | undefined): ReadContent {
  if (message === null || message === undefined) return { content: EMPTY, seq: 0 };
  return { content: message.json<Content>(), seq: message.seq };
}

/** Reads the content of a set from the leader. */
export async function readContent(
  { store }: Pick<Deps, "store">,
  orb: string,
  set: string,
): Promise<ReadContent> {
  return parseContent(await nullIfMissing(store.get(streams.orb(orb), subjects.changeContent(orb, set))));
}

/** Returns the message that replaces the content of a set, if it still is the message `seq`. */
export function contentMessage(orb: string, set: string, content: Content, seq: number): Append {
  return {
    subject: subjects.changeContent(orb, set),
    data: JSON.stringify(content),
    rollup: true,
    expect: { seq },
  };
}

/** Returns the content of a published set. @param revisions the revisions that the publication writes, by entry */
export function finished(
  content: Content,
  revisions: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, Before | null>,
): Content {
  const items = content.items.map((item): Item => {
    const revision = revisions.get(item.id);
    return revision === undefined
      ? item
      : { ...item, done: { revision, before: before.get(item.id) ?? null } };
  });
  return { ...content, items };
}

export function addressOfItem(orb: string, { type, schema, id }: Item): EntryAddress {
  return { orb, ...parsedHome(type, schema), id };
}

/** Returns a hash of all that a set proposes. Two sets with the same versions have the same hash. */
export function contentHash({ items, definition }: Content): Promise<string> {
  const parts = items.map(({ type, schema, id, act, hash }) => [type, schema, id, act, hash]);
  const sorted = parts.sort(([, , a = ""], [, , b = ""]) => (a < b ? -1 : 1));
  return sha256(JSON.stringify(definition === undefined ? sorted : [...sorted, definition.hash]));
}

/** Returns what a review needs to know of the content of a set. */
export async function contentOf(
  deps: Pick<Deps, "store">,
  context: OrbContext,
  set: string,
): Promise<SetContent> {
  const { content, seq } = await readContent(deps, context.orb, set);
  return { ...(await summaryOf(context, content)), seq };
}

const definitionOf = ({ revision, base, force }: DefinitionItem) => ({
  revision,
  base,
  force: force === true,
});

export async function summaryOf({ compiled }: OrbContext, content: Content): Promise<SetContent> {
  const found = content.items.map((item) => compiled.byHome.get(homeKey(item)));
  const schemas = new Map(
    found.flatMap((schema) => (schema === undefined ? [] : [[schema, schema] as const])),
  );
  return {
    hash: await contentHash(content),
    entries: content.items.length,
    schemas: [...schemas.keys()].map(({ module, id }) => ({ module, schema: id })),
    authors: content.authors,
    definition: content.definition === undefined ? undefined : definitionOf(content.definition),
  };
}
