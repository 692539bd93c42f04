/** Which module and schema a built-in handler works on: named in its input, or the only one there is. */

import type { CompiledModule, CompiledSchema } from "../../definition/compile.ts";
import type { ModuleType } from "../../definition/document/document.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { requireLive } from "../../definition/stored/live.ts";
import type { Deps } from "../../deps.ts";
import type { Fault } from "../../kernel/errors.ts";
import { invalid, notFound } from "../../kernel/errors.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Members of the input that name them. */
export const TARGET_INPUT = {
  module: {
    type: "string",
    description: "Module; may be left out where the orb has one of this type.",
    maxLength: 63,
  },
  schema: { type: "string", description: "Schema; may be left out where the module has one.", maxLength: 63 },
} as const satisfies Record<string, JsonSchema>;

/** What a caller named. */
export interface Target {
  module?: unknown;
  schema?: unknown;
}

function fault(path: string, code: string, message: string): never {
  const faults: Fault[] = [{ path, code, message }];
  throw invalid(faults);
}

/**
 * Reads the definition from the leader, for the retry of a handler's write.
 * @throws AppError not_found when the orb is no longer live, or no longer uses the handler
 */
export async function requireUsing(
  deps: Pick<Deps, "store">,
  orb: string,
  handler: string,
): Promise<LiveOrb> {
  const live = await requireLive(deps, orb);
  if (![...live.compiled.handlers.values()].includes(handler)) {
    throw notFound("handler", "The orb uses no handler of this name.");
  }
  return live;
}

/** The module of a type. @throws AppError invalid `required`, `unknown_module` at /module */
export function moduleOf(live: LiveOrb, type: ModuleType, target: Target): CompiledModule {
  const all = [...live.compiled.modules.values()].filter((module) => module.type === type);
  const [only] = all;
  if (target.module === undefined) {
    if (only !== undefined && all.length === 1) return only;
    if (only === undefined) fault("/module", "unknown_module", `The orb has no module of type ${type}.`);
    fault("/module", "required", `The orb has several modules of type ${type}: name one.`);
  }
  const named = all.find(({ id }) => id === target.module);
  return named ?? fault("/module", "unknown_module", `The orb has no such module of type ${type}.`);
}

/** The schema of a module of a type. @throws AppError invalid `required`, `unknown_schema` at /schema, and as {@link moduleOf} */
export function schemaOf(live: LiveOrb, type: ModuleType, target: Target): CompiledSchema {
  const module = moduleOf(live, type, target);
  if (target.schema === undefined) {
    return module.only ?? fault("/schema", "required", "The module does not have one schema only: name one.");
  }
  const named = module.schemas.get(String(target.schema));
  return named ?? fault("/schema", "unknown_schema", "The module has no such schema.");
}
