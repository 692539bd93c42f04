/**
 * Patterns are RE2 and run in linear time: thirty characters can block a backtracking engine for seconds. As in JSON
 * Schema, a pattern may match anywhere; `^` and `$` anchor it.
 */
import { RE2JS } from "re2js";
import { BoundedMap } from "../../kernel/bounded-map.ts";

/** Maximum length of a pattern in characters. */
const MAX_PATTERN = 500;
/** Maximum size of a compiled pattern in instructions, which limits the cost per character. */
export const PATTERN_LIMIT = 2_000;
/** Maximum length of a value with a pattern, in characters. */
export const MAX_MATCHED = 10_000;

const cache = new BoundedMap<string, RE2JS | string>(500);

/** Compiles a pattern, or returns why it is invalid. Caches results, because compiling takes milliseconds. */
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
