import { mayField, type Principal } from "../../access/authorize.ts";
import { handlersOnly, refusal } from "../../access/refusals.ts";
import type { CompiledModule, CompiledSchema } from "../../definition/compile.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { ruleField } from "../../definition/rule.ts";
import type { Deps } from "../../deps.ts";
import {
  inBatches,
  readLive,
  scanForwards,
  type VisibleEntry,
  type WantedEntry,
} from "../../entry/index/index.ts";
import { type LocalHandler, moduleOf, schemaOf, TARGET_INPUT } from "../../handlers/contract/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { checkRule } from "../../logic/check.ts";
import { budget, type Condition, type RuleFailure, runRule } from "../../logic/engine.ts";
import { ReadBudget } from "../../store/budget.ts";
import { subjects } from "../../store/subjects.ts";

const RULES_LIMIT = 1_000;
const CHUNK = 500;

interface Rule {
  id: string;
  schema: string;
  name: string | null;
  priority: number;
  rule: unknown;
}

export interface Trace {
  id: string;
  schema: string;
  name: string | null;
  priority: number;
  /** Whether the result is truthy. */
  fired: boolean;
  result: unknown;
  /** The reason why the evaluation of the rule failed. A failed rule counts as one that did not fire. */
  failure?: RuleFailure | "unsound";
  conditions: Condition[];
  /** Values that the rule read from its input (facts), by path. Null if the input lacks the value. */
  facts: Record<string, unknown>;
}

export interface Evaluation {
  /** Results of the rules that fired, in order of evaluation. */
  results: { id: string; schema: string; name: string | null; result: unknown }[];
  evaluated: number;
  trace?: Trace[];
}

function ruleOf(schema: CompiledSchema, seen: VisibleEntry): Rule | undefined {
  const field = ruleField(schema);
  const { id, values } = seen.shown;
  const rule = field === undefined ? undefined : values[field.name];
  if (rule === undefined || rule === null) return undefined;
  const { name, priority } = values;
  return {
    id,
    schema: schema.id,
    name: typeof name === "string" ? name : null,
    priority: typeof priority === "number" ? priority : 0,
    rule,
  };
}

async function liveRules(
  deps: Deps,
  budget: ReadBudget,
  live: LiveOrb,
  schema: CompiledSchema,
): Promise<Rule[]> {
  const filter = subjects.schemaIndex({ orb: live.orb, ...schema.home });
  const rules: Rule[] = [];
  for await (const { places } of scanForwards(deps.store, { orb: live.orb, filter, first: CHUNK }, 0)) {
    const wanted = places.map(({ id }) => ({ schema, id }));
    const read = (some: readonly WantedEntry[], maxBytes: number) =>
      readLive(deps, live.orb, some, "stale", maxBytes);
    for await (const { result } of inBatches(budget, wanted, read)) {
      for (const seen of result) {
        const rule = seen === undefined ? undefined : ruleOf(schema, seen);
        if (rule !== undefined) rules.push(rule);
      }
      budget.require();
    }
    if (rules.length > RULES_LIMIT) {
      const text = `At most ${RULES_LIMIT} live rules run in one call. Name a schema, or archive some rules.`;
      throw new AppError("invalid", "too_many_rules", text);
    }
  }
  return rules;
}

/** Sorts rules by priority, highest first, and then by age, oldest first. */
function inOrder(a: Rule, b: Rule): number {
  return b.priority - a.priority || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** @param options.first stop after the first rule that fires */
async function evaluateRules(
  deps: Deps,
  live: LiveOrb,
  module: CompiledModule,
  facts: unknown,
  options: { schema?: CompiledSchema | undefined; first: boolean },
): Promise<{ trace: Trace[] }> {
  const schemas = options.schema === undefined ? [...module.schemas.values()] : [options.schema];
  const bytes = new ReadBudget();
  const charged = { ...deps, store: bytes.charging(deps.store) };
  const rules = (await Promise.all(schemas.map((schema) => liveRules(charged, bytes, live, schema)))).flat();
  rules.sort(inOrder);
  const left = budget(() => deps.clock.now());
  const trace: Trace[] = [];
  for (const { rule, ...names } of rules) {
    // Check the stored rule again, because an older version may have accepted rules that this one does not.
    if (checkRule(rule).length > 0) {
      trace.push({ ...names, fired: false, result: null, failure: "unsound", conditions: [], facts: {} });
      continue;
    }
    const { failure, ...run } = runRule(rule, facts, left);
    trace.push({ ...names, ...run, ...(failure === undefined ? {} : { failure }) });
    if (run.fired && options.first) break;
  }
  return { trace };
}

const RESULT = {
  type: "object",
  required: ["results", "evaluated"],
  properties: {
    results: {
      type: "array",
      description: "Results of the rules that fired, in execution order.",
      items: {
        type: "object",
        required: ["id", "schema", "name", "result"],
        properties: {
          id: { type: "string" },
          schema: { type: "string" },
          name: { type: ["string", "null"] },
          result: {},
        },
      },
    },
    evaluated: { type: "integer", description: "Number of rules that ran." },
    trace: {
      type: "array",
      description: "Every rule that ran: whether it fired, its conditions, and the facts that it read.",
      items: { type: "object" },
    },
  },
} as const;

/**
 * Throws 401 or 403 if the caller may not evaluate the rules of a schema. By default, every account may; `access.read`
 * of the schema can restrict this, also to handlers.
 */
function requireEvaluator(caller: Principal, { definition, access }: CompiledSchema): void {
  if (definition.access?.read === undefined) {
    if (caller.role === "public") throw refusal(caller.actor, "user");
    return;
  }
  const { read } = access;
  if (mayField(caller, "read", { access: { read, write: undefined }, own: false })) return;
  if (read.least === null && read.handlers.length > 0) throw handlersOnly(read.handlers);
  throw refusal(
    caller.actor,
    read.least === null || read.least === "public" ? "user" : read.least,
    read.roles,
  );
}

export const rulesEvaluate: LocalHandler = {
  kind: "local",
  name: "rules.evaluate",
  act: "rules:evaluate",
  description:
    "Runs the live rules (JsonLogic) of a RULES module over facts. Higher priority runs first; equal priorities run in order of age, oldest first.",
  auth: "AuthRequired",
  input: {
    type: "object",
    required: ["facts"],
    additionalProperties: false,
    properties: {
      ...TARGET_INPUT,
      schema: {
        ...TARGET_INPUT.schema,
        description: "Run only the rules of this schema. Default: all rules of the module.",
      },
      facts: { type: "object", description: "Facts for the rules." },
      mode: { enum: ["all", "first"], description: "`first` stops after the first rule that fires." },
      trace: { type: "boolean", description: "false omits the trace." },
    },
  },
  output: RESULT,
  async run({ deps, live, principal, input }) {
    const module = moduleOf(live, "RULES", input);
    const schema = input.schema === undefined ? undefined : schemaOf(live, "RULES", input);
    for (const one of schema === undefined ? module.schemas.values() : [schema])
      requireEvaluator(principal, one);
    const first = input.mode === "first";
    const { trace } = await evaluateRules(deps, live, module, input.facts, { schema, first });
    const results = trace
      .filter(({ fired }) => fired)
      .map(({ id, schema: of, name, result }) => ({ id, schema: of, name, result }));
    const evaluation: Evaluation = { results, evaluated: trace.length };
    if (input.trace !== false) evaluation.trace = trace;
    return evaluation;
  },
};
