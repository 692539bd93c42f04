/** Checks that the handlers of a document are registered. */
import type { OrbDocument } from "../definition/document/document.ts";
import type { HandlerDeps } from "../handlers/contract/types.ts";
import { usesFaults } from "../handlers/registry.ts";
import { invalid } from "../kernel/errors.ts";

/**
 * Requires that all handlers of a document can be used. @throws AppError invalid `unknown_handler`, `faulty_handler`
 */
export async function requireHandlers(deps: HandlerDeps, document: OrbDocument): Promise<void> {
  const faults = await usesFaults(deps, document.uses);
  if (faults.length > 0) throw invalid(faults, faults.map(({ message }) => message).join(" "));
}
