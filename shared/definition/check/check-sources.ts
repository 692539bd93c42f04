/** Checks the attribute `from` of fields that get the values of earlier fields as they are. */
import { clip, escapeSegment, type Faults } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { FIELD_NAME } from "../document/index.ts";
import { type LooseDocument, type LooseField, ownProperty } from "./loose.ts";

/** Returns the attribute `from` of a field, if it is an object with a property. */
export const fromOf = ({ raw }: LooseField, attribute: "convert" | "fields" | "entry" | "reference") => {
  const from = ownProperty(raw, "from");
  return isObject(from) && ownProperty(from, attribute) !== undefined ? from : undefined;
};

/** Checks which fields become members of an object. */
export function checkMoves(
  document: LooseDocument,
  field: LooseField,
  fields: readonly LooseField[],
  faults: Faults,
): void {
  const moves = ownProperty(fromOf(field, "fields") ?? {}, "fields");
  if (!isObject(moves)) return;
  const path = `${field.path}/from/fields`;
  const is = ({ raw }: LooseField, attribute: string) => ownProperty(raw, attribute) === true;
  if (field.type !== "object" || ["list", "translatable", "marketSpecific"].some((one) => is(field, one))) {
    const message =
      "must only be set on a field of type object without list, translatable and marketSpecific";
    faults.add(path, "not_applicable", message);
    return;
  }
  const component = document.components.find(({ id }) => id !== undefined && id === field.component?.value);
  const members = [...field.fields, ...(component?.fields ?? [])];
  const sources = new Set<unknown>();
  for (const [name, source] of Object.entries(moves)) {
    const at = `${path}/${escapeSegment(name)}`;
    const member = members.find((one) => one.name === name);
    if (member === undefined) faults.add(at, "unknown_reference", "names no field of the object");
    else if (member.type === "object" || is(member, "sensitive"))
      faults.add(at, "not_applicable", "must not name an object or a sensitive field");
    if (typeof source !== "string" || !FIELD_NAME.test(source))
      faults.add(at, "format", "must be the name that the field had before");
    else if (fields.some((one) => one.name === source))
      faults.add(
        at,
        "duplicate",
        `must not be "${clip(source)}", which the schema still has. Remove that field.`,
      );
    if (sources.has(source)) faults.add(at, "duplicate", "is already another member");
    sources.add(source);
  }
}

/** Checks which object becomes an entry, or which entry becomes an object. */
export function checkSteps(field: LooseField, fields: readonly LooseField[], faults: Faults): void {
  for (const [attribute, type] of [
    ["entry", "reference"],
    ["reference", "object"],
  ] as const) {
    const source = ownProperty(fromOf(field, attribute) ?? {}, attribute);
    if (source === undefined) continue;
    const path = `${field.path}/from`;
    const refuse = (message: string, code = "not_applicable") =>
      faults.add(`${path}/${attribute}`, code, message);
    const isSet = (one: string) => ownProperty(field.raw, one) === true;
    if (field.type !== type || ["translatable", "marketSpecific"].some(isSet))
      refuse(`must only be set on a field of type ${type} without translatable and marketSpecific`);
    else if (type === "reference" && typeof ownProperty(field.raw, "ref") !== "string")
      refuse("must only be set on a field that refers to one schema");
    else if (fields.some(({ name }) => name === source))
      refuse(
        `must not be "${clip(String(source))}", which the schema still has. Remove that field.`,
        "duplicate",
      );
  }
}
