/** Renames modules and schemas, and updates the references to them in the document. */
import {
  below,
  type JsonObject,
  listOf,
  objectOf,
  segmentsOf,
  textOf,
  valueAt,
  withValue,
} from "./pointer.ts";

/**
 * Sets the id of a module or schema. Updates references and hooks that contain the old id, unless that id is
 * ambiguous.
 */
export function withId(document: JsonObject, path: string, id: string): JsonObject {
  const made = withValue(document, below(path, "id"), id);
  const keys = segmentsOf(path);
  const siblings = listOf(valueAt(document, `/${keys.slice(0, -1).join("/")}`)).map(objectOf);
  const before = objectOf(valueAt(document, path)).id;
  const uses = (one: unknown) => siblings.filter((item) => item.id === one).length;
  if (typeof before !== "string" || uses(before) !== 1 || uses(id) !== 0) return made;
  const ofModule = keys.length === 2;
  const module = textOf(objectOf(valueAt(document, `/modules/${keys[1]}`)).id);
  const orb = textOf(document.id);
  const follow = (ref: string): string => {
    const parts = ref.split("/");
    if (parts[0] !== orb || parts[1] !== module || (!ofModule && parts[2] !== before)) return ref;
    return [orb, ofModule ? id : module, ofModule ? (parts[2] ?? "") : id].join("/");
  };
  const modules = listOf(made.modules).map((one) => {
    const schemas = listOf(objectOf(one).schemas).map((schema) => {
      const fields = listOf(objectOf(schema).fields).map((field) => {
        const ref = objectOf(field).ref;
        return typeof ref === "string" && follow(ref) !== ref
          ? { ...objectOf(field), ref: follow(ref) }
          : field;
      });
      return Array.isArray(objectOf(schema).fields) ? { ...objectOf(schema), fields } : schema;
    });
    return Array.isArray(objectOf(one).schemas) ? { ...objectOf(one), schemas } : one;
  });
  const member = ofModule ? "module" : "schema";
  const hooks = listOf(made.hooks).map((hook) => {
    const found = objectOf(hook);
    const fits = found[member] === before && (ofModule || found.module === module);
    return fits ? { ...found, [member]: id } : hook;
  });
  return { ...made, modules, ...(Array.isArray(made.hooks) ? { hooks } : {}) };
}
