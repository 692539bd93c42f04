/** Thrown for a `$ref` to a missing definition, or only back to itself. */
export class BadReference extends Error {}

/**
 * Parses a local reference: the keyword with the definitions and the key in it. Decodes the URI fragment and the JSON
 * Pointer. Returns undefined for `#` (the schema itself), null for an invalid encoding.
 */
export function definitionOf(ref: string): [keyword: string, key: string] | undefined | null {
  const [, keyword, segment] = ref.split("/");
  if (keyword === undefined || segment === undefined) return undefined;
  try {
    return [keyword, decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~")];
  } catch {
    return null;
  }
}
