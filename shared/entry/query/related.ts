/** Conditions on fields of referenced entries: `filter[venue.city]=Oslo`, `filter[venue.country.name]=Norway`. */
import type { CompiledSchema } from "../../definition/compile.ts";
import { homeKey, pointerIn, schemaToken, targetKey } from "../../definition/document/index.ts";
import { fieldsNamed } from "../../definition/walk.ts";
import { clip } from "../../kernel/faults.ts";
import { REQUEST_ENTRIES, type ReadBudget } from "../../store/budget.ts";
import { inBatches } from "../index/index.ts";
import type { Choice } from "../model/index.ts";
import { type FilterInput, matches, valuesIn } from "./filter.ts";
import {
  type Condition,
  conditionsIn,
  isRelated,
  type ParameterReader,
  type Related,
  readCondition,
  type Where,
} from "./parameters.ts";

/** Maximum references that the name of a filter passes through. */
const MAX_REFERENCES = 2;
/** A request that has reached its read limit fails if it needs more referenced entries than this. */
const MAX_READ = 2 * REQUEST_ENTRIES;

/** Returns all conditions on referenced entries, including those in groups. */
export function relatedIn(all: readonly Where[]): Related[] {
  return conditionsIn(all).filter(isRelated);
}

/** How many further combinations of schemas the filters of a query may lead to. Negative if they lead to too many. */
export interface Room {
  left: number;
}

/** One filter that is being parsed. */
interface Named {
  room: Room;
  parameter: string;
  name: string;
  op: string;
  texts: string[];
}

/**
 * Parses one filter. A name of a reference field and a dot lead to fields of the referenced entries. If the reference
 * refers to several schemas, the filter applies to those that have the named field. Returns undefined if the filter is
 * invalid. Takes each combination of schemas from `room`, and parses no further ones when the room is used up.
 */
export function readFilter(
  reader: ParameterReader,
  parameter: string,
  { name, op, room }: { name: string; op: string; room: Room },
  texts: string[],
): Where | undefined {
  const [only, ...others] = readThrough(reader, { parameter, name, op, texts, room }, 0);
  return only === undefined || others.length === 0 ? only : { join: "or", of: [only, ...others] };
}

/** Returns a condition for each combination of schemas that the references in a name lead to. */
function readThrough(reader: ParameterReader, named: Named, passed: number): (Condition | Related)[] {
  const { parameter, name, op, texts, room } = named;
  if (passed > 0 && room.left < 0) return [];
  const isOwn = reader.compared !== undefined && fieldsNamed(reader.compared, name).length > 0;
  if (name.includes(".") && !isOwn) return readRelated(reader, named, passed);
  const condition = readCondition(reader, parameter, { name, op }, texts);
  if (condition === undefined) return [];
  if (passed > 0) room.left--;
  return [condition];
}

/** @param passed number of references that come before the name */
function readRelated(reader: ParameterReader, named: Named, passed: number): Related[] {
  const { parameter, name } = named;
  const dot = referenceEnd(reader, name);
  const reference = name.slice(0, dot);
  const fault = (code: string, message: string): [] => {
    reader.fault(parameter, code, message);
    return [];
  };
  const [via, ...others] = reader.compared === undefined ? [] : fieldsNamed(reader.compared, reference);
  if (via === undefined || via.targets.length === 0 || via.sensitive)
    return fault(
      "not_a_reference",
      `must have a reference field before the dot ("${clip(reference)}" is not one)`,
    );
  if (passed === MAX_REFERENCES)
    return fault("too_deep", `must not lead through more than ${MAX_REFERENCES} references`);
  if (others.length > 0)
    return fault(
      "ambiguous_field",
      `must not have "${clip(reference)}" before the dot, because several components have such a field`,
    );
  const targets = via.targets.flatMap((target) => reader.targetOf(target) ?? []);
  if (targets.length === 0)
    return fault(
      "other_orb",
      `must not have "${clip(reference)}" before the dot, because it refers to another orb`,
    );
  const faults: [parameter: string, code: string, message: string][] = [];
  const of = targets.flatMap((target): Related[] => {
    const inTarget: ParameterReader = {
      compared: target,
      targetOf: (one) => reader.targetOf(one),
      fault: (...one) => faults.push(one),
      parts: (...list) => reader.parts(...list),
    };
    const rest = readThrough(inTarget, { ...named, name: name.slice(dot + 1) }, passed + 1);
    return rest.map((condition) => ({ via, target, condition }));
  });
  if (of.length === 0) for (const one of faults.slice(0, 1)) reader.fault(...one);
  return of;
}

/** Returns the position of the dot after the reference field that a name such as `seo.author.name` begins with. */
function referenceEnd({ compared }: ParameterReader, name: string): number {
  const first = name.indexOf(".");
  for (let dot = first; dot > 0 && compared !== undefined; dot = name.indexOf(".", dot + 1))
    if (fieldsNamed(compared, name.slice(0, dot)).some(({ targets }) => targets.length > 0)) return dot;
  return first;
}

/** Reads entries of a schema. The result omits entries that the caller may not see. */
export type ReadTargets = (
  schema: CompiledSchema,
  ids: readonly string[],
  maxBytes: number,
) => Promise<ReadonlyMap<string, FilterInput>>;

/** Returns the ids of the entries of the condition's schema to which an entry refers. */
function idsIn({ via, target }: Related, entry: FilterInput, choice: Choice | undefined): string[] {
  const { orb, module, id } = target;
  const wanted = targetKey({ orb, module, schema: schemaToken(id) });
  return valuesIn(via, entry, choice)
    .flat()
    .flatMap((value) => {
      const pointer = pointerIn(via.targets, value);
      return pointer?.target !== undefined && targetKey(pointer.target) === wanted ? [pointer.id] : [];
    });
}

/** Reads of referenced entries that one call of {@link Targets.load} has to do. */
interface Loading {
  entries: readonly FilterInput[];
  budget: ReadBudget;
  choice: Choice | undefined;
  /** Whether to read all of them, even if the request has reached its read limit. */
  whole: boolean;
}

/**
 * The referenced entries that the filters of a list need. Stores only whether each entry meets a condition, so that the
 * entries' values need no memory.
 */
export class Targets {
  readonly #read: ReadTargets;
  readonly #meets = new Map<Related, Map<string, boolean>>();
  #count = 0;

  constructor(read: ReadTargets) {
    this.#read = read;
  }

  #known(related: Related): Map<string, boolean> {
    const known = this.#meets.get(related) ?? new Map<string, boolean>();
    this.#meets.set(related, known);
    return known;
  }

  /**
   * Reads the entries that the given entries refer to. Call this before {@link test}. Stops early when the request has
   * reached its read limit.
   * @throws AppError invalid `too_broad` if a single entry leads to too many others
   */
  async load(conditions: readonly Where[], loading: Loading): Promise<void> {
    const bySchema = Map.groupBy(relatedIn(conditions), ({ target }) => homeKey(target.home));
    for (const all of bySchema.values()) await this.#loadSchema(all, loading);
  }

  /** Reads entries of one schema. @param all conditions on entries of this schema */
  async #loadSchema(all: readonly Related[], { entries, ...loading }: Loading): Promise<void> {
    const { budget, choice, whole } = loading;
    const [{ target } = {}] = all;
    if (target === undefined) return;
    const wanted = new Set(
      all.flatMap((one) => {
        const known = this.#known(one);
        return entries.flatMap((entry) => idsIn(one, entry, choice)).filter((id) => !known.has(id));
      }),
    );
    const read = (ids: readonly string[], maxBytes: number) => this.#read(target, ids, maxBytes);
    for await (const { wanted: ids, result } of inBatches(budget, [...wanted], read)) {
      const inner = all.flatMap(({ condition }) => (isRelated(condition) ? [condition] : []));
      if (inner.length > 0) await this.load(inner, { ...loading, entries: [...result.values()] });
      const test = this.test(choice);
      for (const id of ids) {
        const entry = result.get(id);
        for (const one of all) {
          if (budget.over && entry !== undefined && !this.knows([one.condition], entry, choice)) continue;
          const meets = entry !== undefined && matches([one.condition], entry, choice, test, budget);
          this.#known(one).set(id, meets);
        }
        await budget.breathe();
      }
      if (budget.over && !whole) return;
      this.#count += ids.length;
      if (this.#count > MAX_READ) budget.require();
    }
  }

  /** Returns whether all referenced entries that decide about an entry were read. */
  knows(conditions: readonly Where[], entry: FilterInput, choice: Choice | undefined): boolean {
    return relatedIn(conditions).every((one) => {
      const known = this.#known(one);
      return idsIn(one, entry, choice).every((id) => known.has(id));
    });
  }

  /** Returns a function that tests whether an entry refers to an entry that meets a condition. */
  test(choice: Choice | undefined): (where: Related, entry: FilterInput) => boolean {
    return (where, entry) => {
      const known = this.#known(where);
      return idsIn(where, entry, choice).some((id) => known.get(id) === true);
    };
  }
}
