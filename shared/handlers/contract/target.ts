import type { CompiledModule, CompiledSchema } from "../../definition/compile.ts";
import type { ModuleType } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { requireLive } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import type { Fault } from "../../kernel/errors.ts";
import { invalid, notFound } from "../../kernel/errors.ts";
import type { JsonSchema } from "../schema/index.ts";

export const TARGET_INPUT = {
  module: {
    type: "string",
    description: "Module id. Optional if the orb has one module of this type.",
    maxLength: 63,
  },
  schema: { type: "string", description: "Schema id. Optional if the module has one schema.", maxLength: 63 },
} as const satisfies Record<string, JsonSchema>;

export interface Target {
  module?: unknown;
  schema?: unknown;
}

function fault(path: string, code: string, message: string): never {
  const faults: Fault[] = [{ path, code, message }];
  throw invalid(faults);
}

/**
 * Reads the application's current definition before a retry. Throws if the application no longer uses the handler.
 */
export async function requireUsing(
  deps: Pick<Deps, "store">,
  orb: string,
  handler: string,
): Promise<LiveOrb> {
  const live = await requireLive(deps, orb);
  if (!live.compiled.handlerNames.has(handler)) {
    throw notFound("handler", "The orb uses no handler of this name. Add it to uses in the orb document.");
  }
  return live;
}

/** Returns the module that the request names, or the only module of this type. */
export function moduleOf(live: LiveOrb, type: ModuleType, target: Target): CompiledModule {
  const all = [...live.compiled.modules.values()].filter((module) => module.type === type);
  const [only] = all;
  if (target.module === undefined) {
    if (only !== undefined && all.length === 1) return only;
    if (only === undefined)
      fault("/module", "unknown_module", `names no module: the orb has no module of type ${type}`);
    fault("/module", "required", `is required, because the orb has several modules of type ${type}`);
  }
  const named = all.find(({ id }) => id === target.module);
  return named ?? fault("/module", "unknown_module", `is not the id of a module of type ${type} in this orb`);
}

/** Returns the schema that the request names, or the module's only schema. */
export function schemaOf(live: LiveOrb, type: ModuleType, target: Target): CompiledSchema {
  const module = moduleOf(live, type, target);
  if (target.schema === undefined) {
    return (
      module.only ??
      fault("/schema", "required", "is required, because the module does not have exactly one schema")
    );
  }
  const named = module.schemas.get(String(target.schema));
  return named ?? fault("/schema", "unknown_schema", "is not the id of a schema in this module");
}
