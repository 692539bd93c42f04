import { FIELD_TRAITS } from "../types/index.ts";
import {
  characterRules,
  characterSchema,
  comparedAs,
  type FieldType,
  fromTexts,
  parseCharacters,
} from "./parts/index.ts";

/** Maximum characters. Some browsers and servers refuse longer addresses. */
const MAX_URL = 2_048;
/** The characters that RFC 3986 allows. */
const ASCII = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/;

/**
 * Returns the address in its stored form: as written, or with letters of other scripts encoded. Undefined if it is no
 * address of a page. Refuses white space, which URL parsers remove or encode, and names and passwords.
 */
function readUrl(text: string): string | undefined {
  if (text.length > MAX_URL || !/^https?:\/\/[^\s\p{Cc}]+$/iu.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || url.hostname === "" || url.username !== "" || url.password !== "") return undefined;
  const stored = ASCII.test(text) ? text : url.href;
  return ASCII.test(stored) && stored.length <= MAX_URL ? stored : undefined;
}

/** Returns the form in which addresses are compared: `HTTPS://Example.org` is the address `https://example.org/`. */
const sortKey = (text: string) => URL.parse(text)?.href ?? text;

const parse: FieldType["parse"] = (value, report) => {
  const text = parseCharacters(value, MAX_URL, report);
  if (text === undefined) return undefined;
  const stored = readUrl(text);
  if (stored === undefined)
    report(
      "format",
      "must be an address that begins with https:// or http://, without spaces, user name and password",
    );
  return stored;
};

/** The address of a page: only `http` and `https`, so that it is safe as a link. */
export const urlType: FieldType = {
  name: "url",
  ...FIELD_TRAITS.url,
  parse,
  madeFrom: fromTexts(parse),
  fromText: (text) => (text.length <= MAX_URL ? text : undefined),
  rules: characterRules,
  ...comparedAs(sortKey),
  jsonSchema: (field) => ({ ...characterSchema(field, MAX_URL), format: "uri" }),
};
