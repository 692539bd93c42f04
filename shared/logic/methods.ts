/**
 * Limits the operators of json-logic-engine. With a huge `length` or a long path, a client could otherwise make them
 * loop for a long time.
 */

import { defaultMethods } from "json-logic-engine";
import { isObject } from "../kernel/json.ts";
import { containsText } from "../texts/search.ts";
import { isOperator } from "./check.ts";

interface Runner {
  run(logic: unknown, data: unknown, options: { above: unknown }): unknown;
}
type Method = (
  args: unknown,
  context: unknown,
  above: unknown,
  engine: Runner,
  ...more: unknown[]
) => unknown;
interface Operator {
  method: Method;
}

/**
 * Maximum number of levels that a path may go up. More levels cannot exist, because rules cannot be nested more deeply.
 */
const MOST_LEVELS = 64;
/** Maximum characters of a path. json-logic-engine caches two thousand parsed paths. */
const LONGEST_PATH = 1_000;

const known = defaultMethods as unknown as Record<string, Operator>;

/** Wraps an operator of json-logic-engine, so that its arguments are checked first. */
function guarded(name: string, look: (args: unknown) => void): Operator {
  const operator = known[name];
  if (operator === undefined) throw new Error(`json-logic-engine has no ${name}`);
  const method: Method = (args, ...more) => {
    look(args);
    return operator.method(args, ...more);
  };
  return { ...operator, method };
}

function requireShort(paths: unknown): void {
  for (const path of [paths].flat())
    if (typeof path === "string" && path.length > LONGEST_PATH) throw new Error("a path is too long");
}

/** Rejects a path that goes up too many levels. The path `[[2], "a"]` means `a` two levels up. */
function requireNear(args: unknown): void {
  const [first] = [args].flat();
  if (Array.isArray(first) && Math.abs(Number(first[0])) > MOST_LEVELS)
    throw new Error(`a path climbs more than ${MOST_LEVELS} levels`);
}

/** Rejects objects with a `length`, because json-logic-engine would treat them as lists. */
function requireList(list: unknown): void {
  if (isObject(list) && Object.hasOwn(list, "length")) throw new Error("the value is not a list");
}

/** Wraps an operator of json-logic-engine, so that its list is checked with {@link requireList} first. */
function walking(name: string): Operator {
  const operator = known[name];
  if (operator === undefined) throw new Error(`json-logic-engine has no ${name}`);
  const method: Method = (args, context, above, engine) => {
    const [from, ...rest] = args as readonly unknown[];
    const list = engine.run(from, context, { above });
    requireList(list);
    return operator.method([{ preserve: list }, ...rest], context, above, engine);
  };
  return { ...operator, method };
}

export const METHODS: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(Object.entries(known).filter(([name]) => isOperator(name))),
  var: guarded("var", (args) => requireShort([args].flat()[0])),
  val: guarded("val", requireNear),
  exists: guarded("exists", requireNear),
  missing: guarded("missing", requireShort),
  missing_some: guarded("missing_some", (args) => {
    const options = (args as readonly unknown[])[1];
    requireList(options);
    requireShort(options);
  }),
  some: walking("some"),
  all: walking("all"),
  none: walking("none"),
  in: (args: readonly unknown[]) => {
    const [item, among] = args;
    return typeof among === "string"
      ? containsText(among, String(item))
      : ((among || []) as unknown[]).includes(item);
  },
};
