import type { OrbDocument } from "../definition/document/index.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { type CalledHandler, usesFaults } from "../handlers/registry.ts";
import { invalid } from "../kernel/errors.ts";

/** Returns the handlers of the hooks and schedules of a definition. */
function calledHandlers({ hooks = [], schedules = [] }: OrbDocument): CalledHandler[] {
  return Object.entries({ hooks, schedules }).flatMap(([member, list]) =>
    list.flatMap(({ handler }, index) =>
      handler === undefined ? [] : [{ path: `/${member}/${index}/handler`, name: handler }],
    ),
  );
}

/**
 * Throws an error if a handler in the definition is not registered or has an invalid registration, or if a hook or
 * schedule cannot call it.
 */
export async function requireHandlers(deps: HandlerDeps, document: OrbDocument): Promise<void> {
  const faults = await usesFaults(deps, document.uses, calledHandlers(document));
  if (faults.length === 0) return;
  const which = faults.length === 1 ? "a handler" : `${faults.length} handlers`;
  throw invalid(faults, `The orb ${document.id} names ${which} that it cannot use. See errors for each one.`);
}
