/** Finds the rules in the entries of RULES modules. */
import type { Fault } from "../kernel/errors.ts";
import { checkRule } from "../logic/check.ts";
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK } from "./document/index.ts";

/** Returns the field that contains the rule: `rule`, or the schema's only json field. */
export function ruleField(schema: CompiledSchema): CompiledField | undefined {
  const json = [...schema.fields.values()].filter((field) => field.definition.type === "json");
  const named = json.find((field) => field.name === "rule");
  const found = named ?? (json.length === 1 ? json[0] : undefined);
  if (found === undefined || found.list || found.translatable || found.marketSpecific || found.sensitive) {
    return undefined;
  }
  return found;
}

export function ruleFaults(schema: CompiledSchema, values: Readonly<Record<string, unknown>>): Fault[] {
  if (schema.moduleType !== "RULES") return [];
  const field = ruleField(schema);
  const rule = field === undefined ? undefined : values[field.name];
  if (field === undefined || rule === undefined || rule === null || rule === MASK) return [];
  return checkRule(rule, `/values/${field.name}`);
}
