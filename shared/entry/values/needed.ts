/** Fields that forms do not show are not required: the rules in `showIf`, at all depths. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Validated, Values } from "../../definition/validate.ts";
import { membersOf } from "../../definition/walk.ts";
import type { Fault } from "../../kernel/errors.ts";
import { unescapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { type Budget, budget } from "../../logic/engine.ts";
import { factsInside, factsOf, hiddenFields } from "../../logic/shown.ts";
import { levelsOf } from "../model/index.ts";

type Fields = ReadonlyMap<string, CompiledField>;

/** Returns the faults without those of values that are missing in hidden fields. */
export function neededFaults(
  clock: { now(): number },
  schema: CompiledSchema,
  { faults, values }: Pick<Validated, "faults" | "values">,
): Fault[] {
  if (!schema.conditional || faults.every(({ code }) => code !== "required")) return [...faults];
  const shown = new Shown(
    schema,
    values,
    budget(() => clock.now()),
  );
  return faults.filter(({ code, path }) => code !== "required" || !shown.hides(path));
}

/** Evaluates each rule at most once for each object. */
class Shown {
  readonly #schema: CompiledSchema;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #budget: Budget;
  readonly #entry: Readonly<Record<string, unknown>>;
  readonly #hidden = new Map<string, ReadonlySet<string>>();

  constructor(schema: CompiledSchema, values: Readonly<Values>, budget: Budget) {
    this.#schema = schema;
    this.#values = values;
    this.#budget = budget;
    this.#entry = entryFacts(schema, values);
  }

  /** Returns whether a path leads to a field that is hidden, or that is inside a hidden one. */
  hides(path: string): boolean {
    let [, , ...way] = path.split("/").map(unescapeSegment);
    let fields: Fields | undefined = this.#schema.fields;
    let object = this.#values;
    let isHidden = false;
    let trail = "";
    for (;;) {
      const [name = ""] = way;
      const field: CompiledField | undefined = fields?.get(name);
      // The parts of rich text, and the `_type` of blocks, are required wherever there is a value.
      if (field === undefined || field.isPart || fields === undefined) return false;
      isHidden ||= this.#hiddenIn(fields, object, trail).has(field.key);
      const depth = 1 + levelsOf(field) + Number(field.list);
      if (way.length <= depth) return isHidden;
      const found = way.slice(0, depth).reduce<unknown>(memberAt, object);
      object = isObject(found) ? found : {};
      fields = membersOf(field, object);
      trail = `${trail}/${way.slice(0, depth).join("/")}`;
      way = way.slice(depth);
    }
  }

  #hiddenIn(fields: Fields, object: Readonly<Record<string, unknown>>, trail: string): ReadonlySet<string> {
    const definitions = [...fields.values()].map(({ definition }) => definition);
    if (definitions.every(({ showIf }) => showIf === undefined)) return new Set();
    const known = this.#hidden.get(trail);
    if (known !== undefined) return known;
    const facts =
      fields === this.#schema.fields
        ? this.#entry
        : factsInside(fields.values(), object, this.#entry, this.#schema, fieldsInside);
    const hidden = hiddenFields(definitions, facts, this.#budget);
    this.#hidden.set(trail, hidden);
    return hidden;
  }
}

const fieldsInside = (field: CompiledField, object: Readonly<Record<string, unknown>>) =>
  membersOf(field, object)?.values();

/** Returns the values of an entry that rules read. */
export function entryFacts(
  schema: CompiledSchema,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return factsOf(schema.fields.values(), values, schema, fieldsInside);
}

function memberAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
}
