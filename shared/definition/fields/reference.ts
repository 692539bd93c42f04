import { ENTRY_ID } from "../document/ids.ts";
import { compareScalars, type FieldType } from "./type.ts";

/** The id of another entry. Writes check that the entry exists. */
export const referenceType: FieldType = {
  name: "reference",
  bounds: "none",
  pattern: false,
  enumerable: false,
  unique: true,
  default: false,
  sensitive: false,
  sortable: true,
  orderable: false,
  searchable: false,
  operators: ["eq", "ne", "in", "null"],
  parse(value, report) {
    if (typeof value !== "string") {
      report("type", "must be the id of an entry, as a string");
      return undefined;
    }
    if (ENTRY_ID.test(value)) return value;
    report("format", "must be the id of an entry");
    return undefined;
  },
  fromText: (text) => (ENTRY_ID.test(text) ? text : undefined),
  rules: () => () => {},
  compare: compareScalars,
  token: (value) => (typeof value === "string" ? `r:${value}` : null),
  jsonSchema: (field) => ({
    type: "string",
    pattern: ENTRY_ID.source,
    description: `Id of an entry of ${field.ref ?? "another schema"}.`,
  }),
};
