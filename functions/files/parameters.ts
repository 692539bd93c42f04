import type { Context } from "hono";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { knownParameters } from "../../shared/kernel/faults.ts";
import type { AppEnv } from "../request/context.ts";

/** Returns the query parameters. Throws 400 if one is unknown or occurs twice. */
export function parametersOf<const N extends string>(
  c: Context<AppEnv>,
  names: readonly N[],
): Partial<Record<N, string>> {
  const given: [string, string][] = [...new URL(c.req.url).searchParams];
  const faults = given.flatMap(([key], at) => {
    const path = `/${key.slice(0, 64)}`;
    if (!names.some((name) => name === key))
      return [{ path, code: "unknown_parameter", message: knownParameters(names) }];
    const isFirst = given.findIndex(([other]) => other === key) === at;
    return isFirst ? [] : [{ path, code: "duplicate", message: "must be given only once" }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
  return Object.fromEntries(given) as Partial<Record<N, string>>;
}
