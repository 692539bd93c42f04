/** Thrown for a `$ref` that leads nowhere, or only back to itself. */
export class BadReference extends Error {}

/**
 * Which definition a local reference names: the keyword that holds it, and its key, decoded as the fragment of a URI and
 * as a JSON Pointer. Undefined for `#`, the schema itself; null when it is not encoded as it should be.
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
