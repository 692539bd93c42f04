/** Checks that the placeholders of preview addresses name fields whose values an address can have. */
import type { Faults } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { PREVIEW_PARTS, placeholdersIn } from "../document/index.ts";
import { traitsOf } from "../types/index.ts";
import { type LooseDocument, type LooseField, type LooseModule, ownProperty, texts } from "./loose.ts";

export function checkPreviews(document: LooseDocument, faults: Faults): void {
  for (const module of document.modules)
    for (const { path, raw, fields } of module.schemas) {
      const preview = ownProperty(raw, "preview");
      if (preview === undefined) continue;
      checkModule(module, `${path}/preview`, faults);
      const url = isObject(preview) ? ownProperty(preview, "url") : undefined;
      if (typeof url !== "string") continue;
      for (const name of new Set(placeholdersIn(url))) {
        const message = faultOf(document, fields, name);
        if (message !== undefined) faults.add(`${path}/preview/url`, "unknown_field", message);
      }
    }
}

function checkModule({ type }: LooseModule, path: string, faults: Faults): void {
  if (type === undefined || type === "CONTENT" || type === "CONFIG") return;
  faults.add(
    path,
    "not_applicable",
    `must not be set in a module of the type ${type}, which sites cannot read`,
  );
}

/** Returns the names of a field: its own and its earlier ones, so that an address outlives a change of the name. */
const namesOf = ({ name, raw }: LooseField): (string | undefined)[] => {
  const was = ownProperty(raw, "was");
  return [name, ...(typeof was === "string" ? [was] : texts(was, "").map(({ value }) => value))];
};

function faultOf(document: LooseDocument, fields: readonly LooseField[], name: string): string | undefined {
  if (name === "market" && document.markets.length === 0)
    return "must not contain {market} in an orb without markets";
  if (PREVIEW_PARTS.some((part) => part === name)) return undefined;
  const field = fields.find((one) => one.name === name) ?? fields.find((one) => namesOf(one).includes(name));
  if (field === undefined)
    return `must contain only names of fields of the schema, or locale, market and id (has ${name})`;
  const { type, raw } = field;
  const is = (attribute: string) => ownProperty(raw, attribute) === true;
  const isPlain = type === undefined || traitsOf(type).kind !== "other";
  if (isPlain && !is("list") && !is("sensitive")) return undefined;
  return `must not contain {${name}}, because an address can only have single values that are not sensitive`;
}
