import { compileOrb } from "../../shared/definition/compile.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import type { StoredNames } from "../../shared/definition/names/stored-names.ts";
import { withNames, withStoredNames } from "../../shared/entry/model/names.ts";
import type { StoredValues } from "../../shared/entry/model/snapshot.ts";

/** The documents of an orb with one schema that were active, one after the other, and its values as they are stored. */
export class DocumentHistory {
  document: OrbDocument;
  names: StoredNames | undefined;

  constructor(document: OrbDocument) {
    this.document = document;
  }

  activate(document: OrbDocument): this {
    this.names = storedNames(document, this);
    this.document = document;
    return this;
  }

  get schema() {
    const found = compileOrb(this.document, this.names).modules.get("m")?.only;
    if (found === undefined) throw new Error("the document has one schema");
    return found;
  }

  write(values: Record<string, unknown>): StoredValues {
    return withStoredNames(this.schema, { values }).values;
  }

  read(values: StoredValues): Record<string, unknown> {
    return withNames(this.schema, { id: "0", module: "", schema: "", values }).values;
  }
}
