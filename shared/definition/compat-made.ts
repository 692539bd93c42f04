/** Compares the fields that rules make of other ones. */
import { joinNames } from "../kernel/faults.ts";
import { equal } from "../kernel/json.ts";
import type { Change, Side } from "./compat-fields.ts";
import type { FieldDefinition } from "./document/document.ts";
import { readsOf, ruleOf } from "./document/source.ts";
import { madeIn } from "./names/made.ts";
import { takesRule } from "./types/traits.ts";

/** The fields of a schema, before and after a change. */
interface FieldsOfBoth {
  a: Side;
  b: Side;
  before: { list: readonly FieldDefinition[]; scope: string };
  after: { list: readonly FieldDefinition[]; scope: string };
}

/** Returns how a rule newly makes the values of a field of others. Undefined if none does. */
function newlyMade({ a, b, before, after }: FieldsOfBoth, name: string) {
  const made = madeIn(b.names, after.scope, name);
  return equal(made, madeIn(a.names, before.scope, name)) ? undefined : made;
}

/** Returns the changes of new fields that a rule makes of others. */
export function madeChanges(lists: FieldsOfBoth): Change[] {
  const { a, b, before, after } = lists;
  const known = new Map(before.list.map((field) => [a.names.rootOf(before.scope, field.name), field]));
  return after.list.flatMap((field): Change[] => {
    const { name, unique, from } = field;
    const made = newlyMade(lists, name);
    const was = known.get(b.names.rootOf(after.scope, name));
    const reads = readsOf(ruleOf({ from }));
    if (was !== undefined && reads.length > 0 && !equal(ruleOf(was), ruleOf({ from }))) {
      const message = `Field ${name} cannot be made of ${joinNames(reads)}, because the schema has it already. Give the rule to a field with a new name.`;
      return [{ severity: "dangerous", code: "converted_field", field: name, message }];
    }
    const unread = reads.filter((read) => {
      const source = before.list.find((one) => one.name === read);
      return source === undefined || !takesRule(source);
    });
    if (was === undefined && unread.length > 0) {
      const message = `Field ${name} cannot be made of ${joinNames(unread)}: its rule can read only fields that the schema has now, and neither sensitive ones nor objects, rich text, references and files.`;
      return [{ severity: "dangerous", code: "converted_field", field: name, message }];
    }
    if (made === undefined) return [];
    const sources = Object.keys(made.sources);
    const roots = Object.values(made.sources).map(({ stored }) => stored);
    const fate =
      made.rule === undefined
        ? `Entries that were written with ${joinNames(sources)} have no value of it.`
        : `A rule makes its values of ${joinNames(sources)} when they are read.`;
    const message = `Field ${name} is ${made.rule === undefined ? "back" : "new"}. ${fate}`;
    const change: Change = {
      severity: "converted",
      code: "converted_field",
      field: name,
      message,
      roots,
      mayLose: true,
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
export function madeOfRemoved(lists: FieldsOfBoth, root: string): string[] {
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
