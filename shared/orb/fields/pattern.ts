/**
 * `pattern` is RE2 syntax and runs in linear time: a backtracking engine can be held up for seconds by thirty
 * characters. As in JSON Schema it may match anywhere; `^` and `$` anchor it.
 */
import { RE2JS } from "re2js";

/** Longest pattern, in characters. */
const MAX_PATTERN = 500;
/** Largest compiled pattern, in instructions: bounds what one character of a value can cost. */
export const PATTERN_LIMIT = 2_000;
/** Longest value that a pattern is run over, in characters. */
export const MAX_MATCHED = 10_000;

const CACHED = 500;
const cache = new Map<string, RE2JS | string>();

/** Compiles a pattern, or tells in words why it cannot be used. Results are cached, as compiling takes milliseconds. */
export function compilePattern(pattern: string): RE2JS | string {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const result = compile(pattern);
  if (cache.size >= CACHED) {
    const oldest = cache.keys().next();
    if (!oldest.done) cache.delete(oldest.value);
  }
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
