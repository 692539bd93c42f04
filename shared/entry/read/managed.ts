import type { Actor } from "../../access/actor.ts";
import { type Principal, principalIn, requireOperator } from "../../access/authorize.ts";
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import {
  type HomeKey,
  homeKey,
  type ReferenceTarget,
  STATUSES,
  type Status,
} from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { type AppError, invalidParameters, notFound } from "../../kernel/errors.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { type ReadBudget, SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { isReferred, readPage } from "../index/index.ts";
import { liveIndexOf } from "../listed/index.ts";
import {
  choose,
  currentView,
  type EntryView,
  effective,
  entryView,
  type OrbContext,
  schemaOf,
  snapshotOf,
  targetSchema,
  withNames,
} from "../model/index.ts";
import type { PinnedItems, PinnedRequest } from "../pinned/index.ts";
import {
  type Collection,
  type ListPage,
  type ListQuery,
  parseListQuery,
  readListPage,
  relatedIn,
  Tally,
} from "../query/index.ts";
import { PastEntries, readMoment } from "./at.ts";
import { expandAll, fewerEntries } from "./expand.ts";
import { targetsFor } from "./targets.ts";
import { readTogether } from "./together.ts";

const LIST_EXTRA = ["module", "schema", "status", "used", "at", "change"];

/** Entries of which a list finds out at the same time whether others refer to them. */
const REFERRED_AT_ONCE = 8;

export interface ManagedList {
  orb: OrbContext;
  /**
   * Query parameters as text. They are parsed later, because the parameter `schema` decides which of them are valid.
   */
  parameters: readonly [string, string][];
  /** Reads the pages. Default: the entries as they are. */
  pages?: typeof readListPage | undefined;
  /** Set if the parameters and the response have the shape of an earlier revision of the definition. */
  pinned?: PinnedItems | undefined;
}

export interface ManagedView extends EntryView {
  expand?: Record<string, unknown>;
}

export type ManagedPage = Omit<ListPage<unknown>, "items"> & { items: ManagedView[] };

function unknown(path: string, known: Iterable<string>): AppError {
  const message = `must be one of: ${[...known].join(", ")}`;
  return invalidParameters([{ path, code: "invalid_value", message }]);
}

function schemasOf(
  compiled: CompiledOrb,
  module: string | undefined,
  schema: string | undefined,
): CompiledSchema[] | undefined {
  if (module === undefined) {
    if (schema === undefined) return undefined;
    const named = [...compiled.byHome.values()].filter(({ id }) => id === schema);
    if (named.length === 0)
      throw unknown("/schema", new Set([...compiled.byHome.values()].map(({ id }) => id)));
    return named;
  }
  const found = compiled.modules.get(module);
  if (found === undefined) throw unknown("/module", compiled.modules.keys());
  if (schema === undefined) return [...found.schemas.values()];
  const one = found.schemas.get(schema);
  if (one === undefined) throw unknown("/schema", found.schemas.keys());
  return [one];
}

/**
 * Returns the schemas that a list of a caller names, who may use an earlier revision. All schemas of that revision if
 * the caller names none.
 * @throws AppError not_found `schema_not_found` if the live definition no longer has the only schema
 */
function liveSchemas(
  { orb, pinned }: ManagedList,
  module: string | undefined,
  schema: string | undefined,
): CompiledSchema[] | undefined {
  if (pinned === undefined) return schemasOf(orb.compiled, module, schema);
  const named = schemasOf(pinned.compiled, module, schema);
  if (named === undefined) return pinned.schemas;
  const found = named.flatMap((one) => pinned.liveOf(one) ?? []);
  if (found.length === 0) throw notFound("schema", "The orb's current definition no longer has this schema.");
  return found;
}

function scopeOf(
  schemas: readonly CompiledSchema[] | undefined,
  status: string | undefined,
  used?: boolean,
): string {
  const of = schemas?.map(({ module, home }) => `${module}/${home.schema}`).join() ?? "";
  return `managed/${of}/${status ?? ""}${used === undefined ? "" : `/used ${used}`}`;
}

function homesOf(schemas: readonly CompiledSchema[]): ReadonlySet<HomeKey> {
  return new Set(schemas.map(({ home }) => homeKey(home)));
}

function notInPast(): AppError {
  const message =
    "must not compare fields of referenced entries together with at, because these are read as they are now";
  return invalidParameters([{ path: "/filter", code: "not_applicable", message }]);
}

export interface Sized {
  view: EntryView;
  bytes: number;
}

/** What entries of a list must be like, besides its conditions. */
interface Standing {
  status: string | undefined;
  /** Whether other entries of the application refer to an entry. */
  used?: boolean | undefined;
}

/** Returns the entries to which others refer, or those to which none does. The others become undefined. */
async function onlyUsed(
  deps: Deps,
  context: OrbContext,
  found: readonly (Sized | undefined)[],
  used: boolean,
): Promise<(Sized | undefined)[]> {
  const { orb } = context;
  const guards = found.flatMap((one) =>
    one === undefined ? [] : [subjects.referenceGuard(orb, one.view.id)],
  );
  // Every new reference writes this message of its target. So without it, no entry has ever referred to the target.
  const known = await nullIfMissing(deps.store.getMany(streams.orb(orb), guards, { maxBytes: SMALL_BYTES }));
  const isUsed = async ({ view: { id } }: Sized) =>
    known?.has(subjects.referenceGuard(orb, id)) === true && isReferred(deps, context, id);
  return mapInParallel(
    found,
    async (one) => (one !== undefined && (await isUsed(one)) === used ? one : undefined),
    REFERRED_AT_ONCE,
  );
}

/** Opens a list of entries as they are stored, in their newest revisions. */
export function managedCollection(
  plain: Deps,
  caller: Principal,
  budget: ReadBudget,
  context: OrbContext,
  schemas: readonly CompiledSchema[] | undefined,
  { status, used }: Standing,
): Collection<Sized> {
  const deps = { ...plain, store: budget.charging(plain.store) };
  const { orb } = context;
  const one = schemas?.length === 1 ? schemas[0] : undefined;
  const homes = schemas === undefined ? undefined : homesOf(schemas);
  const index = one === undefined ? subjects.orbIndex(orb) : subjects.schemaIndex({ orb, ...one.home });
  return {
    orb,
    budget,
    tally: new Tally(),
    scope: scopeOf(schemas, status, used),
    index,
    // The index of published entries is complete. There is none of the other states.
    live: status === "PUBLISHED" && used === undefined && one !== undefined ? liveIndexOf(one) : undefined,
    upcoming: true,
    schema: one,
    context,
    async read(places, maxBytes) {
      const logs = places.map((place) =>
        homes !== undefined && !homes.has(homeKey(place)) ? undefined : subjects.entryLog({ orb, ...place }),
      );
      const heads = await nullIfMissing(
        deps.store.getMany(
          streams.orb(orb),
          logs.filter((log) => log !== undefined),
          { consistency: "stale", maxBytes },
        ),
      );
      const now = deps.clock.now();
      const found = logs.map((log, i): Sized | undefined => {
        const message = log === undefined ? undefined : heads?.get(log);
        const head = snapshotOf(message);
        if (head !== null) deps.sawDefinition?.(head.defRevision);
        if (message === undefined || head === null || head.status === "DELETED") return undefined;
        const place = places[i];
        const schema = place === undefined ? undefined : schemaOf(context.compiled, place);
        const view = currentView(withNames(schema, effective(head, now)), schema);
        return status === undefined || view.status === status ? { view, bytes: message.size } : undefined;
      });
      return used === undefined ? found : onlyUsed(deps, context, found, used);
    },
    judged: ({ view }) => view,
    bytes: ({ bytes }) => bytes,
    choice: choose(context.compiled, {}),
    localized: false,
    narrowed: status !== undefined || used !== undefined || (schemas !== undefined && one === undefined),
    // The index still contains a deleted entry for one second. This would make the total of a short list wrong, so
    // count the entries of short lists one by one.
    async total() {
      const { messages, pending } = await readPage(deps.store, orb, index, { fromSeq: 1, limit: 1000 });
      return messages.filter((message) => message.size > 0).length + pending;
    },
    targets: targetsFor(deps, caller, orb),
  };
}

function pastCollection(
  deps: Deps,
  budget: ReadBudget,
  { orb, compiled }: OrbContext,
  schemas: readonly CompiledSchema[] | undefined,
  { asked, status }: { asked: number; status: string | undefined },
): Collection<Sized> {
  const one = schemas?.length === 1 ? schemas[0] : undefined;
  const homes = schemas === undefined ? undefined : homesOf(schemas);
  const past = new PastEntries(deps.store, budget, orb, one?.home, Math.min(asked, deps.clock.now()));
  return {
    orb,
    budget,
    tally: new Tally(),
    scope: `at ${asked}/${scopeOf(schemas, status)}`,
    index: "",
    schema: undefined,
    places: (after, most) => past.places(after, most),
    async read(places, maxBytes) {
      const entries = await past.read(places, maxBytes);
      return places.map((place, i) => {
        const entry = entries[i];
        if (entry === undefined || (homes !== undefined && !homes.has(homeKey(place)))) return undefined;
        const schema = schemaOf(compiled, place);
        const view = entryView(withNames(schema, entry.snapshot), schema);
        return status === undefined || view.status === status ? { view, bytes: entry.size } : undefined;
      });
    },
    judged: ({ view }) => view,
    bytes: ({ bytes }) => bytes,
    choice: choose(compiled, {}),
    localized: false,
    narrowed: true,
  };
}

interface Presented {
  query: Pick<ListQuery, "fields" | "expand">;
  views: readonly EntryView[];
  pinned: PinnedItems | undefined;
  /** The request about the schema of the list, if it has only one. */
  one: PinnedRequest | undefined;
}

async function present(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { query, views, pinned, one }: Presented,
): Promise<ManagedView[]> {
  const { fields, expand } = query;
  const shownAs = (view: EntryView): EntryView => {
    if (pinned === undefined) return view;
    return (one ?? pinned.request(context.compiled.schemaNamed(view.module, view.schema))).whole(view);
  };
  const items = views.map(shownAs).map((view): ManagedView => {
    if (fields === undefined) return view;
    return {
      ...view,
      values: Object.fromEntries(Object.entries(view.values).filter(([name]) => fields.has(name))),
    };
  });
  if (expand.length === 0) return items;
  const expansion = {
    fields: expand,
    caller,
    compiled: context.compiled,
    choice: choose(context.compiled, { locale: "*" }),
    consistency: "leader",
    pinned: one,
  } as const;
  const expanded = await expandAll(
    deps,
    views.map((shown) => ({ shown })),
    expansion,
    new Set(),
  );
  return items.map((item, i) => ({ ...item, expand: expanded[i]?.expand ?? {} }));
}

/** Returns whether a list has only entries to which others refer, or only those to which none does. */
function usedIn({ used, at, change }: Readonly<Record<string, string>>): boolean | undefined {
  if (used === undefined) return undefined;
  const other = at !== undefined ? "at" : change !== undefined ? "change" : undefined;
  const fault = (code: string, message: string) => invalidParameters([{ path: "/used", code, message }]);
  if (other !== undefined)
    throw fault("not_applicable", `must not be given together with ${other}: references are those of now`);
  if (used !== "true" && used !== "false") throw fault("invalid_value", "must be true or false");
  return used === "true";
}

/**
 * Reads a page without its referenced entries. This is a function of its own, so that the memory for past revisions can
 * be freed before the referenced entries are read.
 */
async function readManagedPage(
  deps: Deps,
  caller: Principal,
  orb: OrbContext,
  schemas: readonly CompiledSchema[] | undefined,
  query: ListQuery,
  pages: typeof readListPage,
): Promise<ListPage<Sized>> {
  const { status, at } = query.extra;
  const used = usedIn(query.extra);
  if (at === undefined)
    return pages(
      deps,
      (budget) => managedCollection(deps, caller, budget, orb, schemas, { status, used }),
      query,
    );
  if (relatedIn(query.conditions).length > 0) throw notInPast();
  const past = { asked: readMoment(at), status };
  return pages(deps, (budget) => pastCollection(deps, budget, orb, schemas, past), query);
}

/** Parses the query of a list. @param one the schema of the list, if it has only one */
function queryOf(
  { orb, parameters }: ManagedList,
  one: CompiledSchema | undefined,
  pinned: PinnedRequest | undefined,
): ListQuery {
  const targetOf = (target: ReferenceTarget) => targetSchema(orb.compiled, target);
  if (one === undefined || pinned === undefined)
    return parseListQuery(parameters, one, LIST_EXTRA, one, targetOf);
  const query = parseListQuery(parameters, pinned.view(one), LIST_EXTRA, pinned.compared(one), (target) => {
    const found = targetOf(target);
    return found && pinned.compared(found);
  });
  return { ...query, expand: pinned.expanded(query.expand) };
}

/** Lists entries for the management API: newest revisions including drafts, now or at a past time. */
export async function listManaged(deps: Deps, actor: Actor, input: ManagedList): Promise<ManagedPage> {
  const { orb, pinned } = input;
  requireOperator(actor, "entries.read", orb.orb);
  const first = (name: string) => input.parameters.find(([key]) => key === name)?.[1];
  const schemas = liveSchemas(input, first("module"), first("schema"));
  const one = schemas?.length === 1 ? schemas[0] : undefined;
  const request = one === undefined ? undefined : pinned?.request(one);
  const query = queryOf(input, one, request);
  const { status } = query.extra;
  if (status !== undefined && !STATUSES.includes(status as Status)) throw unknown("/status", STATUSES);
  const caller = principalIn(actor, orb.orb, orb.compiled);
  const listed = async (deps: Deps, limit: number): Promise<ManagedPage> => {
    const page = await readManagedPage(
      deps,
      caller,
      orb,
      schemas,
      { ...query, limit },
      input.pages ?? readListPage,
    );
    const views = page.items.map(({ view }) => view);
    try {
      return { ...page, items: await present(deps, caller, orb, { query, views, pinned, one: request }) };
    } catch (error) {
      return listed(deps, fewerEntries(error, views.length));
    }
  };
  return readTogether(deps, orb, (whole) => listed(whole, query.limit));
}
