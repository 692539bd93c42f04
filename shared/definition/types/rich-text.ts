/** Names and addresses in rich text. The console uses this file, too, so it has no imports. */

/** Values of `_type`. No component of rich text can have these ids. */
export const BLOCK = "block";
export const SPAN = "span";
export const LINK = "link";
export const RESERVED_TYPES: readonly string[] = [BLOCK, SPAN, LINK];

/** What a field allows if its definition does not list it. */
export const DEFAULT_FORMATS = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"],
  marks: ["strong", "em", "underline", "strike-through", "code"],
  lists: ["bullet", "number"],
} as const;

/** Maximum levels of lists inside each other. */
export const MAX_LEVEL = 10;

/** Returns the address of an entry, below which the runtime API serves it. */
export const entryPath = (schema: string, id: string): string => `/api/${schema}/${id}`;

/**
 * Schemes of addresses that are safe to open. Browsers remove white space and control characters from an address before
 * they look for the scheme, so an address must not contain any.
 */
const SAFE_SCHEMES = ["http", "https", "mailto", "tel", "sms"];

/** Returns why an address must not be the target of a link, or undefined if it may. */
export function addressFlaw(href: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what must not occur
  if (/[\u0000-\u0020\u007f-\u00a0\\]/.test(href))
    return "must not contain white space, control characters or backslashes";
  const scheme = /^([^/?#]*?):/.exec(href)?.[1]?.toLowerCase();
  if (scheme === undefined || SAFE_SCHEMES.includes(scheme)) return href === "" ? "is required" : undefined;
  return `must be an address with one of these schemes, or without one: ${SAFE_SCHEMES.join(", ")}`;
}
