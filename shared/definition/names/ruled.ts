/** Converts stored values by the rule that a document gives for a change of type (`"from": { "convert": … }`). */
import { isObject } from "../../kernel/json.ts";
import { type Budget, runRule } from "../../logic/engine.ts";
import { FIELD_TYPES } from "../fields/index.ts";
import type { Meaning, OnLoss, Step } from "./step.ts";

/**
 * Steps for all values of a field in an entry: in its languages and markets, and in all objects of a list. Pages read many
 * entries, so it is less than other rules have.
 */
const STEPS = 10_000;

/** What rules may still spend for a field in an entry. */
export type ConversionBudget = Budget;

/** Only steps limit conversions. With a limit of time, a busy host could read another value than an idle one. */
export const conversionBudget = (): ConversionBudget => ({ steps: STEPS, deadline: 0, now: () => 0 });

/** The maps around a value, from outside. */
export const LEVELS = ["marketSpecific", "translatable"] as const;

/** The conversion of one value. */
export interface Ruling {
  step: Step;
  rule: unknown;
  onLoss: OnLoss;
  /** Shared with the other values of the field in the entry. */
  budget: ConversionBudget;
}

/**
 * Converts a stored value by a rule: in each language and market that both forms have. A rule for a form without
 * languages gets the values in all of them. Lists are converted as a whole.
 */
export function byRule(ruling: Ruling, value: unknown): unknown {
  return inLevel(ruling, value, 0);
}

function inLevel(ruling: Ruling, value: unknown, at: number): unknown {
  const { step } = ruling;
  if (value === null || value === undefined) return null;
  const attribute = LEVELS[at];
  if (attribute === undefined) return result(ruling, value, at);
  const [was, is] = [step.from[attribute] === true, step.to[attribute] === true];
  if (was && !is) return result(ruling, value, at + 1);
  if (!was && !is) return inLevel(ruling, value, at + 1);
  if (!was) {
    const key = (attribute === "translatable" ? step.language : step.market) ?? "";
    const made = inLevel(ruling, value, at + 1);
    return made === undefined || made === null ? made : { [key]: made };
  }
  return isObject(value) ? each(value, (one) => inLevel(ruling, one, at + 1)) : undefined;
}

/** Converts the values of a map. Leaves out those that become null. Returns undefined if one cannot be converted. */
export function each(map: Readonly<Record<string, unknown>>, change: (value: unknown) => unknown): unknown {
  const all = Object.entries(map).map(([key, value]) => [key, change(value)] as const);
  if (all.some(([, value]) => value === undefined)) return undefined;
  const left = all.filter(([, value]) => value !== null);
  return left.length === 0 ? null : Object.fromEntries(left);
}

const result = ({ rule, step, onLoss, budget }: Ruling, value: unknown, at: number): unknown =>
  evaluated({ rule, to: step.to, onLoss, budget }, { data: { value }, told: value, at });

/**
 * Evaluates a rule, and requires a value that the new form can have.
 * @param input.told what messages show of the data
 * @param input.at the level below which the value is
 */
export function evaluated(
  { rule, to, onLoss, budget }: { rule: unknown; to: Meaning; onLoss: OnLoss; budget: ConversionBudget },
  { data, told, at }: { data: Readonly<Record<string, unknown>>; told: unknown; at: number },
): unknown {
  const what = `cannot be converted: ${shown(told)}.`;
  const run = budget.steps < 0 ? undefined : runRule(rule, data, budget);
  if (run === undefined || run.failure !== undefined) {
    const why = run?.failure === "failed" ? "" : ` (${run?.failure ?? "too_many_steps"})`;
    onLoss(`${what} The rule fails${why}`);
    return undefined;
  }
  return parsed(to, run.result, at, (message) =>
    onLoss(`${what} The rule returns ${shown(run.result)}, which ${message}`),
  );
}

function parsed(to: Meaning, value: unknown, at: number, refuse: (message: string) => void): unknown {
  if (value === null || value === undefined) return null;
  const attribute = LEVELS[at];
  if (attribute !== undefined) {
    if (to[attribute] !== true) return parsed(to, value, at + 1, refuse);
    if (isObject(value)) return each(value, (one) => parsed(to, one, at + 1, refuse));
    refuse(
      `must be an object with one property for each ${attribute === "translatable" ? "language" : "market"}`,
    );
    return undefined;
  }
  const single = (one: unknown) => FIELD_TYPES[to.type].parse(one, (_code, message) => refuse(message), to);
  if (to.list !== true) return single(value);
  if (!Array.isArray(value)) {
    refuse("must be a list");
    return undefined;
  }
  const items = value.map(single);
  return items.includes(undefined) ? undefined : items;
}

/** Characters of a value that a message shows. */
const SHOWN = 60;

/** Returns a value as the message of an error shows it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
