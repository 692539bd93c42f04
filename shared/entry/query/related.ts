/** Conditions on fields of referenced entries, such as `filter[venue.city]=Oslo`. */
import type { CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/home.ts";
import { clip } from "../../kernel/faults.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { inBatches } from "../index/batches.ts";
import type { Choice } from "../model/localize.ts";
import { type FilterInput, matches, valuesIn } from "./filter.ts";
import {
  conditionsIn,
  isRelated,
  type ParameterReader,
  type Related,
  readCondition,
  type Where,
} from "./parameters.ts";

/** Returns all conditions on referenced entries, including those in groups. */
export function relatedIn(all: readonly Where[]): Related[] {
  return conditionsIn(all).filter(isRelated);
}

/** Parses one filter whose name has a reference field before a dot. Returns undefined if the filter is invalid. */
export function readRelated(
  reader: ParameterReader,
  parameter: string,
  { name, op }: { name: string; op: string },
  texts: string[],
): Related | undefined {
  const dot = name.indexOf(".");
  const reference = name.slice(0, dot);
  const via = reader.compared?.fields.get(reference);
  if (via?.target === undefined || via.sensitive) {
    const message = `must have a reference field before the dot ("${clip(reference)}" is not one)`;
    reader.fault(parameter, "not_a_reference", message);
    return undefined;
  }
  const target = reader.targetOf(via);
  if (target === undefined) {
    const message = `must not have "${clip(reference)}" before the dot, because it refers to another orb`;
    reader.fault(parameter, "other_orb", message);
    return undefined;
  }
  const inTarget: ParameterReader = {
    compared: target,
    targetOf: () => undefined,
    fault: (...fault) => reader.fault(...fault),
    parts: (...list) => reader.parts(...list),
  };
  const condition = readCondition(inTarget, parameter, { name: name.slice(dot + 1), op }, texts);
  return condition === undefined ? undefined : { via, target, condition };
}

/** Reads entries of a schema. The result omits entries that the caller may not see. */
export type ReadTargets = (
  schema: CompiledSchema,
  ids: readonly string[],
  maxBytes: number,
) => Promise<ReadonlyMap<string, FilterInput>>;

function idsIn({ via }: Related, entry: FilterInput, choice: Choice | undefined): string[] {
  return valuesIn(via, entry, choice)
    .flat()
    .filter((id) => typeof id === "string");
}

/**
 * The referenced entries that the filters of a list need. Stores only whether each entry meets a condition, so that the
 * entries' values need no memory.
 */
export class Targets {
  readonly #read: ReadTargets;
  readonly #meets = new Map<Related, Map<string, boolean>>();

  constructor(read: ReadTargets) {
    this.#read = read;
  }

  #known(related: Related): Map<string, boolean> {
    const known = this.#meets.get(related) ?? new Map<string, boolean>();
    this.#meets.set(related, known);
    return known;
  }

  /** Reads the entries that the given entries refer to. Call this before {@link test}. */
  async load(
    conditions: readonly Where[],
    entries: readonly FilterInput[],
    budget: ReadBudget,
    choice: Choice | undefined,
  ): Promise<void> {
    const bySchema = Map.groupBy(relatedIn(conditions), ({ target }) => homeKey(target.home));
    for (const all of bySchema.values()) {
      const [{ target } = {}] = all;
      if (target === undefined) continue;
      const wanted = new Set(
        all.flatMap((one) => {
          const known = this.#known(one);
          return entries.flatMap((entry) => idsIn(one, entry, choice)).filter((id) => !known.has(id));
        }),
      );
      const read = (ids: readonly string[], maxBytes: number) => this.#read(target, ids, maxBytes);
      for await (const { wanted: ids, result } of inBatches(budget, [...wanted], read)) {
        for (const id of ids) {
          const entry = result.get(id);
          for (const one of all)
            this.#known(one).set(id, entry !== undefined && matches([one.condition], entry, choice));
        }
      }
    }
  }

  /** Returns a function that tests whether an entry refers to an entry that meets a condition. */
  test(choice: Choice | undefined): (where: Related, entry: FilterInput) => boolean {
    return (where, entry) => {
      const known = this.#known(where);
      return idsIn(where, entry, choice).some((id) => known.get(id) === true);
    };
  }
}
