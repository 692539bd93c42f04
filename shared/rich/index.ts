/**
 * Conversions between Portable Text and markup languages. The functions load this folder only when a request needs it,
 * so it imports nothing that the rest of the platform imports, too.
 */
export { fromHtml } from "./from-html.ts";
export { fromMarkdown, isNestedTooDeep, markdownParser } from "./from-markdown.ts";
export { type Block, type Converted, type Target, Unconvertible } from "./model.ts";
export { withStored } from "./stored.ts";
export { toHtml } from "./to-html.ts";
export { toMarkdown } from "./to-markdown.ts";
export { toText } from "./to-text.ts";
