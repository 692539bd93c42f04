/**
 * New fields whose values a rule makes of several earlier fields
 * (`"from": { "convert": { "cat": [{ "var": "values.first" }, " ", { "var": "values.last" }] } }`). No entry is
 * rewritten: the rule runs when a revision is read that was stored before the field existed. Each later write stores the
 * field's own value, or null if it has none, so that no later value is ever replaced by the rule.
 */
import { isObject } from "../../kernel/json.ts";
import type { FieldDefinition } from "../document/document.ts";
import { conversionTo, meaningOf } from "./forms.ts";
import { type ConversionBudget, conversionBudget, each, evaluated, LEVELS, shown } from "./ruled.ts";
import type { Meaning, OnLoss } from "./step.ts";
import { allStored, type Identity, type Made, type NameTable } from "./stored-names.ts";

type Values = Readonly<Record<string, unknown>>;

/** What `madeOf` needs to know of the document before. */
export interface Before {
  /** Returns what a field of the document was. Undefined if the document did not have it. */
  meaning: (name: string) => Meaning | undefined;
  identities: readonly Identity[];
  place: Pick<Made, "language" | "market">;
}

/** Returns how the values of a new field are made of those that a document before had. */
export function madeOf(
  form: string,
  shape: Meaning,
  rule: unknown,
  reads: readonly string[],
  before: Before,
): Made | undefined {
  const sources = reads.flatMap((name) => {
    const meaning = before.meaning(name);
    const identity = before.identities.find((one) => one.gone !== true && one.name === name);
    return meaning === undefined
      ? []
      : [[name, { ...meaningOf(meaning), stored: identity?.stored ?? name }] as const];
  });
  if (sources.length === 0) return undefined;
  return {
    form,
    shape: meaningOf(shape),
    sources: Object.fromEntries(sources),
    ...before.place,
    ...(rule === undefined ? {} : { rule }),
  };
}

/** Returns the fields of which the values of a field are made. Undefined if they are not. */
export const madeIn = (names: NameTable, scope: string, name: string): Made | undefined =>
  names.identitiesIn(scope).find((one) => one.gone !== true && one.name === name)?.made;

/** A field of a schema whose values are made of others, if an entry was stored before the field existed. */
export interface MadeField {
  readonly name: string;
  /** The stored name under which writes store the field. */
  readonly stored: string;
  /** The stored name under which the rule makes a value. */
  readonly form: string;
  /**
   * Returns the values with the one that the rule makes of them. Returns the same values if the entry was stored with
   * the field, or has none of the earlier values.
   * @param lose called with the reason why the rule can make no value
   */
  readonly add: (values: Values, lose?: OnLoss) => Values;
}

/** Returns the fields of a schema whose values are made of others. */
export function madeFields(
  names: NameTable,
  scope: string,
  fields: readonly Pick<FieldDefinition, "name">[],
): MadeField[] {
  const identities = names.identitiesIn(scope);
  return identities.flatMap((identity): MadeField[] => {
    const { made, gone, name, stored } = identity;
    if (made === undefined || gone === true || fields.every((field) => field.name !== name)) return [];
    return [
      {
        name,
        stored,
        form: made.form,
        add(values, onLoss = () => {}) {
          if (allStored(identity).some((one) => Object.hasOwn(values, one))) return values;
          const budget = conversionBudget();
          const value = new Making(identities, values, budget, onLoss).valueOf(identity, made);
          return value === undefined ? values : { ...values, [made.form]: value };
        },
      },
    ];
  });
}

interface Given {
  name: string;
  value: unknown;
  /** Attributes whose maps the value still has. */
  levels: Pick<Meaning, "translatable" | "marketSpecific">;
}

const isBlank = ({ value }: Given) => value === undefined || value === null;

/** Makes a value of those of one entry. */
class Making {
  readonly #identities: readonly Identity[];
  readonly #values: Values;
  readonly #budget: ConversionBudget;
  readonly #onLoss: OnLoss;
  /** Fields whose values are being made. Of two fields that are made of each other, an entry may have neither. */
  readonly #open = new Set<Identity>();

  constructor(identities: readonly Identity[], values: Values, budget: ConversionBudget, onLoss: OnLoss) {
    this.#identities = identities;
    this.#values = values;
    this.#budget = budget;
    this.#onLoss = onLoss;
  }

  valueOf(identity: Identity, made: Made): unknown {
    if (this.#open.has(identity)) return undefined;
    this.#open.add(identity);
    const given = Object.entries(made.sources).map(([name, source]): Given => {
      const { translatable, marketSpecific } = source;
      return { name, value: this.#read(source.stored), levels: { translatable, marketSpecific } };
    });
    this.#open.delete(identity);
    if (given.every(isBlank)) return undefined;
    return this.#inLevel(made, given, 0);
  }

  /** Returns the value of a field as it was in the form with a stored name. */
  #read(form: string): unknown {
    const identity = this.#identities.find((one) => allStored(one).includes(form)) ?? {
      stored: form,
      name: form,
    };
    const stored = allStored(identity);
    const own = [form, ...stored].find((one) => Object.hasOwn(this.#values, one));
    const convert = (from: string, value: unknown) =>
      from === form
        ? value
        : conversionTo(form, from, identity.forms ?? []).convert(value, undefined, this.#budget);
    if (own !== undefined) return convert(own, this.#values[own]);
    const { made } = identity;
    if (made === undefined) return undefined;
    const value = this.valueOf(identity, made);
    return value === undefined ? undefined : convert(made.form, value);
  }

  /** Makes a value for each market and language of the new field. */
  #inLevel(made: Made, given: readonly Given[], at: number): unknown {
    if (given.every(isBlank)) return null;
    const attribute = LEVELS[at];
    if (attribute === undefined) return this.#result(made, given);
    // What the new field does not have of languages and markets, its rule gets as a whole.
    if (made.shape[attribute] !== true)
      return this.#inLevel(
        made,
        given.map((one) => (one.levels[attribute] === true ? { ...one, levels: {} } : one)),
        at + 1,
      );
    const isMap = ({ value, levels }: Given) => levels[attribute] === true && isObject(value);
    const maps = given.flatMap((one) => (isMap(one) && isObject(one.value) ? [one.value] : []));
    const place = (attribute === "translatable" ? made.language : made.market) ?? "";
    const keys = maps.length === 0 ? [place] : [...new Set(maps.flatMap((map) => Object.keys(map)))];
    const inKey = (key: string) =>
      given.map((one) => ({
        ...one,
        value:
          isMap(one) && isObject(one.value)
            ? Object.hasOwn(one.value, key)
              ? one.value[key]
              : null
            : one.value,
      }));
    return each(Object.fromEntries(keys.map((key) => [key, key])), (key) =>
      this.#inLevel(made, inKey(String(key)), at + 1),
    );
  }

  #result({ rule, shape }: Made, given: readonly Given[]): unknown {
    const values = Object.fromEntries(given.map(({ name, value }) => [name, value ?? null]));
    if (rule !== undefined)
      return evaluated(
        { rule, to: shape, onLoss: this.#onLoss, budget: this.#budget },
        { data: { values }, told: values, at: LEVELS.length },
      );
    const names = given.map(({ name }) => name).join(", ");
    this.#onLoss(
      `has no value in entries that were written with ${names}: ${shown(values)}. Give the field a rule, as "from": { "convert": … }`,
    );
    return undefined;
  }
}

/**
 * Returns the identities, and for each field that comes back although a field was made of it: that its values are lost
 * in entries which have only those of the other field. A rule of its own says how to make them.
 * @param returned names of the fields that come back without such a rule
 */
export function withReturned(
  identities: readonly Identity[],
  returned: ReadonlyMap<string, Meaning>,
  before: Before,
): Identity[] {
  return identities.map((identity) => {
    const shape = identity.gone === true ? undefined : returned.get(identity.name);
    if (shape === undefined) return identity;
    const own = new Set(allStored(identity));
    const heirs = identities.flatMap(({ gone, made, name }) =>
      gone === true &&
      made?.rule !== undefined &&
      Object.values(made.sources).some(({ stored }) => own.has(stored))
        ? [name]
        : [],
    );
    const made = madeOf(identity.stored, shape, undefined, heirs, before);
    return made === undefined ? identity : { ...identity, made };
  });
}
