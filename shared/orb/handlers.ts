import type { OrbDocument } from "../definition/document/document.ts";
import type { HandlerDeps } from "../handlers/contract/types.ts";
import { usesFaults } from "../handlers/registry.ts";
import { invalid } from "../kernel/errors.ts";

/** Throws an error if a handler in the definition is unknown or faulty. */
export async function requireHandlers(deps: HandlerDeps, document: OrbDocument): Promise<void> {
  const faults = await usesFaults(deps, document.uses);
  if (faults.length > 0) throw invalid(faults, faults.map(({ message }) => message).join(" "));
}
