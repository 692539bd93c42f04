import { clip, type Faults, joinNames } from "../../kernel/faults.ts";
import type { LooseDocument, LooseModule } from "./loose.ts";

/** The module and the schema that a part of a document names, such as a hook. */
interface Place {
  path: string;
  module: string | undefined;
  schema: string | undefined;
}

/** Returns the module that a part of a document names. Reports a module or a schema that the document does not have. */
export function namedModule(
  document: LooseDocument,
  { path, module: id, schema }: Place,
  faults: Faults,
): LooseModule | undefined {
  if (id === undefined) {
    if (schema !== undefined) faults.add(`${path}/module`, "required", "is required beside schema");
    return undefined;
  }
  const module = document.modules.find((other) => other.id === id);
  if (module === undefined) {
    faults.add(`${path}/module`, "unknown_module", `names no module of this document: ${clip(id)}`);
    return undefined;
  }
  if (schema === undefined || module.schemas.some((other) => other.id === schema)) return module;
  const names = joinNames(module.schemas.flatMap((other) => other.id ?? []));
  faults.add(`${path}/schema`, "unknown_schema", `must be a schema of the module: ${names}`);
  return module;
}
