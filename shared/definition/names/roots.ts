/** Tells the parts of a document apart by their first stored names, which no rename changes. */
import { type FieldDefinition, type OrbDocument, SUBJECT_TYPES, schemaToken } from "../document/index.ts";
import {
  COMPONENTS,
  componentScope,
  insideScope,
  MODULES,
  type NamedDocument,
  NameTable,
  schemasOf,
} from "./stored-names.ts";

/** A module, component, schema or field of a document. */
export interface Root {
  /** The list in which its names are unique. */
  scope: string;
  name: string;
  /** The first stored name, which neither a rename nor a change of type changes. */
  root: string;
}

/** Returns the names of all modules, components, schemas and fields of a document, by their objects in it. */
export function rootsIn({ document, names }: NamedDocument): ReadonlyMap<object, Root> {
  const table = new NameTable(names);
  const found = new Map<object, Root>();
  const add = (item: object, scope: string, name: string): string => {
    const root = table.rootOf(scope, name);
    found.set(item, { scope, name, root });
    return root;
  };
  const fields = (list: readonly FieldDefinition[], scope: string): void => {
    for (const field of list) {
      const root = add(field, scope, field.name);
      if (field.fields !== undefined) fields(field.fields, insideScope(scope, root));
    }
  };
  const { modules, components = [] }: OrbDocument = document;
  for (const module of modules) {
    add(module, MODULES, module.id);
    const scope = schemasOf(module.type);
    for (const schema of module.schemas)
      fields(schema.fields, `${SUBJECT_TYPES[module.type]}/${add(schema, scope, schemaToken(schema.id))}`);
  }
  for (const component of components)
    fields(component.fields, componentScope(add(component, COMPONENTS, component.id)));
  return found;
}
