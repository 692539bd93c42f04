import { unescapeSegment } from "../../kernel/faults.ts";

/** Thrown if a `$ref` points to a missing definition or only back to itself. */
export class BadReference extends Error {}

/** Splits a local `$ref`. Returns undefined for `#`, and null for an invalid encoding. */
export function definitionOf(ref: string): [keyword: string, key: string] | undefined | null {
  const [, keyword, segment] = ref.split("/");
  if (keyword === undefined || segment === undefined) return undefined;
  try {
    return [keyword, unescapeSegment(decodeURIComponent(segment))];
  } catch {
    return null;
  }
}
