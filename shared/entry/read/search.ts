/**
 * Finds entries of all schemas of an application by their words. Each schema is searched as its lists are: with its index
 * of words, in the rights of the caller, and in the revisions that the caller may read.
 */
import type { Actor } from "../../access/actor.ts";
import { may, type Principal, principalIn, requireMay, requireOperator } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf, leavesWith, type ReadField } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { invalidParameters } from "../../kernel/errors.ts";
import { REQUEST_BYTES, REQUEST_WORK, ReadBudget } from "../../store/budget.ts";
import { countOf, type SnippetPart, snippetOf } from "../../texts/snippets.ts";
import { wordsFor } from "../../texts/words.ts";
import type { ListedEntry } from "../index/index.ts";
import {
  type Choice,
  type EntryView,
  type OrbContext,
  resolveField,
  searchText,
  writeCursor,
} from "../model/index.ts";
import { type Collection, hiddenPosition, positionIn, QUERY_LIMITS } from "../query/index.ts";
import {
  compareFound,
  type FoundEntry,
  type FoundRank,
  type Look,
  looksIn,
  positionOf,
  rankAt,
  readFound,
  titleFieldOf,
} from "./found.ts";
import { visibleCollection } from "./list.ts";
import { managedCollection, type Sized } from "./managed.ts";
import { Reading } from "./reading.ts";
import { readTogether } from "./together.ts";

export const SEARCH_LIMITS = {
  /** Default and maximum number of entries on a page. */
  page: 20,
  mostOnPage: 50,
  /** Maximum number of schemas that one request searches. */
  schemas: 100,
} as const;

/** Schemas that are searched at the same time. */
const AT_ONCE = 8;

/** The form of ids that the platform makes. A word of this form is no word of a language. */
const MADE_ID = /^\d[0-9a-z]{19}$/;

/** An entry that a search found. */
export interface Hit {
  module: string;
  schema: string;
  id: string;
  /** Value of the field that names the entry. Null if it has none, or if the caller may not read it. */
  title: string | null;
  /** The field that contains the most searched words. Null if the search is the id of an entry. */
  field: string | null;
  /** Language of the value of that field, if it is translatable. */
  language?: string;
  /** A piece of that value. */
  snippet: SnippetPart[];
}

export interface HitPage {
  items: Hit[];
  nextCursor: string | null;
  /** False if some schemas have more entries than were compared. */
  complete: boolean;
}

export interface SearchInput {
  orb: OrbContext;
  text: string;
  limit: number;
  cursor: string | undefined;
  /** Finds the entries of one schema. Default: as they are. */
  find?: typeof readFound | undefined;
}

/** What to read of an entry that was found: its values, and the fields of them that the caller may read. */
interface Shown {
  schema: CompiledSchema;
  values: EntryView["values"];
}

interface Source<T> {
  schema: CompiledSchema;
  /** The schema, reduced to the fields that may be compared. */
  comparable: CompiledSchema;
  open: (deps: Deps, budget: ReadBudget) => Collection<T>;
  shown: (item: T) => Shown;
}

interface Found<T> extends FoundEntry<T> {
  source: Source<T>;
  fields: readonly CompiledField[];
  list: Collection<T>;
}

/** A text of an entry, and its language. */
interface Text {
  field: CompiledField;
  text: string;
  language: string | undefined;
}

/** Returns the values of a field. @param choice without it, those in all languages and markets */
function textsOf(field: CompiledField, values: Shown["values"], choice: Choice | undefined): Text[] {
  const read: ReadField = (one, stored) => {
    if (!one.translatable && !one.marketSpecific) return [{ value: stored }];
    if (choice === undefined) return [];
    const { value, language } = resolveField(one, stored, choice);
    return value === null || value === undefined ? [] : [{ value: value as typeof stored, language }];
  };
  const leaves = choice === undefined ? leavesOf(field, values as Values) : leavesWith(read, field, values);
  return leaves.map(({ value, language }) => ({ field, text: searchText(field, value), language }));
}

/** Returns the value of the field that names an entry. */
function titleOf({ schema, values }: Shown, choice: Choice): string | null {
  const field = titleFieldOf(schema.fields);
  if (field === undefined) return null;
  const [first = textsOf(field, values, undefined)[0]] = textsOf(field, values, choice);
  return first === undefined || first.text === "" ? null : first.text;
}

function hitOf<T>({ item, source, fields, list }: Found<T>, words: readonly string[]): Hit {
  const shown = source.shown(item);
  const { id } = list.judged(item);
  const title = titleOf(shown, list.choice);
  const place = { module: source.schema.module, schema: source.schema.id, id, title };
  const texts = fields
    .flatMap((field) => textsOf(field, shown.values, list.localized ? list.choice : undefined))
    .map((one) => ({ ...one, count: countOf(one.text, words) }))
    .filter(({ count }) => count > 0)
    // The title is in the response anyway, so among equal texts another one tells more.
    .sort((a, b) => b.count - a.count || Number(a.text === title) - Number(b.text === title));
  const [best] = texts;
  if (best === undefined) return { ...place, field: null, snippet: [] };
  const { field, text, language } = best;
  return {
    ...place,
    field: field.name,
    ...(language === undefined ? {} : { language }),
    snippet: snippetOf(text, words),
  };
}

/** Reads several sources, a few at a time. */
async function each<S, R>(sources: readonly S[], read: (source: S) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < sources.length; at += AT_ONCE)
    results.push(...(await Promise.all(sources.slice(at, at + AT_ONCE).map(read))));
  return results;
}

/** Returns whether a search has read or compared as much as one list may. */
function isSpent(budgets: readonly ReadBudget[]): boolean {
  const sum = (of: (budget: ReadBudget) => number) => budgets.reduce((all, budget) => all + of(budget), 0);
  return sum(({ spent }) => spent) >= REQUEST_BYTES || sum(({ worked }) => worked) >= REQUEST_WORK;
}

function requireText(text: string): void {
  if ([...text].length <= QUERY_LIMITS.search) return;
  const message = `must have at most ${QUERY_LIMITS.search} characters`;
  throw invalidParameters([{ path: "/q", code: "too_long", message }]);
}

/** @param signed everything that the order of the results depends on */
async function searchSources<T>(
  deps: Deps,
  { text, limit, cursor, find = readFound }: SearchInput,
  all: readonly Source<T>[],
  signed: string,
): Promise<HitPage> {
  const words = wordsFor(text);
  const after = cursor === undefined ? undefined : rankAt(await positionIn(deps, cursor, signed));
  const id = MADE_ID.test(text.trim()) ? text.trim() : undefined;
  if (words.length === 0) return { items: [], nextCursor: null, complete: true };
  const sources = all.slice(0, SEARCH_LIMITS.schemas);
  const budgets: ReadBudget[] = [];
  const looks = sources.flatMap((source): (Look & { source: Source<T> })[] => {
    // An id needs no fields.
    if (id !== undefined) return [{ source, indexed: false, fields: [] }];
    return looksIn(source.comparable).map((look) => ({ ...look, source }));
  });
  // Those with an index read little, so they come before the others have read much.
  looks.sort((a, b) => Number(b.indexed) - Number(a.indexed));
  const read = await each(looks, async ({ source, fields, ...look }) => {
    if (isSpent(budgets)) return { found: [], until: undefined, complete: false };
    // Each list measures its entries, to read no more at once than fit.
    const budget = new ReadBudget();
    budgets.push(budget);
    const list = source.open(deps, budget);
    const page = await find(deps, list, { ...look, search: { words, fields }, id, limit, after });
    return { ...page, found: page.found.map((one) => ({ ...one, source, fields, list })) };
  });
  // Beyond the first rank at which a schema was not read further, its entries are unknown.
  const [until] = read.flatMap((page) => page.until ?? []).sort(compareFound);
  const found = read
    .flatMap((page) => page.found)
    .filter(({ rank }) => until === undefined || compareFound(rank, until) <= 0)
    .sort((a, b) => compareFound(a.rank, b.rank));
  const shown = found.slice(0, limit);
  const next = found.length > limit ? shown.at(-1)?.rank : until;
  return {
    items: shown.map((one) => hitOf(one, words)),
    nextCursor: next === undefined ? null : await cursorAt(deps, next, shown, signed),
    complete: all.length === sources.length && read.every(({ complete }) => complete),
  };
}

/** Clients can decode a cursor, so the id of an entry that the caller may not see is encrypted in it. */
async function cursorAt(
  deps: Deps,
  rank: FoundRank,
  shown: readonly { rank: FoundRank }[],
  signed: string,
): Promise<string> {
  const isShown = shown.some(({ rank: { id } }) => id === rank.id);
  return writeCursor(await hiddenPosition(deps, positionOf(rank), isShown), signed);
}

const signatureOf = ({ orb, text }: SearchInput, ...more: unknown[]) =>
  JSON.stringify(["search", orb.orb, text, ...more]);

/**
 * Searches the entries that the caller may see.
 * @param options.latest whether to search the newest revisions of entries whose drafts the caller may read
 * @throws AppError unauthenticated or forbidden if the caller may read no entry of any schema
 */
export function searchVisible(
  deps: Deps,
  caller: Principal,
  input: SearchInput,
  { latest, choice }: { latest: boolean; choice: Choice },
): Promise<HitPage> {
  requireText(input.text);
  const { orb } = input;
  const schemas = [...orb.compiled.modules.values()]
    .filter(({ routed }) => routed)
    .flatMap((module) => [...module.schemas.values()]);
  const mayIn = ({ access }: CompiledSchema, operation: "read" | "readDraft") =>
    may(caller, operation, { access, own: true });
  const needed = latest ? "readDraft" : "read";
  const [first] = schemas;
  if (first !== undefined && !schemas.some((schema) => mayIn(schema, needed)))
    requireMay(caller, needed, { access: first.access, own: true });
  const sources = schemas
    .filter((schema) => mayIn(schema, "read"))
    .map((schema): Source<ListedEntry> => {
      const reading = Reading.of(caller, orb, schema, latest && mayIn(schema, "readDraft"));
      return {
        schema,
        comparable: reading.comparable,
        open: (some, budget) => ({
          ...visibleCollection(some, budget, { reading, choice }),
          localized: !choice.allLocales,
        }),
        shown: (seen) => ({ schema: seen.schema, values: seen.shown.values }),
      };
    });
  const signed = signatureOf(input, latest, choice.languages, choice.markets, choice.allLocales);
  return readTogether(deps, orb, (whole) => searchSources(whole, input, sources, signed));
}

/** Searches stored entries in their newest revisions, drafts included, for the management API. */
export function searchManaged(deps: Deps, actor: Actor, input: SearchInput): Promise<HitPage> {
  const { orb } = input;
  requireOperator(actor, "entries.read", orb.orb);
  requireText(input.text);
  const caller = principalIn(actor, orb.orb, orb.compiled);
  const sources = [...orb.compiled.byHome.values()].map(
    (schema): Source<Sized> => ({
      schema,
      comparable: schema,
      open: (some, budget) => managedCollection(some, caller, budget, orb, [schema], { status: undefined }),
      shown: ({ view }) => ({ schema, values: view.values }),
    }),
  );
  const signed = signatureOf(input, "managed");
  return readTogether(deps, orb, (whole) => searchSources(whole, input, sources, signed));
}
