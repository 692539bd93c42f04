/** Returns whether a value is an object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Maximum nesting of JSON from clients, so that recursion over it cannot exhaust the stack. */
export const DEPTH_LIMIT = 64;

/** Checks the nesting of a JSON text without parsing it. */
export function tooDeep(text: string, limit = DEPTH_LIMIT): boolean {
  return membersIn(text, limit) === undefined;
}

/**
 * Counts the members of all objects in a JSON text without parsing it. Returns undefined if the text is nested deeper
 * than `limit`.
 */
export function membersIn(text: string, limit = DEPTH_LIMIT): number | undefined {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 58) members++;
    else if (code === 123 || code === 91) {
      if (++depth > limit) return undefined;
    } else if (code === 125 || code === 93) depth--;
  }
  return members;
}

/**
 * Applies a JSON Merge Patch (RFC 7396). Members of the patch replace members of the target; null removes a member.
 * Objects are merged, but an array replaces the whole array.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => Reflect.get(a, key) !== undefined);
  const others = Object.keys(b).filter((key) => Reflect.get(b, key) !== undefined);
  if (keys.length !== others.length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(Reflect.get(a, key), Reflect.get(b, key)));
}

/** Returns JSON with sorted members, so that equal values give equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${members.join(",")}}`;
}
