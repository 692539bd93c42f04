/** References that a caller writes as the value of a unique field, by the names of an earlier revision. */
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import { withRenamedKeys } from "../index/index.ts";
import { targetSchema } from "../model/index.ts";
import { namedAsOld } from "./fields.ts";

interface Definitions {
  compiled: CompiledOrb;
  live: CompiledOrb;
}

/** Returns the schema of the live definition that an earlier one calls `orb/module/schema`. */
function schemaNow({ compiled, live }: Definitions, ref: unknown): CompiledSchema | undefined {
  const [orb, module = "", name] = typeof ref === "string" ? ref.split("/") : [];
  const old = orb === live.id ? compiled.schema(module, name) : undefined;
  return old && live.byHome.get(homeKey(old.home));
}

/** Returns values of the live schema in which references by key have the names of the live definition. */
export function withLiveKeys(definitions: Definitions, schema: CompiledSchema, values: unknown): unknown {
  const { compiled, live } = definitions;
  return withRenamedKeys(schema, values, ({ schema: name, ...key }, to) => {
    const target = to === undefined ? schemaNow(definitions, name) : targetSchema(live, to);
    const old = target && compiled.byHome.get(homeKey(target.home));
    const fields = old && namedAsOld({ old, now: target }).fields;
    const named = Object.entries(
      to === undefined ? key : { ...key, ...(name === undefined ? {} : { schema: name }) },
    );
    const own = Object.fromEntries(named.map(([field, value]) => [fields?.get(field)?.name ?? field, value]));
    if (to !== undefined) return own;
    return { schema: target === undefined ? name : `${live.id}/${target.module}/${target.id}`, ...own };
  });
}
