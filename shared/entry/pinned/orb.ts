/**
 * Serves callers that name an earlier revision of the definition: they see and write the shape of that revision. See
 * `values.ts` and `write.ts` for what becomes of the values.
 */
import {
  type CompiledField,
  type CompiledOrb,
  type CompiledSchema,
  compileOrb,
} from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { pinnedNames } from "../../definition/names/index.ts";
import {
  findRevision,
  liveOrb,
  liveRecord,
  type OrbHead,
  orbHead,
  requireReadable,
} from "../../definition/stored/index.ts";
import { allFields } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { BoundedMap, PerHost } from "../../kernel/bounded-map.ts";
import { AppError, type Fault, invalidParameters, notFound } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import type { VisibleEntry } from "../index/index.ts";
import type { OrbContext } from "../model/index.ts";
import { counterpartOf, isComparable, isSameField, namedAsOld, oldView, type SchemaPair } from "./fields.ts";
import { withLiveKeys } from "./keys.ts";
import { asOldFault, type Positions } from "./paths.ts";
import { type EntryValues, shownAsOld, toOld } from "./values.ts";
import { type Shaped, type ShapedInput, ShapeRefusal, shapedValues } from "./write.ts";

/** An earlier revision of a definition, ready to show the values of the live one. */
export interface PinnedOrb {
  revision: number;
  compiled: CompiledOrb;
  live: CompiledOrb;
  /** Time at which the live definition was published, in seconds since the epoch. Undefined if both have one shape. */
  since: number | undefined;
}

/** Returns the headers that all responses in the shape of a revision have. */
export const shapeHeaders = ({ revision, since }: PinnedOrb): Record<string, string> => ({
  "orb-definition": String(revision),
  ...(since === undefined ? {} : { deprecation: `@${since}` }),
});

/** What is known of the earlier revisions of a live definition. */
interface Known {
  /** Those that were used last, compiled. */
  pinned: BoundedMap<number, PinnedOrb>;
  /** Numbers of revisions that were never published. They stay so, because they are older than the live one. */
  missing: BoundedMap<number, true>;
  /** The second in which revisions were read last, and how many. */
  second: number;
  reads: number;
}

/** Revisions that are kept for each live definition. */
const MOST = 32;
/** Numbers of revisions that are remembered as never published, for each live definition. */
const MOST_MISSING = 4_096;
/** Revisions that are read in one second, for each live definition. Anyone may name any number. */
const READS = 16;
const known = new WeakMap<OrbContext, Known>();

const nothingKnown = (): Known => ({
  pinned: new BoundedMap(MOST),
  missing: new BoundedMap(MOST_MISSING),
  second: 0,
  reads: 0,
});

const unpublished = (revision: number) =>
  notFound("definition revision", `Revision ${revision} of the orb's definition was never published.`);

/** @throws AppError unavailable `reads_busy` if too many revisions were read in this second */
function countRead(of: Known, now: number): void {
  const second = Math.floor(now / 1000);
  if (of.second !== second) {
    of.second = second;
    of.reads = 0;
  }
  of.reads++;
  if (of.reads <= READS) return;
  const detail = "Too many earlier revisions of this orb's definition are being read. Try again in a second.";
  throw new AppError("unavailable", "reads_busy", detail, { retryAfter: 1 });
}

type PinnedDeps = Pick<Deps, "store" | "clock">;

/**
 * Reads an earlier revision of the live definition.
 * @throws AppError not_found `definition_revision_not_found` if it was never published
 */
export async function pinnedOrb(deps: PinnedDeps, live: OrbContext, revision: number): Promise<PinnedOrb> {
  const { compiled, proposed } = live;
  // Within a change set, the definition that serves is an earlier one.
  if (revision === live.revision && proposed === undefined)
    return { revision, compiled, live: compiled, since: undefined };
  if (revision > live.revision) throw unpublished(revision);
  const of = known.get(live) ?? nothingKnown();
  known.set(live, of);
  const found = of.pinned.get(revision);
  if (found !== undefined) {
    // Set the revision again to mark it as recently used.
    of.pinned.set(revision, found);
    return found;
  }
  if (of.missing.has(revision)) throw unpublished(revision);
  countRead(of, deps.clock.now());
  const made = await readPinned(deps, live, revision);
  if (made === null) {
    of.missing.set(revision, true);
    throw unpublished(revision);
  }
  of.pinned.set(revision, made);
  return made;
}

/** Returns null if the revision was never published. */
async function readPinned(deps: PinnedDeps, live: OrbContext, revision: number): Promise<PinnedOrb | null> {
  const { orb, compiled, proposed } = live;
  const head = await orbHead(deps, orb);
  if (head === null) return null;
  const [record, current] = await Promise.all([
    findRevision(deps, orb, head, revision),
    findRevision(deps, orb, head, live.revision),
  ]);
  if (record === null || !wasPublished(record, head)) return null;
  const { document, names } = record;
  if (document === null) return null;
  requireReadable(orb, document);
  const namesNow = async () => {
    if (proposed !== undefined) return proposed.names;
    // A definition that was published together with a change set may not be in the history yet.
    return current === null ? (await liveRecord(deps, orb))?.record.next?.change.names : current.names;
  };
  const now = { document: compiled.document, names: await namesNow() };
  const old = compileOrb(document, pinnedNames(document, names, now), true);
  const since = isSameShape(old, compiled)
    ? undefined
    : Math.floor(Date.parse(current?.at ?? head.at) / 1000);
  return { revision, compiled: old, live: compiled, since };
}

/** Returns whether a revision of an orb's definition is or was the live one. */
export async function wasLive(deps: PinnedDeps, orb: string, revision: number): Promise<boolean> {
  const live = await liveOrb(deps, orb);
  if (live === null) return false;
  try {
    await pinnedOrb(deps, live, revision);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.kind === "not_found") return false;
    throw error;
  }
}

/**
 * Returns a live definition whose entries have the shape of an earlier revision, to describe them: without what the live
 * one no longer has, and with the current rights, handlers and accounts.
 * @param routed whether to describe only the schemas with automatic routes
 * @throws AppError not_found `definition_revision_not_found` if it was never published
 */
export async function describedAs(
  deps: PinnedDeps,
  live: LiveOrb,
  revision: number,
  routed: boolean,
): Promise<LiveOrb> {
  const { compiled: old, since } = await pinnedOrb(deps, live, revision);
  if (since === undefined) return live;
  const now = live.compiled;
  const viewOf = (schema: CompiledSchema): CompiledSchema[] => {
    const found = now.byHome.get(homeKey(schema.home));
    if (found === undefined || (routed && now.modules.get(found.module)?.routed !== true)) return [];
    return [{ ...oldView({ old: schema, now: found }), access: found.access }];
  };
  const modules = new Map(
    [...old.modules].map(([id, module]) => {
      const schemas = [...module.schemas].flatMap(([name, schema]) =>
        viewOf(schema).map((view) => [name, view] as const),
      );
      return [id, { ...module, schemas: new Map(schemas) }] as const;
    }),
  );
  const { languages, defaultLanguage, markets, defaultMarket, schema, schemaNamed } = old;
  const shape = { modules, languages, defaultLanguage, markets, defaultMarket, schema, schemaNamed };
  return { ...live, revision, compiled: { ...now, ...shape } };
}

/** When a newer definition was looked for last, by orb. */
const looks = new PerHost<number>(1_000);
/** Milliseconds between two looks for callers that may be unknown, who may name any number. */
const LOOK_MS = 1_000;

/**
 * Returns the live definition, for a caller that names a revision of it. Looks for a newer one if the revision is newer
 * than the known definition: it may be so new that this host or replica does not have it yet.
 * @param mayBeUnknown whether the caller has not shown a token
 */
export async function liveFor(
  deps: PinnedDeps & Pick<Deps, "config">,
  live: LiveOrb,
  revision: number,
  mayBeUnknown: boolean,
): Promise<LiveOrb | null> {
  if (revision <= live.revision) return live;
  if (mayBeUnknown) {
    const now = deps.clock.now();
    const last = looks.get(deps.config, live.orb);
    if (last !== undefined && Math.abs(now - last) < LOOK_MS) return live;
    looks.set(deps.config, live.orb, now);
  }
  return liveOrb(deps, live.orb);
}

/** Returns whether a revision was live, and belongs to the orb and not to a deleted one of its id. */
const wasPublished = (record: OrbHead, head: OrbHead): boolean =>
  record.publishedRevision === record.revision && record.createdAt === head.createdAt;

/** Returns whether entries look the same under both definitions. */
function isSameShape(old: CompiledOrb, live: CompiledOrb): boolean {
  if (!equal(old.languages, live.languages) || !equal(old.markets, live.markets)) return false;
  const [one, other] = [[...old.byHome], live.byHome];
  return (
    one.length === other.size &&
    one.every(([home, schema]) => {
      const now = other.get(home);
      return now !== undefined && isSameSchema({ old: schema, now });
    })
  );
}

function isSameSchema(pair: SchemaPair): boolean {
  const { old, now } = pair;
  const isSameRoot = (name: string) => {
    const [field, found] = [old.fields.get(name), now.fields.get(name)];
    return field !== undefined && found !== undefined && counterpartOf(pair, field) === found
      ? isSameField(field, found)
      : false;
  };
  return (
    old.module === now.module &&
    old.id === now.id &&
    allFields(old).length === allFields(now).length &&
    [...now.fields.keys()].every(isSameRoot)
  );
}

/** How a write of one request reaches the live shape. */
export interface Shape {
  toLive(input: ShapedInput): Shaped;
  /** Makes the faults that follow name the positions that items have in a request. */
  tell(positions: Positions): void;
  /** Returns an error with the names of the revision. */
  error(error: AppError): AppError;
  /** Returns the fields of the revision that stand for these of the live schema. */
  view(readable: CompiledSchema): CompiledSchema;
  /** Returns stored values in the shape of the revision. */
  shown(readable: CompiledSchema, stored: EntryValues): Record<string, unknown>;
}

/**
 * Returns the shape for one attempt of a write, because the definition may change between attempts. Undefined if the
 * revision has the live shape.
 */
export type Shaping = (context: OrbContext, schema: CompiledSchema) => Promise<Shape | undefined>;

/** The part of an entry that the shape of a revision decides. */
interface Whole {
  module: string;
  schema: string;
  values: EntryValues;
}

/** A request of a caller that names an earlier revision, about the entries of one schema. */
export class PinnedRequest {
  readonly revision: number;
  orb: PinnedOrb;
  /** Undefined while the revision has the live shape. */
  pair: SchemaPair | undefined;
  #positions: Positions = new Map();
  readonly #names = new Map<CompiledField, string>();
  readonly #deps: PinnedDeps;

  /** @param now the schema in the live definition; undefined if it has none, or if both definitions have one shape */
  constructor(deps: PinnedDeps, orb: PinnedOrb, now: CompiledSchema | undefined) {
    this.#deps = deps;
    this.revision = orb.revision;
    this.orb = orb;
    this.pair = now === undefined ? undefined : pairOf(orb, now);
  }

  /** Returns the same for another write, which happens at the same time. */
  again(): PinnedRequest {
    const { orb, pair } = this;
    return new PinnedRequest(this.#deps, orb, pair?.now);
  }

  readonly shaping: Shaping = async (context, schema) => {
    const orb =
      context.compiled === this.orb.live ? this.orb : await pinnedOrb(this.#deps, context, this.revision);
    const pair = pairOf(orb, schema);
    this.orb = orb;
    this.pair = pair;
    if (pair === undefined) return undefined;
    return {
      toLive: (input) => {
        const shaped = shapedValues(pair, this.revision, input);
        this.#positions = shaped.positions;
        return { ...shaped, values: withLiveKeys(orb, schema, shaped.values) };
      },
      tell: (positions) => {
        this.#positions = positions;
      },
      error: (error) => this.told(error),
      view: (readable) => oldView({ ...pair, now: readable }),
      shown: (readable, stored) => shownAsOld(pair, readable, stored),
    };
  };

  /**
   * Returns an entry in the shape of the revision. What the caller may not read must be left out already. Entries of
   * other orbs, and of schemas that the revision does not have, stay as they are.
   */
  seen<T extends VisibleEntry>(seen: T): T {
    const { compiled, live, since } = this.orb;
    const home = homeKey(seen.schema.home);
    const [old, whole] = [compiled.byHome.get(home), live.byHome.get(home)];
    if (since === undefined || seen.schema.orb !== live.id || old === undefined || whole === undefined)
      return seen;
    const view = { old, now: seen.schema };
    const values = toOld(view, whole, seen.shown.values);
    return { ...seen, schema: oldView(view), shown: { ...seen.shown, values } };
  }

  /** Returns masked values of the live schema in the shape of the revision. @param readable the fields that they are of */
  asOld(readable: CompiledSchema, values: EntryValues): Record<string, unknown> {
    const { pair } = this;
    if (pair === undefined) return { ...values };
    return toOld({ old: pair.old, now: readable }, pair.now, values);
  }

  /** Returns an entry with all values, masked, in the shape of the revision. */
  whole<T extends Whole>(view: T): T {
    const { pair } = this;
    return pair === undefined ? view : { ...view, ...this.names, values: this.asOld(pair.now, view.values) };
  }

  /** Returns the path that the revision has for a path in values of the live schema. */
  pathOf(path: string): string {
    // The code and the message make no difference to the path.
    const [fault] = this.faults([{ path, code: "type", message: "" }]);
    return fault?.path ?? path;
  }

  /** Returns the fields of the revision that stand for those of a view of the live schema. */
  view(readable: CompiledSchema): CompiledSchema {
    return this.pair === undefined ? readable : oldView({ ...this.pair, now: readable });
  }

  /** Returns a view of a live schema with the names of the revision, for filters, orders and keys. */
  compared(comparable: CompiledSchema): CompiledSchema {
    const { compiled, since } = this.orb;
    const old = since === undefined ? undefined : compiled.byHome.get(homeKey(comparable.home));
    return old === undefined ? comparable : namedAsOld({ old, now: comparable });
  }

  /** The names that the revision has for the module and the schema. Undefined while it has the live shape. */
  get names(): { module: string; schema: string } | undefined {
    return this.pair === undefined ? undefined : { module: this.pair.old.module, schema: this.pair.old.id };
  }

  /** Returns the names of an entry's module and schema in the live definition. */
  place<T extends { module?: unknown; schema?: unknown }>(sent: T): T {
    const { pair } = this;
    if (pair === undefined) return sent;
    const { old, now } = pair;
    const module = sent.module === old.module ? now.module : sent.module;
    return { ...sent, module, schema: sent.schema === old.id ? now.id : sent.schema };
  }

  /** Returns the fields of the live definition that fields of `expand` stand for. */
  expanded(fields: readonly CompiledField[]): CompiledField[] {
    const { pair, revision } = this;
    if (pair === undefined) return [...fields];
    return fields.map((field) => {
      const now = counterpartOf(pair, field);
      if (now === undefined || !isComparable(field, now)) {
        const message = `must not name "${field.name}", whose type has changed since revision ${revision}`;
        throw invalidParameters([{ path: "/expand", code: "changed_field", message }]);
      }
      this.#names.set(now, field.name);
      return now;
    });
  }

  /** Returns the name that the revision has for a field of {@link expanded}. */
  nameOf(now: CompiledField): string | undefined {
    return this.#names.get(now);
  }

  /** Returns faults with the names of the revision. */
  faults(faults: readonly Fault[]): Fault[] {
    const { pair } = this;
    if (pair === undefined) return [...faults];
    return faults.map((fault) => asOldFault(pair, this.#positions, this.revision, fault));
  }

  /** Returns an error with the names of the revision. */
  error(error: unknown): unknown {
    return error instanceof AppError ? this.told(error) : error;
  }

  told(error: AppError): AppError {
    if (error.errors === undefined || error instanceof ShapeRefusal) return error;
    return ShapeRefusal.of(error, this.faults(error.errors));
  }
}

/** A request of a caller that names an earlier revision, about the entries of several schemas. */
export class PinnedItems {
  readonly revision: number;
  readonly #deps: PinnedDeps;
  readonly #routed: boolean;
  #orb: PinnedOrb | undefined;

  /** @param routed whether only schemas with automatic routes exist */
  constructor(deps: PinnedDeps, revision: number, routed: boolean) {
    this.#deps = deps;
    this.revision = revision;
    this.#routed = routed;
  }

  /** Finds what the revision is under a definition. Call this again after the definition has changed. */
  async use(context: OrbContext): Promise<PinnedOrb> {
    this.#orb = await pinnedOrb(this.#deps, context, this.revision);
    return this.#orb;
  }

  get #known(): PinnedOrb {
    if (this.#orb === undefined) throw new Error("use() has not been called");
    return this.#orb;
  }

  /** The definition of the revision. */
  get compiled(): CompiledOrb {
    return this.#known.compiled;
  }

  /** Returns the schema that the live definition has for one of the revision. */
  liveOf({ home }: CompiledSchema): CompiledSchema | undefined {
    const { live } = this.#known;
    const found = live.byHome.get(homeKey(home));
    const isServed =
      !this.#routed || (found !== undefined && live.modules.get(found.module)?.routed === true);
    return isServed ? found : undefined;
  }

  /**
   * Returns the request about one entry.
   * @param now its schema in the live definition, if it still has one
   * @throws AppError not_found if the revision has no such schema
   */
  request(now: CompiledSchema | undefined): PinnedRequest {
    return new PinnedRequest(this.#deps, this.#known, now);
  }

  /** Returns the schemas of the live definition that the revision has too. */
  get schemas(): CompiledSchema[] {
    return [...this.compiled.byHome.values()].flatMap((old) => this.liveOf(old) ?? []);
  }
}

function pairOf({ compiled, live, since, revision }: PinnedOrb, now: CompiledSchema): SchemaPair | undefined {
  if (since === undefined || compiled === live) return undefined;
  const old = compiled.byHome.get(homeKey(now.home));
  if (old === undefined)
    throw notFound("schema", `Revision ${revision} of the orb's definition has no such schema.`);
  return { old, now };
}
