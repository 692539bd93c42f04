import { readSettings } from "../../functions/env.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
import { newId, randomToken } from "../../shared/kernel/ids.ts";
import { actingFor } from "../../shared/modules/acting.ts";
import { BUILT_IN } from "../../shared/modules/builtin.ts";
import type { Store } from "../../shared/store/types.ts";

/**
 * Returns the dependencies with which a script calls the platform's operations.
 * @param variables the platform's environment variables
 */
export function scriptDeps(store: Store, variables: Record<string, string>): HandlerDeps {
  const requestId = newId(Date.now());
  const silent = () => undefined;
  return {
    store,
    clock: { now: () => Date.now() },
    // Log nothing. Scripts print their results, and the audit log records their changes.
    log: { debug: silent, info: silent, warn: silent, error: silent },
    config: readSettings(variables).config,
    request: { requestId, traceparent: undefined, client: "script" },
    newId: () => newId(Date.now()),
    randomToken,
    builtIn: BUILT_IN,
    actingFor,
    afterwards: (work) => void work.catch(silent),
  };
}
