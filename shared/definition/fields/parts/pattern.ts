/** Patterns of fields use RE2, which matches in linear time. A backtracking engine could block for seconds. */
import { RE2JS } from "re2js";
import { BoundedMap } from "../../../kernel/bounded-map.ts";

const MAX_PATTERN = 500;
/** Maximum instructions of a compiled pattern. Their number determines the cost per matched character. */
export const PATTERN_LIMIT = 2_000;
/** Maximum characters of a value that a pattern applies to. */
export const MAX_MATCHED = 10_000;

const cache = new BoundedMap<string, RE2JS | string>(500);

/** Returns the compiled pattern, or an error message. Caches results, because compiling takes milliseconds. */
export function compilePattern(pattern: string): RE2JS | string {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const result = compile(pattern);
  cache.set(pattern, result);
  return result;
}

function compile(pattern: string): RE2JS | string {
  if (pattern.length > MAX_PATTERN) return `must be at most ${MAX_PATTERN} characters long`;
  try {
    const compiled = RE2JS.compile(pattern);
    if (compiled.programSize() > PATTERN_LIMIT) return "is too complex. Use smaller repetition counts.";
    return compiled;
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "not understood";
    return `must be RE2 syntax, without look-around and back-references: ${reason}`;
  }
}
