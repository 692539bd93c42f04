/** Compares the fields that rules make of other ones. */
import { joinNames } from "../kernel/faults.ts";
import { equal } from "../kernel/json.ts";
import type { Change, Side } from "./compat-fields.ts";
import { type FieldDefinition, readsOf, ruleOf } from "./document/index.ts";
import { allStored, type Before, isSameRule, madeBefore, madeIn, rootOf } from "./names/index.ts";
import { takesRule } from "./types/index.ts";

/** The fields of a schema, before and after a change. */
interface FieldsOfBoth {
  a: Side;
  b: Side;
  before: { list: readonly FieldDefinition[]; scope: string };
  after: { list: readonly FieldDefinition[]; scope: string };
  /** The fields that were members of objects before. */
  arrived: ReadonlySet<string>;
  /** Returns whether the values of a field come from the entries of another schema, or become such entries. */
  isOther: (field: FieldDefinition) => boolean;
}

/** Returns how a rule newly makes the values of a field of others. Undefined if none does. */
function newlyMade({ a, b, before, after }: Omit<FieldsOfBoth, "arrived" | "isOther">, name: string) {
  const made = madeIn(b.names, after.scope, name);
  return equal(made, madeIn(a.names, before.scope, name)) ? undefined : made;
}

const refused = (field: string, message: string): Change => ({
  severity: "dangerous",
  code: "converted_field",
  field,
  message,
});

/** Returns why a rule cannot make the values of a field, if it cannot. */
function refusedRule(lists: FieldsOfBoth, field: FieldDefinition, was: FieldDefinition | undefined) {
  const { a, b, before, after } = lists;
  const { name, from } = field;
  const rule = ruleOf({ from });
  const reads = readsOf(rule);
  const root = b.names.rootOf(after.scope, name);
  const earlier = madeBefore(a.names, before.scope, root);
  if (was !== undefined) {
    if (reads.length === 0 || equal(ruleOf(was), rule) || equal(earlier?.rule, rule)) return undefined;
    const why =
      earlier?.rule === undefined
        ? "because the schema has it already, with the same type, list, translatable and marketSpecific"
        : "because another rule makes it already";
    if (newlyMade(lists, name)?.rule === undefined)
      return `Field ${name} cannot be made of ${joinNames(reads)}, ${why}. Give the rule to a field with a new name.`;
  }
  const known: Before = {
    meaning: (one) => before.list.find((each) => each.name === one),
    identities: a.names.identitiesIn(before.scope),
    place: {},
  };
  const isBack = earlier?.rule !== undefined && reads.length > 0 && isSameRule(earlier, rule, known);
  if (earlier?.rule !== undefined && !isBack && (reads.length > 0 || !lists.arrived.has(name)))
    return `Field ${name} was made by a rule, and comes back ${reads.length === 0 ? "without it" : "with another one"}. Give it the rule that it had, or another name.`;
  const unread = reads.filter((read) => {
    const source = before.list.find((one) => one.name === read);
    return source === undefined || !takesRule(source);
  });
  if (!isBack && unread.length > 0)
    return `Field ${name} cannot be made of ${joinNames(unread)}: its rule can read only fields that the schema has now, and neither sensitive ones nor objects, rich text, references and files.`;
  const chained = isBack ? [] : reads.filter((read) => isChained(lists, read, root));
  if (chained.length > 0)
    return `Field ${name} cannot be made of ${joinNames(chained)}, of which a rule makes the values. Make it of the fields that this rule reads.`;
  const narrow = reads.filter((read) =>
    sourcesOf(lists, read).some((source) => !readsAsNarrow(source, field)),
  );
  if (narrow.length > 0)
    return `Field ${name} cannot be made of ${joinNames(narrow)}, because other callers could read it. Give it an access.read that names no other callers than that of ${joinNames(narrow)}.`;
  return undefined;
}

/** Returns whether a rule makes a field of others, apart from the one that comes back. */
function isChained({ a, before }: FieldsOfBoth, read: string, root: string): boolean {
  const made = madeIn(a.names, before.scope, read);
  if (made?.rule === undefined) return false;
  const all = a.names.identitiesIn(before.scope);
  const rootOfStored = (stored: string) => {
    const found = all.find((one) => allStored(one).includes(stored));
    return found === undefined ? stored : rootOf(found);
  };
  return Object.values(made.sources).every(({ stored }) => rootOfStored(stored) !== root);
}

/** Returns a field that a rule reads: as it was, and as it is now. */
function sourcesOf({ a, b, before, after }: FieldsOfBoth, read: string): FieldDefinition[] {
  const root = a.names.rootOf(before.scope, read);
  return [
    ...before.list.filter(({ name }) => name === read),
    ...after.list.filter(({ name }) => b.names.rootOf(after.scope, name) === root),
  ];
}

/** Returns whether nobody may read a field who may not read the other one. */
function readsAsNarrow(source: FieldDefinition, { access }: FieldDefinition): boolean {
  const known = source.access?.read;
  return known === undefined || access?.read?.every((one) => known.includes(one)) === true;
}

/** Returns the changes of new fields that a rule makes of others. */
export function madeChanges(lists: FieldsOfBoth): Change[] {
  const { a, b, before, after } = lists;
  const known = new Map(before.list.map((field) => [a.names.rootOf(before.scope, field.name), field]));
  return after.list.flatMap((field): Change[] => {
    const { name, unique } = field;
    if (lists.isOther(field)) return [];
    const made = newlyMade(lists, name);
    const was = known.get(b.names.rootOf(after.scope, name));
    const message = refusedRule(lists, field, was);
    if (message !== undefined) return [refused(name, message)];
    // A field that was there before has another type, which is a change of its own.
    if (made === undefined || was !== undefined || lists.arrived.has(name)) return [];
    const sources = Object.keys(made.sources);
    const roots = Object.values(made.sources).map(({ stored }) => stored);
    const fate =
      made.rule === undefined
        ? `Entries that were written with ${joinNames(sources)} have no value of it.`
        : `A rule makes its values of ${joinNames(sources)} when they are read.`;
    const told = `Field ${name} is ${made.rule === undefined ? "back" : "new"}. ${fate}`;
    const change: Change = {
      severity: "converted",
      code: "converted_field",
      field: name,
      message: told,
      roots,
      mayLose: true,
      ...(made.rule === undefined ? { candidates: sources } : {}),
    };
    return unique === true ? [change, { ...madeUnique(name), roots }] : [change];
  });
}

/** Different values may become equal ones, also those that are written while the unique values are reserved. */
const madeUnique = (name: string): Change => ({
  severity: "claim",
  code: "added_unique",
  field: name,
  message: `Field ${name} is unique: the values that its rule makes must differ.`,
});

/** Returns the new fields that take the place of a removed one. */
export function madeOfRemoved(lists: Omit<FieldsOfBoth, "arrived" | "isOther">, root: string): string[] {
  const { a, before, after } = lists;
  return after.list.flatMap(({ name }) => {
    const made = newlyMade(lists, name);
    const sources = Object.keys(made?.sources ?? {});
    return sources.some((one) => a.names.rootOf(before.scope, one) === root) ? [name] : [];
  });
}

/** @param heirs the fields that take its place */
export const becameOthers = (name: string, heirs: readonly string[]): Change => ({
  severity: "tightened",
  code: "removed_field",
  field: name,
  message: `Field ${name} is removed in favour of ${joinNames(heirs)}.`,
});
