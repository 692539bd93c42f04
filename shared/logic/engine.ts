/** Evaluates JsonLogic rules with a limited number of steps, so that no rule can block a request. */
import { LogicEngine } from "json-logic-engine";
import { escapeSegment } from "../kernel/faults.ts";
import { METHODS } from "./methods.ts";

/** Limits that all rules of one call share. */
export const RUN_LIMITS = {
  steps: 100_000,
  depth: 64,
  /**
   * Maximum milliseconds. In Workers, the clock stands still during computation, so only the number of steps limits a
   * rule there.
   */
  timeMs: 250,
  /** Maximum characters of a string, and maximum items of a list, that a rule creates. */
  text: 65_536,
  items: 10_000,
  /** Maximum number of values in a rule's result, including nested ones. */
  result: 5_000,
} as const;

const TOLD = 50;
const TOLD_TEXT = 200;

export type RuleFailure = "too_many_steps" | "too_deep" | "too_slow" | "too_large" | "failed";

class LimitError extends Error {
  readonly code: RuleFailure;
  constructor(code: RuleFailure) {
    super(code);
    this.code = code;
  }
}

export interface Budget {
  steps: number;
  deadline: number;
  now: () => number;
}

export function budget(now: () => number): Budget {
  return { steps: RUN_LIMITS.steps, deadline: now() + RUN_LIMITS.timeMs, now };
}

export interface Condition {
  path: string;
  operator: string;
  result: boolean;
}

export interface Run {
  result: unknown;
  /** Whether the result is truthy: not false, null, 0, "" or []. */
  fired: boolean;
  failure: RuleFailure | undefined;
  conditions: Condition[];
  /** Values that the rule read from its input (facts), by path. Long texts are omitted. */
  facts: Record<string, unknown>;
}

const DECIDING = new Set([
  "==",
  "===",
  "!=",
  "!==",
  "<",
  "<=",
  ">",
  ">=",
  "in",
  "!",
  "!!",
  "and",
  "or",
  "all",
  "some",
  "none",
  "exists",
]);

class Engine extends LogicEngine {
  readonly #budget: Budget;
  readonly #places: Map<object, string>;
  readonly conditions: Condition[] = [];
  readonly facts: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  /** The first limit that was exceeded. It is kept, because a `try` in a rule could hide the error. */
  limit: LimitError | undefined;
  #depth = 0;

  constructor(left: Budget, places: Map<object, string>) {
    super(METHODS, {
      disableInline: true,
      disableInterpretedOptimization: true,
      permissive: false,
      maxDepth: 0,
    });
    this.#budget = left;
    this.#places = places;
    const text = (value: unknown): string => {
      if (typeof value === "object" && value !== null)
        throw new Error("cat does not accept lists or objects");
      return value === null || value === undefined ? "" : String(value);
    };
    this.addMethod("cat", (args: unknown) => {
      let out = "";
      for (const value of [args].flat()) {
        out += text(value);
        if (out.length > RUN_LIMITS.text) this.#exceed("too_large");
      }
      return out;
    });
    this.addMethod("merge", (args: unknown) => {
      const out: unknown[] = [];
      for (const value of Array.isArray(args) ? args : [args]) {
        if (Array.isArray(value)) for (const item of value) out.push(item);
        else out.push(value);
        if (out.length > RUN_LIMITS.items) this.#exceed("too_large");
      }
      return out;
    });
  }

  /** Returns whether JsonLogic counts a value as true. The library counts an empty object as false. */
  override truthy(value: unknown): boolean {
    return Array.isArray(value) ? value.length > 0 : Boolean(value);
  }

  #exceed(code: RuleFailure): never {
    this.limit ??= new LimitError(code);
    throw this.limit;
  }

  #spend(steps: number): void {
    const left = this.#budget;
    const before = left.steps;
    left.steps -= steps;
    if (left.steps < 0) this.#exceed("too_many_steps");
    // Reading the clock costs more than a step, so read it rarely.
    if (before >> 10 !== left.steps >> 10 && left.now() > left.deadline) this.#exceed("too_slow");
  }

  override run(logic: unknown, data: unknown, options?: { above?: unknown }): unknown {
    if (this.limit !== undefined) throw this.limit;
    this.#spend(1);
    if (++this.#depth > RUN_LIMITS.depth) this.#exceed("too_deep");
    try {
      const result: unknown = super.run(logic, data, options);
      // Large values cost more steps, because the next operator may read all of them.
      if (typeof result === "string") this.#spend(result.length >> 8);
      else if (Array.isArray(result)) this.#spend(result.length >> 2);
      if (typeof logic === "object" && logic !== null) this.#tell(logic, result);
      return result;
    } finally {
      this.#depth--;
    }
  }

  #tell(logic: object, result: unknown): void {
    const path = this.#places.get(logic);
    if (path === undefined) return;
    const [operator = ""] = Object.keys(logic);
    if (DECIDING.has(operator) && this.conditions.length < TOLD) {
      this.conditions.push({ path, operator, result: Boolean(this.truthy(result)) });
    } else if ((operator === "var" || operator === "val") && Object.keys(this.facts).length < TOLD) {
      const asked: unknown = Reflect.get(logic, operator);
      const names = operator === "var" ? [asked].flat().slice(0, 1) : [asked].flat();
      if (!names.every((name) => typeof name === "string" || typeof name === "number")) return;
      const value = shown(result);
      if (value !== undefined) this.facts[names.join(".").slice(0, TOLD_TEXT)] = value;
    }
  }
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return value.length > TOLD_TEXT ? undefined : value;
  return typeof value === "number" || typeof value === "boolean" || value === null ? value : undefined;
}

/**
 * Returns the JSON Pointer of each operator in a rule. Skips operators inside loops, because their result differs in
 * each iteration.
 */
function placesOf(rule: unknown): Map<object, string> {
  const places = new Map<object, string>();
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (!Array.isArray(node)) places.set(node, path);
    for (const [key, item] of Object.entries(node)) {
      if (/^(map|filter|reduce|all|some|none)$/.test(key) && Array.isArray(item))
        visit(item[0], `${path}/${key}/0`);
      else if (key !== "preserve") visit(item, `${path}/${escapeSegment(key)}`);
    }
  };
  visit(rule, "");
  return places;
}

/**
 * Returns whether a value contains more than `most` values, including nested ones. Counts a shared object each time
 * it occurs, because JSON repeats it.
 */
function larger(value: unknown, most: number): boolean {
  let left = most;
  const visit = (item: unknown, depth: number): boolean => {
    if (--left < 0 || depth > RUN_LIMITS.depth) return true;
    if (typeof item === "string") left -= item.length >> 8;
    if (typeof item !== "object" || item === null) return false;
    return Object.values(item).some((inner) => visit(inner, depth + 1));
  };
  return visit(value, 0);
}

/** Evaluates a rule. Errors in the rule or its facts become part of the result and are never thrown. */
export function runRule(rule: unknown, facts: unknown, left: Budget): Run {
  const engine = new Engine(left, placesOf(rule));
  const runOf = (result: unknown, failure: RuleFailure | undefined): Run => ({
    result,
    fired: failure === undefined && Boolean(engine.truthy(result)),
    failure,
    conditions: engine.conditions,
    facts: { ...engine.facts },
  });
  try {
    const result = engine.run(rule, facts);
    if (engine.limit !== undefined) return runOf(null, engine.limit.code);
    if (larger(result, RUN_LIMITS.result)) return runOf(null, "too_large");
    return runOf(typeof result === "function" || result === undefined ? null : result, undefined);
  } catch {
    return runOf(null, engine.limit?.code ?? "failed");
  }
}
