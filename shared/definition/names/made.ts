/**
 * New fields whose values a rule makes of several earlier fields
 * (`"from": { "convert": { "cat": [{ "var": "values.first" }, " ", { "var": "values.last" }] } }`). No entry is
 * rewritten: the rule runs when a revision is read that was stored before the field existed. Each later write stores the
 * field's own value, and a mark, so that the rule never replaces what was written later, or nothing.
 */
import { equal, isObject } from "../../kernel/json.ts";
import { type FieldDefinition, isEntryRule } from "../document/index.ts";
import { conversionTo, meaningOf } from "./forms.ts";
import type { MovedField } from "./moves.ts";
import { remembered } from "./remembered.ts";
import { type ConversionBudget, conversionBudget, each, evaluated, LEVELS, shown } from "./ruled.ts";
import { splitItems } from "./split.ts";
import type { Meaning, OnLoss } from "./step.ts";
import { allStored, type Identity, lineOf, type Made, type NameTable, rootOf } from "./stored-names.ts";

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

/** Returns the identity that a field has, or had before it was removed: that with one of these stored names. */
export const madeBefore = (names: NameTable, scope: string, root: string): Made | undefined =>
  names.identitiesIn(scope).find((identity) => rootOf(identity) === root)?.made;

/** Returns a rule that reads fields by their stored names, so that a rename makes no other rule of it. */
const inStored = (rule: unknown, storedOf: (name: string) => string): unknown => {
  if (Array.isArray(rule)) return rule.map((one: unknown) => inStored(one, storedOf));
  if (!isObject(rule)) return rule;
  return Object.fromEntries(
    Object.entries(rule).map(([name, given]) => {
      const [path, ...rest] = name === "var" ? [given].flat() : [];
      const [root, field, ...inner] = typeof path === "string" ? path.split(".") : [];
      if (root !== "values" || field === undefined) return [name, inStored(given, storedOf)];
      const read = [root, storedOf(field), ...inner].join(".");
      return [name, [read, ...rest.map((one: unknown) => inStored(one, storedOf))]];
    }),
  );
};

/**
 * Returns whether a field that comes back has the rule that it had. A rule may read sources that the document before no
 * longer has, or that have other names now.
 */
export function isSameRule(made: Made, rule: unknown, { meaning, identities }: Before): boolean {
  const rootOfStored = (stored: string) => {
    const found = identities.find((one) => allStored(one).includes(stored));
    return found === undefined ? stored : rootOf(found);
  };
  const earlier = (name: string) => {
    const source = made.sources[name];
    return source === undefined ? name : rootOfStored(source.stored);
  };
  const now = (name: string) => {
    if (meaning(name) === undefined) return earlier(name);
    const found = identities.find((one) => one.gone !== true && one.name === name);
    return found === undefined ? name : rootOf(found);
  };
  return equal(inStored(made.rule, earlier), inStored(rule, now));
}

/** End of the stored names of marks. No field has such a name. */
const MARK = "~made";

/** Returns values without the marks, also of fields that the definition no longer has. */
export function withoutAnyMarks<T extends Values>(values: T): T {
  const isMark = (name: string) => name.endsWith(MARK);
  if (!Object.keys(values).some(isMark)) return values;
  const shown = Object.fromEntries(Object.entries(values).filter(([name]) => !isMark(name))) as T;
  return remembered(shown, values);
}

/** A field of a schema whose values are made of others, if an entry was stored before the field existed. */
export interface MadeField {
  readonly name: string;
  /** The stored name of the mark: an entry with it was written after the rule. */
  readonly mark: string;
  /** The stored name under which the rule makes a value. */
  readonly form: string;
  /** The paths of the field, or of those of which it is made, that are members of objects now. */
  readonly moved: readonly string[];
  /** The stored names that the field had before the rule. The earlier document shows values under them again. */
  readonly earlier: readonly string[];
  /**
   * Returns the stored values of which the value is made, if the definition no longer has their fields, or the field had
   * them itself. A field without a value gets null: otherwise, it would seem to be lost when it comes back. Objects that became entries have none, nor has a field that no rule makes.
   */
  readonly sourcesIn: (values: Values, isCurrent: (stored: string) => boolean) => Values;
  /** Returns whether an entry was stored with the field. */
  readonly isStored: (values: Values) => boolean;
  /**
   * Returns the values with the one that the rule makes of them. Returns the same values if the entry was stored with
   * the field, or has none of the earlier values.
   * @param id id of the entry
   * @param lose called with the reason why the rule can make no value
   */
  readonly add: (values: Values, id: string, lose?: OnLoss) => Values;
}

/**
 * Returns the fields of a schema whose values are made of others.
 * @param moved the fields that moved into objects
 */
export function madeFields(
  names: NameTable,
  scope: string,
  fields: readonly Pick<FieldDefinition, "name">[],
  moved: readonly MovedField[],
): MadeField[] {
  const identities = names.identitiesIn(scope);
  const pathsOf = (stored: readonly string[]) =>
    moved.flatMap((one) =>
      !one.isOwn && one.stored.some((name) => stored.includes(name)) ? [one.path] : [],
    );
  return identities.flatMap((identity): MadeField[] => {
    const { made, gone, name } = identity;
    if (made === undefined) return [];
    const [inside] = gone === true ? pathsOf(allStored(identity)) : [];
    if (inside === undefined && (gone === true || fields.every((field) => field.name !== name))) return [];
    const mark = `${rootOf(identity)}${MARK}`;
    // The values that a field had before the rule are what the rule reads.
    const [, ...earlier] = lineOf(made.form, identity.forms ?? []);
    const own = allStored(identity).filter((stored) => !earlier.includes(stored));
    const isStored = (values: Values) => [mark, ...own].some((one) => Object.hasOwn(values, one));
    const sources = Object.values(made.sources).map(({ stored }) => stored);
    const allOf = (source: string) => {
      if (earlier.includes(source)) return [...new Set([source, ...earlier])];
      const all = identities.map(allStored).flatMap((one) => (one.includes(source) ? one : []));
      return [...new Set([source, ...all])];
    };
    return [
      {
        name: inside ?? name,
        mark,
        form: made.form,
        moved: [...new Set([...(inside === undefined ? [] : [inside]), ...pathsOf(sources)])],
        earlier: made.rule === undefined ? [] : earlier,
        sourcesIn: (values, isCurrent) =>
          made.rule === undefined || isEntryRule(made.rule)
            ? {}
            : valuesUnder(
                sources
                  .map(allOf)
                  .filter((names) => !names.some((one) => isCurrent(one) && !earlier.includes(one))),
                values,
                !isStored(values),
              ),
        isStored,
        add(values, id, onLoss = () => {}) {
          if (isStored(values)) return values;
          const value = new Making(identities, { id, values }, conversionBudget(), onLoss).valueOf(made);
          return value === undefined ? values : { ...values, [made.form]: value };
        },
      },
    ];
  });
}

/**
 * Returns values without those that a field had before a rule made its values of several fields, if the entry was stored
 * with the field. They are kept for the earlier document only.
 */
export function withoutEarlier<T extends Values>(made: readonly MadeField[], values: T): T {
  const names = made.flatMap(({ earlier, isStored }) =>
    earlier.length > 0 && isStored(values) ? earlier.filter((one) => Object.hasOwn(values, one)) : [],
  );
  if (names.length === 0) return values;
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))) as T;
}

/**
 * Returns for each list of stored names the value under one of them, or null. Returns nothing if there is no value.
 * @param isMade whether a rule has made a value, so that fields without one had none
 */
function valuesUnder(lists: readonly (readonly string[])[], values: Values, isMade: boolean): Values {
  const found = lists.map((names) => names.find((one) => Object.hasOwn(values, one)));
  if (!isMade && found.every((one) => one === undefined)) return {};
  return Object.fromEntries(
    lists.map(([first = ""], at) => {
      const own = found[at];
      return own === undefined ? [first, null] : [own, values[own]];
    }),
  );
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
  readonly #id: string;
  readonly #values: Values;
  readonly #budget: ConversionBudget;
  readonly #onLoss: OnLoss;

  constructor(
    identities: readonly Identity[],
    { id, values }: { id: string; values: Values },
    budget: ConversionBudget,
    onLoss: OnLoss,
  ) {
    this.#identities = identities;
    this.#id = id;
    this.#values = values;
    this.#budget = budget;
    this.#onLoss = onLoss;
  }

  valueOf(made: Made): unknown {
    const given = Object.entries(made.sources).map(([name, source]): Given => {
      const { translatable, marketSpecific } = source;
      return { name, value: this.#read(source.stored), levels: { translatable, marketSpecific } };
    });
    if (given.every(isBlank)) return undefined;
    return this.#inLevel(made, given, 0);
  }

  /**
   * Returns the stored value of a field as it was in the form with a stored name. A value that a rule would make is none:
   * rules cannot be made of each other, so reading an entry takes one step for each source.
   */
  #read(form: string): unknown {
    const identity = this.#identities.find((one) => allStored(one).includes(form)) ?? {
      stored: form,
      name: form,
    };
    const own = [form, ...allStored(identity)].find((one) => Object.hasOwn(this.#values, one));
    if (own === undefined || own === form) return own === undefined ? undefined : this.#values[form];
    return conversionTo(form, own, identity.forms ?? []).convert(this.#values[own], undefined, this.#budget);
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

  #result({ rule, shape, form }: Made, given: readonly Given[]): unknown {
    if (isEntryRule(rule)) {
      const ids = splitItems({ id: this.#id, form }, given[0]?.value).map((item) => item.id);
      return shape.list === true ? ids : (ids[0] ?? null);
    }
    // A variable whose field has no value gets its default.
    const values = Object.fromEntries(
      given.flatMap((one) => (isBlank(one) ? [] : [[one.name, one.value] as const])),
    );
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
    // A field that a rule made keeps it. Its return without the rule is refused.
    if (shape === undefined || identity.made?.rule !== undefined) return identity;
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
