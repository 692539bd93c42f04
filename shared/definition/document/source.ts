/** Where the values of a field come from: the attribute `from`. */
import { z } from "zod";
import { FIELD_NAME } from "./ids.ts";

const ruleSchema = z.strictObject({
  convert: z.unknown().meta({
    description:
      'A JsonLogic rule. It reads the stored value as {"var": "value"}. In a new field of a schema, it reads the earlier fields as {"var": "values.first"}, as in one that changes its type.',
    example: { in: [{ var: "value" }, ["yes", "on"]] },
  }),
});

const membersSchema = z.strictObject({
  fields: z
    .record(z.string(), z.string())
    .refine((fields) => Object.keys(fields).length > 0, "must have a member")
    .meta({
      description: "For each member of the object, the name of the field that it was before.",
      example: { title: "metaTitle" },
    }),
});

const fieldName = z.string().regex(FIELD_NAME, "must be the name of a field");

const entrySchema = z.strictObject({
  entry: fieldName.meta({
    description: "The object field that becomes an entry of the schema in `ref`.",
    example: "authorInfo",
  }),
});

const referenceSchema = z.strictObject({
  reference: fieldName.meta({
    description: "The reference field whose entry becomes the object.",
    example: "author",
  }),
});

export const fromSchema = z
  .union(
    [fieldName, ruleSchema, membersSchema, entrySchema, referenceSchema],
    'must be the name of a field, an object with a rule: { "convert": … }, one with earlier fields: { "fields": … }, or one with an earlier field: { "entry": … } or { "reference": … }',
  )
  .meta({
    description:
      "The field of which a slug is made if it is left out: the slug stays when that field changes. Or, for a field that changes its type, the rule that converts the stored values. Or, for an object, the fields that become its members, or the reference whose entry becomes the object. Or, for a reference, the object that becomes an entry.",
    example: "title",
  });

interface Sourced {
  from?: z.output<typeof fromSchema> | undefined;
}

/** Returns the name of the field of which a slug is made. */
export const sourceOf = ({ from }: Sourced): string | undefined =>
  typeof from === "string" ? from : undefined;

/** Operator of the internal rule by which an object becomes an entry. Rules of documents cannot have it. */
const ENTRY = "entry";

/**
 * Returns the JsonLogic rule that converts the values that were stored before the field changed its type. For a
 * reference to the entry that an object becomes, returns what {@link isEntryRule} knows.
 */
export const ruleOf = (field: Sourced): unknown => {
  const { from } = field;
  const object = splitOf(field);
  if (object !== undefined) return { [ENTRY]: [{ var: `values.${object}` }] };
  return typeof from === "object" && "convert" in from ? from.convert : undefined;
};

/** Returns whether a field refers to the entry that an object becomes. */
export const isEntryRule = (rule: unknown): boolean =>
  typeof rule === "object" && rule !== null && Object.hasOwn(rule, ENTRY);

/** Returns the object field that becomes an entry, for the reference to this entry. */
export const splitOf = ({ from }: Sourced): string | undefined =>
  typeof from === "object" && "entry" in from ? from.entry : undefined;

/** Returns the reference field whose entry becomes an object. */
export const joinOf = ({ from }: Sourced): string | undefined =>
  typeof from === "object" && "reference" in from ? from.reference : undefined;

/** Returns the fields that become members of an object: for each member, the field's name. */
export const movesOf = ({ from }: Sourced): [member: string, field: string][] =>
  typeof from === "object" && "fields" in from ? Object.entries(from.fields) : [];

/** Returns the fields that a rule for a new field reads: those in `{ "var": "values.first" }`, also as a default. */
export function readsOf(rule: unknown): string[] {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [name, given] of Object.entries(node)) {
      const path: unknown = Array.isArray(given) ? given[0] : given;
      const [root, field] = name === "var" && typeof path === "string" ? path.split(".") : [];
      if (root === "values" && field !== undefined && field !== "") found.add(field);
      visit(given);
    }
  };
  visit(rule);
  return [...found];
}

/** Operators that read values by names which are not those of fields, or are known only when the rule runs. */
const UNTOLD = new Set(["val", "exists", "missing", "missing_some"]);

/** Returns the operators of a rule for a new field by which nobody can tell which fields it reads. */
export function untoldReads(rule: unknown): string[] {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [name, given] of Object.entries(node)) {
      const path: unknown = Array.isArray(given) ? given[0] : given;
      if (UNTOLD.has(name)) found.add(name);
      if (name === "var" && (typeof path !== "string" || /^values\.?$/.test(path))) found.add(name);
      visit(given);
    }
  };
  visit(rule);
  return [...found];
}
