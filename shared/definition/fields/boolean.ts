import { FIELD_TRAITS } from "../types/index.ts";
import { compareScalars, type FieldType } from "./parts/index.ts";

export const booleanType: FieldType = {
  name: "boolean",
  ...FIELD_TRAITS.boolean,
  parse(value, report) {
    if (typeof value === "boolean") return value;
    report("type", "must be true or false");
    return undefined;
  },
  fromText: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  rules: () => () => {},
  compare: compareScalars,
  token: (value) => (typeof value === "boolean" ? `b:${value}` : null),
  jsonSchema: () => ({ type: "boolean" }),
};
