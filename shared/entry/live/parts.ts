/**
 * Splits a query into parts, each of which one index can find. Any number of entries can then be read in small steps,
 * and entries that no part contains are not read.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { subjects } from "../../store/subjects.ts";
import { readPage } from "../index/index.ts";
import { pairsBetween } from "../ordered/index.ts";
import {
  BY_CREATION,
  countByIndex,
  fieldRange,
  isCondition,
  isGroup,
  type ListQuery,
  MAX_INDEXED_VALUES,
  type OrderedContext,
  openTended,
  orderedIndexOf,
  type SortKey,
  searchOf,
  type Where,
} from "../query/index.ts";

/** A part of a query: which entries it has, and how to read them. */
export type QueryPart = Pick<ListQuery, "conditions" | "planned" | "isPlanFixed"> & { order: SortKey };

/** A part of a cover: its entries meet all of `wheres`. An index finds them by `planned`. */
interface Piece {
  wheres: readonly Where[];
  planned: readonly Where[];
  order: SortKey;
}

/** Parts that together have all entries of a query. */
interface Cover {
  pieces: readonly Piece[];
  /** How many entries the indexes list. */
  size: number;
}

/** Maximum number of pieces. Each costs a request or two, and each entry is compared with the pieces before its own. */
const MOST_PIECES = 40;
/** A query whose indexes list at most this many entries is split, whatever the number of all entries. */
const FEW = 2_000;

type OpenedRange = Awaited<ReturnType<typeof openTended>>;

class Splitter {
  readonly #deps: Deps;
  readonly #schema: CompiledSchema;
  readonly #context: OrderedContext;
  readonly #opened = new Map<string, Promise<OpenedRange>>();
  #pieces = 0;

  constructor(deps: Deps, schema: CompiledSchema, context: OrderedContext) {
    this.#deps = deps;
    this.#schema = schema;
    this.#context = context;
  }

  /** Returns the cover with the fewest entries for conditions that must all hold; undefined if no index helps. */
  async coverOf(wheres: readonly Where[]): Promise<Cover | undefined> {
    const covers = [await this.#byRange(wheres)];
    for (const where of wheres) {
      const cover = await this.#byOne(where);
      if (cover === undefined) continue;
      const others = wheres.filter((other) => other !== where);
      const pieces = cover.pieces.map((piece) => ({ ...piece, wheres: [...piece.wheres, ...others] }));
      covers.push({ ...cover, pieces });
    }
    return covers.filter((cover) => cover !== undefined).sort((a, b) => a.size - b.size)[0];
  }

  /** Returns the smallest range of an ordered index. */
  async #byRange(wheres: readonly Where[]): Promise<Cover | undefined> {
    const found: Cover[] = [];
    for (const field of this.#schema.ordered) {
      const { range, narrows } = fieldRange(field, wheres);
      const index = orderedIndexOf(this.#schema, this.#context, field);
      // Lists cannot be in the order of points.
      if (!narrows || index === undefined || !field.sortable) continue;
      const opened = this.#opened.get(field.name) ?? openTended(this.#deps, this.#context, index);
      this.#opened.set(field.name, opened);
      const state = await opened;
      if (state === undefined) continue;
      const subject = { kind: "field", name: field.name, type: field.type, field } as const;
      const order = { subject, descending: false };
      found.push({ pieces: [{ wheres, planned: wheres, order }], size: pairsBetween(state, range) });
    }
    return found.sort((a, b) => a.size - b.size)[0];
  }

  async #byOne(where: Where): Promise<Cover | undefined> {
    if (isGroup(where)) {
      if (where.join === "not") return undefined;
      return where.join === "and" ? this.coverOf(where.of) : this.#joined(where.of);
    }
    if (!isCondition(where)) return undefined;
    const { operator, values } = where;
    if (operator === "in" && where.subject.name !== "id") {
      if (values.length > MAX_INDEXED_VALUES) return undefined;
      return this.#joined(values.map((value) => ({ ...where, operator: "eq", values: [value] })));
    }
    const size = await countByIndex(this.#deps, this.#schema, where);
    if (size === undefined) return undefined;
    return { pieces: [{ wheres: [where], planned: [where], order: BY_CREATION }], size };
  }

  /** Joins the covers of alternatives. Every alternative needs one. */
  async #joined(alternatives: readonly Where[]): Promise<Cover | undefined> {
    this.#pieces += alternatives.length;
    if (this.#pieces > MOST_PIECES) return undefined;
    const pieces: Piece[] = [];
    let size = 0;
    for (const alternative of alternatives) {
      const cover = await this.coverOf([alternative]);
      if (cover === undefined) return undefined;
      pieces.push(...cover.pieces);
      size += cover.size;
    }
    return { pieces, size };
  }
}

/**
 * Splits a query into parts. Each entry of the query is in one part, as long as it does not change. The parts with the
 * fewest entries are chosen. There is only one part if indexes do not save at least half of the reads.
 */
export async function partsOf(
  deps: Deps,
  schema: CompiledSchema,
  context: OrderedContext,
  conditions: readonly Where[],
): Promise<QueryPart[]> {
  const whole: QueryPart[] = [{ conditions, order: BY_CREATION }];
  if (conditions.length === 0 || searchOf(conditions) !== undefined) return whole;
  const cover = await new Splitter(deps, schema, context).coverOf(conditions);
  if (cover === undefined) return whole;
  if (cover.size > FEW) {
    const index = subjects.schemaIndex({ orb: schema.orb, ...schema.home });
    const page = await readPage(deps.store, schema.orb, index, { fromSeq: 1, limit: 1 });
    if (cover.size * 2 > page.messages.length + page.pending) return whole;
  }
  return cover.pieces.map(({ wheres, planned, order }, at) => ({
    // An entry of an earlier part must not come again.
    conditions: [
      ...wheres,
      ...cover.pieces.slice(0, at).map((earlier): Where => ({ join: "not", of: [...earlier.wheres] })),
    ],
    planned,
    isPlanFixed: true,
    order,
  }));
}
