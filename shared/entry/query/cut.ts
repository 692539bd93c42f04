/** Builds a page: the entries that fit, and a cursor for the next page. */
import type { CompiledField } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { open, seal } from "../../kernel/seal.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { type Position, readCursor, refusedCursor, writeCursor } from "../model/index.ts";
import type { GroupResult } from "./aggregate.ts";
import type { Explanation } from "./candidates.ts";
import type { Collection, Match } from "./matching.ts";
import {
  type Condition,
  conditionsIn,
  isGroup,
  isLacking,
  isRelated,
  isSearch,
  type Related,
  type Subject,
  searchOf,
  type Where,
} from "./parameters.ts";
import type { ListQuery } from "./query.ts";

export interface ListPage<T> {
  items: T[];
  nextCursor: string | null;
  total?: number;
  /** False if the request could not count all entries of the list. `total` is then a lower bound. */
  totalExact?: false;
  /**
   * Number of entries that were read for this page and that the caller may see. Present only if the page ended early.
   */
  read?: { entries: number };
  explain?: Explanation;
  /** Results of an aggregation. They are final if `complete` is set. */
  groups?: GroupResult[];
  complete?: boolean;
}

function signed(where: Where): unknown[] {
  if (isGroup(where)) return [where.join, where.of.map(signed)];
  if (isSearch(where)) return ["search", where.words, where.fields.map(({ name }) => name)];
  if (isLacking(where)) return ["missing", where.lacks, where.fields.map(({ name }) => name)];
  if (isRelated(where)) return [where.via.name, signed(where.condition)];
  return [where.subject.name, where.operator, where.values];
}

function aggregated({ aggregation }: ListQuery): unknown[] {
  if (aggregation === undefined) return [];
  const { aggregates, group } = aggregation;
  const named = aggregates.map(({ name, operation, subject }) => [name, operation, subject?.name ?? null]);
  return [named, group.map(({ name }) => name)];
}

/** Returns a string with everything that a cursor depends on, such as filters and sort order. */
export function signatureOf(list: Collection<unknown>, query: ListQuery): string {
  const sort = query.sort.map(({ subject, descending }) => [subject.name, descending]);
  const { aggregates = [], group = [] } = query.aggregation ?? {};
  const searched = searchOf(query.conditions)?.fields ?? [];
  const fieldIn = (subject: Subject | undefined) => (subject?.kind === "field" ? [subject.field] : []);
  const fieldsIn = (one: Condition | Related): CompiledField[] =>
    isRelated(one) ? [one.via, ...fieldsIn(one.condition)] : fieldIn(one.subject);
  const compared = conditionsIn(query.conditions).flatMap(fieldsIn);
  const others = [...query.sort, ...aggregates].map(({ subject }) => subject);
  const localized = [...compared, ...searched, ...[...others, ...group].flatMap(fieldIn)].some(
    ({ translatable, marketSpecific }) => translatable || marketSpecific,
  );
  return JSON.stringify([
    list.orb,
    list.scope,
    query.conditions.map(signed),
    // Cursors of version 0.2.0 do not tell a list in the order of a search from a sorted one.
    searched.length > 0 ? [sort, "ranked"] : sort,
    ...aggregated(query),
    localized ? [list.choice.languages, list.choice.markets] : null,
  ]);
}

export function fitting<T>(list: Collection<T>, limit: number, found: readonly Match<T>[]): number {
  let bytes = 0;
  for (const [at, { item }] of found.entries()) {
    bytes += list.bytes(item);
    if (at === limit || (at > 0 && bytes > READ_BYTES)) return at;
  }
  return found.length;
}

/** Builds a page from the matches. If more matches were found than fit, adds the cursor of the next page. */
export function cut<T, F extends Match<T>>(
  list: Collection<T>,
  found: readonly F[],
  limit: number,
  position: (last: F) => Position,
  signed: string,
): ListPage<T> {
  const items = found.slice(0, fitting(list, limit, found));
  const last = items.at(-1);
  const more = found.length > items.length && last !== undefined;
  return {
    items: items.map(({ item }) => item),
    nextCursor: more ? writeCursor(position(last), signed) : null,
  };
}

/**
 * If the caller may not see the entry at a cursor position, encrypts its id and values. Clients can decode a cursor, so
 * it must not contain them in plaintext.
 */
export async function hiddenPosition(
  { config }: Pick<Deps, "config">,
  position: Position,
  isShown: boolean,
): Promise<Position> {
  if (isShown || position.id === "") return position;
  const { id, keys } = position;
  return {
    ...position,
    id: await seal(config.encryptionKeys, JSON.stringify([id, ...keys]), CURSOR),
    keys: [],
  };
}

/**
 * Returns a page that ended early, because the request has reached its read limit. Its cursor contains the position of
 * the last entry that was read. If the caller may not see that entry, the position is encrypted.
 */
export async function endedEarly<T>(
  { config }: Pick<Deps, "config">,
  { tally }: Collection<T>,
  found: readonly Match<T>[],
  last: Position,
  signed: string,
): Promise<ListPage<T>> {
  const isShown = found.some(({ place }) => place.id === last.id);
  const nextCursor = writeCursor(await hiddenPosition({ config }, last, isShown), signed);
  return { items: found.map(({ item }) => item), nextCursor, read: { entries: tally.visible } };
}

const CURSOR = "cursor";
/** Matches encrypted ids. They begin with `ey`, while plain entry ids begin with a digit. */
const SEALED = /^ey/;

export async function positionIn(
  deps: Pick<Deps, "config">,
  cursor: string,
  signed: string,
): Promise<Position> {
  const position = readCursor(cursor, signed);
  if (!SEALED.test(position.id)) return position;
  const sealed = await open(deps.config.encryptionKeys, position.id, CURSOR);
  if (sealed === null) throw refusedCursor();
  const [id, ...keys] = JSON.parse(sealed) as [string, ...Position["keys"]];
  // Outside the encrypted text, `keys` may contain the intermediate results of an aggregation. Keep them.
  return { ...position, id, keys: keys.length > 0 ? keys : position.keys };
}
