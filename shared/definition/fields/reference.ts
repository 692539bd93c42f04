import { clip, joinNames, type Report } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { ENTRY_ID, idIn, isPolymorphic, refsOf, targetNamed, targetsOf } from "../document/index.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import { compareScalars, type FieldType, type Json } from "./parts/index.ts";

function parseId(value: unknown, report: Report, sub?: string): string | undefined {
  if (typeof value === "string" && ENTRY_ID.test(value)) return value;
  if (typeof value === "string") report("format", "must be the id of an entry", sub);
  else report("type", "must be the id of an entry, as a string", sub);
  return undefined;
}

/** Parses a reference to one of several schemas. An id alone refers to the first of them. */
function parsePointer(refs: readonly string[], value: unknown, report: Report): Json | undefined {
  if (typeof value === "string") {
    const id = parseId(value, report);
    return id === undefined ? undefined : { schema: refs[0] ?? "", id };
  }
  if (!isObject(value)) {
    report(
      "type",
      `must be an object with the schema and the id of an entry: {"schema": "${refs[0]}", "id": "…"}`,
    );
    return undefined;
  }
  for (const name of Object.keys(value))
    if (name !== "schema" && name !== "id")
      report("unknown_property", `is not part of a reference: ${clip(name)}. Use schema and id.`, "");
  const target = targetNamed(targetsOf({ ref: [...refs] }), value.schema);
  if (target === undefined)
    report(value.schema === undefined ? "required" : "enum", `must be one of: ${joinNames(refs)}`, "/schema");
  const id = parseId(value.id, report, "/id");
  return target === undefined || id === undefined ? undefined : { schema: target.ref, id };
}

/**
 * The id of another entry, or an object with its schema and its id if the field may refer to several schemas. Writes
 * check that the entry exists.
 */
export const referenceType: FieldType = {
  name: "reference",
  ...FIELD_TRAITS.reference,
  parse: (value, report, field) =>
    field !== undefined && isPolymorphic(field)
      ? parsePointer(refsOf(field), value, report)
      : parseId(value, report),
  fromText: (text) => (ENTRY_ID.test(text) ? text : undefined),
  rules: () => () => {},
  compare: (a, b) => compareScalars(idIn(a) ?? null, idIn(b) ?? null),
  token(value) {
    const id = idIn(value);
    return id === undefined ? null : `r:${id}`;
  },
  jsonSchema(field) {
    const id = { type: "string", pattern: ENTRY_ID.source };
    const refs = refsOf(field);
    const description = `Id of an entry of ${refs[0] ?? "another schema"}.`;
    if (!isPolymorphic(field)) return { ...id, description };
    return {
      type: "object",
      properties: { schema: { type: "string", enum: [...refs] }, id },
      required: ["schema", "id"],
      additionalProperties: false,
    };
  },
};
