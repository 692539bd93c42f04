/**
 * The operators of json-logic-engine with what it does not ask: a fact may say of itself how long it is, a path how far it
 * climbs. Both are numbers that anybody sends, and the library goes as far as they say, in a loop that nothing counts.
 */
import { defaultMethods } from "json-logic-engine";
import { holds } from "../search.ts";
import { isOperator } from "./check.ts";

/** What runs a rule: the operators are handed it. */
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

/** Levels that a path climbs at most, above which no rule is nested. */
const MOST_LEVELS = 64;
/** Characters of a path at most. The library keeps the last two thousand that it took apart. */
const LONGEST_PATH = 1_000;

const known = defaultMethods as unknown as Record<string, Operator>;

/** An operator that looks at its arguments first. The library's own marks of it stay. */
function guarded(name: string, look: (args: unknown) => void): Operator {
  const operator = known[name];
  if (operator === undefined) throw new Error(`json-logic-engine has no ${name}`);
  const method: Method = (args, ...more) => {
    look(args);
    return operator.method(args, ...more);
  };
  return { ...operator, method };
}

/** @throws Error when a path, or one of several, is longer than any that names a fact */
function requireShort(paths: unknown): void {
  for (const path of [paths].flat())
    if (typeof path === "string" && path.length > LONGEST_PATH) throw new Error("a path is too long");
}

/** `[[2], "a"]` is `a` two levels up. @throws Error for more levels than there can be */
function requireNear(args: unknown): void {
  const [first] = [args].flat();
  if (Array.isArray(first) && Math.abs(Number(first[0])) > MOST_LEVELS)
    throw new Error("a path climbs too far");
}

/** @throws Error for an object that calls itself a list */
function requireList(list: unknown): void {
  if (typeof list === "object" && list !== null && !Array.isArray(list) && Object.hasOwn(list, "length"))
    throw new Error("this is no list");
}

/** `some`, `all` and `none`: what they walk is looked at before they do. */
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

/** The operators that rules may use. */
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
      ? holds(among, String(item))
      : ((among || []) as unknown[]).includes(item);
  },
};
