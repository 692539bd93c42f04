/** Validates JsonLogic rules and reports the position of every error. */
import type { Fault } from "../kernel/errors.ts";
import { clip, escapeSegment, Faults, joinNames } from "../kernel/faults.ts";
import { isObject } from "../kernel/json.ts";

/** Maximum nesting of a rule, and maximum number of its operators and values. */
const RULE_LIMITS = { depth: 32, nodes: 2_000 } as const;

/** JsonLogic operators with their minimum and maximum number of arguments. */
const OPERATORS: ReadonlyMap<string, readonly [number, number]> = new Map([
  ["var", [0, 2]],
  ["val", [0, 64]],
  ["exists", [1, 64]],
  ["missing", [0, 1_000]],
  ["missing_some", [2, 2]],
  ["if", [1, 1_000]],
  ["?:", [1, 1_000]],
  ["and", [1, 1_000]],
  ["or", [1, 1_000]],
  ["!", [1, 1]],
  ["!!", [1, 1]],
  ["??", [1, 1_000]],
  ["==", [2, 100]],
  ["===", [2, 100]],
  ["!=", [2, 100]],
  ["!==", [2, 100]],
  ["<", [2, 100]],
  ["<=", [2, 100]],
  [">", [2, 100]],
  [">=", [2, 100]],
  ["+", [1, 1_000]],
  ["-", [1, 1_000]],
  ["*", [1, 1_000]],
  ["/", [1, 1_000]],
  ["%", [2, 1_000]],
  ["min", [1, 1_000]],
  ["max", [1, 1_000]],
  ["in", [2, 2]],
  ["cat", [1, 1_000]],
  ["substr", [2, 3]],
  ["length", [1, 1]],
  ["merge", [0, 1_000]],
  ["keys", [1, 1]],
  ["map", [2, 2]],
  ["filter", [2, 2]],
  ["reduce", [2, 3]],
  ["all", [2, 2]],
  ["some", [2, 2]],
  ["none", [2, 2]],
  ["try", [1, 1_000]],
  ["throw", [1, 1]],
  ["preserve", [1, 1]],
  ["eachKey", [1, 1]],
]);

/** Operators that accept their arguments only as an array. */
const LISTED = new Set([
  "if",
  "?:",
  "and",
  "or",
  "??",
  "==",
  "===",
  "!=",
  "!==",
  "<",
  "<=",
  ">",
  ">=",
  "%",
  "in",
  "substr",
  "map",
  "filter",
  "reduce",
  "all",
  "some",
  "none",
  "missing_some",
]);

export function isOperator(name: string): boolean {
  return OPERATORS.has(name);
}

export function checkRule(rule: unknown, base = ""): Fault[] {
  const faults = new Faults();
  if (typeof rule !== "boolean" && !(isObject(rule) && Object.keys(rule).length > 0)) {
    faults.add(
      base,
      "rule",
      'must be an operator with its arguments, such as {">": [{"var": "total"}, 100]}',
    );
    return faults.list();
  }
  checkNode(rule, base, 0, { faults, nodes: 0 });
  return faults.list();
}

/** Operators whose second argument is evaluated for each item of the first one, and reads that item. */
const LOOPS = new Set(["map", "filter", "reduce", "all", "some", "none"]);

/**
 * Reports variables that a rule reads although they do not exist. They would be null. Does not look into loops, where
 * variables belong to the items of a list.
 * @param known names of the variables
 */
export function checkReads(rule: unknown, base: string, known: readonly string[]): Fault[] {
  const faults = new Faults();
  const visit = (node: unknown, path: string, depth: number): void => {
    if (depth > RULE_LIMITS.depth || typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) {
      for (const [index, item] of node.entries()) visit(item, `${path}/${index}`, depth + 1);
      return;
    }
    for (const [name, given] of Object.entries(node)) {
      const here = `${path}/${escapeSegment(name)}`;
      const [first] = [given].flat();
      if (name === "preserve") continue;
      if (name === "var" || name === "val" || name === "exists") {
        const read = typeof first === "string" && name === "var" ? first.split(".", 1)[0] : first;
        if (typeof read === "string" && !known.includes(read))
          faults.add(here, "unknown_variable", `must read ${joinNames(known)}, not "${clip(read)}"`);
      }
      if (LOOPS.has(name) && Array.isArray(given)) visit(given[0], `${here}/0`, depth + 1);
      else visit(given, here, depth + 1);
    }
  };
  visit(rule, base, 0);
  return faults.list();
}

interface CheckState {
  faults: Faults;
  nodes: number;
}

function checkNode(node: unknown, path: string, depth: number, state: CheckState): void {
  const { faults } = state;
  if (++state.nodes > RULE_LIMITS.nodes) {
    faults.add("", "too_many", `must have at most ${RULE_LIMITS.nodes} parts`);
    return;
  }
  if (depth > RULE_LIMITS.depth) {
    faults.add(path, "too_deep", `must be nested at most ${RULE_LIMITS.depth} levels deep`);
    return;
  }
  if (Array.isArray(node)) {
    for (const [index, item] of node.entries()) checkNode(item, `${path}/${index}`, depth + 1, state);
    return;
  }
  if (!isObject(node)) return;
  const names = Object.keys(node);
  const [name] = names;
  if (name === undefined) return;
  if (names.length > 1) {
    const text = "must have exactly one operator. Use eachKey or preserve to write an object as a value.";
    faults.add(path, "ambiguous", text);
    return;
  }
  const here = `${path}/${escapeSegment(name)}`;
  const range = OPERATORS.get(name);
  if (range === undefined) {
    const text = `is not an operator ("${clip(name)}"). Write an object as a value as {"preserve": {...}}.`;
    faults.add(here, "unknown_operator", text);
    return;
  }
  const given = node[name];
  if (name === "preserve") return;
  if (name === "eachKey") {
    if (!isObject(given)) faults.add(here, "arguments", "must be an object of expressions");
    else {
      for (const [key, item] of Object.entries(given)) {
        checkNode(item, `${here}/${escapeSegment(key)}`, depth + 1, state);
      }
    }
    return;
  }
  checkArguments(name, given, range, here, faults);
  checkNode(given, here, depth + 1, state);
}

function checkArguments(
  name: string,
  given: unknown,
  [least, most]: readonly [number, number],
  path: string,
  faults: Faults,
): void {
  if (!Array.isArray(given)) {
    if (LISTED.has(name)) faults.add(path, "arguments", "must be a list of arguments");
    return;
  }
  if (given.length < least || given.length > most) {
    const range = least === most ? String(least) : `${least} to ${most}`;
    faults.add(path, "arguments", `must have ${range} arguments (has ${given.length})`);
  }
}
