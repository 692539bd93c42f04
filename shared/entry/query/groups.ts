/**
 * Parses the names of filters into a tree of conditions. `filter[or][0][a]=1&filter[or][1][b][gte]=2` means a = 1 or b
 * >= 2. Conditions with the same number belong together: all of them must hold.
 */
import { type ParameterReader, PROPERTY_TYPES, type Where } from "./parameters.ts";
import { type Room, readFilter } from "./related.ts";

/** Limits of the filters of a query. */
export const FILTER_LIMITS = {
  /** Maximum conditions in all groups together. */
  conditions: 20,
  /** Maximum depth of nested groups. */
  depth: 5,
  /**
   * Maximum combinations of schemas to which the names of all filters lead. A reference can have many schemas, so a name
   * that leads through two of them has up to the square of that number.
   */
  combinations: 100,
} as const;

/** A name such as `filter[or][0][price][gte]`. */
const FILTER = /^filter((?:\[[^[\]]{1,200}\]){1,30})$/;
const NUMBER = /^\d{1,3}$/;

/** Returns the bracketed parts of a filter's name, or undefined if the parameter is not a filter. */
export function filterPath(parameter: string): string[] | undefined {
  return FILTER.exec(parameter)?.[1]?.slice(1, -1).split("][");
}

const OPERATORS: ReadonlySet<string> = new Set([
  ...Object.values(PROPERTY_TYPES).flatMap(({ operators }) => operators),
  "contains",
  "startsWith",
  "near",
  "within",
]);

/** A group that is being built: its conditions and nested groups. */
class Draft {
  readonly #conditions: Where[] = [];
  readonly #joined = { and: new Map<number, Draft>(), or: new Map<number, Draft>() };
  #not: Draft | undefined;

  add(condition: Where): void {
    this.#conditions.push(condition);
  }

  member(join: "and" | "or", number: number): Draft {
    const found = this.#joined[join].get(number) ?? new Draft();
    this.#joined[join].set(number, found);
    return found;
  }

  negated(): Draft {
    this.#not ??= new Draft();
    return this.#not;
  }

  finish(): Where[] {
    const { and, or } = this.#joined;
    const any = [...or.values()].map((draft) => asOne(draft.finish()));
    const [only] = any;
    return [
      ...this.#conditions,
      ...[...and.values()].flatMap((draft) => draft.finish()),
      ...(any.length > 1 ? [{ join: "or" as const, of: any }] : only === undefined ? [] : [only]),
      ...(this.#not === undefined ? [] : [{ join: "not" as const, of: this.#not.finish() }]),
    ];
  }
}

function asOne(all: Where[]): Where {
  const [first] = all;
  return all.length === 1 && first !== undefined ? first : { join: "and", of: all };
}

interface Place {
  draft: Draft;
  path: readonly string[];
}

/**
 * Returns the group of conditions that a filter's path begins with, such as `or` and a number. Returns undefined if the
 * path is a condition on a field. A field may be called `or`, `and` or `not`, so the name alone does not make a group.
 */
function groupIn(reader: ParameterReader, { draft, path }: Place): Place | undefined {
  const [first, second = "", ...rest] = path;
  if ((first === "or" || first === "and") && NUMBER.test(second) && rest.length > 0)
    return { draft: draft.member(first, Number(second)), path: rest };
  if (first !== "not" || path.length < 2) return undefined;
  const isField = rest.length === 0 && OPERATORS.has(second) && reader.compared?.fields.has("not") === true;
  return isField ? undefined : { draft: draft.negated(), path: path.slice(1) };
}

/** Parses all filters of a query. Reports errors to `reader`, which collects them. */
export function readFilters(
  reader: ParameterReader,
  filters: Iterable<[string, { path: readonly string[]; texts: string[] }]>,
): Where[] {
  const root = new Draft();
  const room: Room = { left: FILTER_LIMITS.combinations };
  for (const [parameter, { path, texts }] of filters) {
    let place: Place = { draft: root, path };
    let depth = 0;
    for (let next = groupIn(reader, place); next !== undefined; next = groupIn(reader, place)) {
      place = next;
      depth++;
    }
    const [name = "", op = "eq", ...more] = place.path;
    if (depth > FILTER_LIMITS.depth) {
      reader.fault(parameter, "too_deep", `must not nest more than ${FILTER_LIMITS.depth} groups`);
    } else if (more.length > 0) {
      const form =
        "must be filter[field], filter[field][operator], or one of these after [or][0], [and][0] or [not]";
      reader.fault(parameter, "unknown_parameter", form);
    } else {
      const condition = readFilter(reader, parameter, { name, op, room }, texts);
      if (condition !== undefined) place.draft.add(condition);
    }
  }
  if (room.left < 0) {
    const most = FILTER_LIMITS.combinations;
    const message = `must not lead to more than ${most} combinations of schemas in one query. Leave out filters that lead through references to many schemas.`;
    reader.fault("filter", "too_broad", message);
  }
  return root.finish();
}
