import { FIELD_TRAITS } from "../types/index.ts";
import {
  characterRules,
  characterSchema,
  comparedAs,
  type FieldType,
  fromTexts,
  parseCharacters,
} from "./parts/index.ts";

/** Maximum characters of an address that mail servers accept (RFC 5321, as corrected by erratum 1690). */
const MAX_EMAIL = 254;
const LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
/** The form of the HTML standard, with a domain of at least two parts: `ann@example` is a typing error. */
const EMAIL = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})+$`);

/**
 * Returns the form in which addresses are compared. RFC 5321 lets a server tell the case of the part before the @
 * apart, but hardly any does, and people expect one account for `Ann@example.org` and `ann@example.org`.
 */
const sortKey = (text: string) => text.toLowerCase();

const parse: FieldType["parse"] = (value, report) => {
  const text = parseCharacters(value, MAX_EMAIL, report);
  if (text === undefined || EMAIL.test(text)) return text;
  report("format", "must be an e-mail address, such as ann@example.org");
  return undefined;
};

/** An e-mail address. It keeps its case, and is compared without it. */
export const emailType: FieldType = {
  name: "email",
  ...FIELD_TRAITS.email,
  parse,
  madeFrom: fromTexts(parse),
  fromText: (text) => (text.length <= MAX_EMAIL ? text : undefined),
  rules: characterRules,
  ...comparedAs(sortKey),
  jsonSchema: (field) => ({ ...characterSchema(field, MAX_EMAIL), format: "email" }),
};
