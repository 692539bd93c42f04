/** Moves a field of a schema into an object, so that its stored values move there too. */
import { below, type JsonObject, listOf, objectOf, textOf, valueAt, withValue } from "./pointer.ts";

/** Attributes that stay with the field's old place, or that only fields of a schema have. */
const LEFT = new Set(["name", "was", "from"]);

/** Returns the objects of a list of fields that can get members: their names. */
export function objectsFor(document: JsonObject, field: string): string[] {
  const list = listOf(valueAt(document, field.replace(/\/\d+$/, ""))).map(objectOf);
  return list.flatMap(({ name, type, component, from, ...flags }) => {
    const isSingle = ["list", "translatable", "marketSpecific"].every((flag) => flags[flag] !== true);
    const isOwn = component === undefined && (from === undefined || objectOf(from).fields !== undefined);
    return type === "object" && isSingle && isOwn ? [textOf(name)] : [];
  });
}

/**
 * Returns the name that a field has in the published document. Undefined if it is new.
 * @param path pointer to the field in `document`
 */
function publishedName(document: JsonObject, published: JsonObject, path: string): string | undefined {
  const [, , module = "", , schema = ""] = path.split("/");
  const own = objectOf(listOf(document.modules)[Number(module)]);
  const { id } = objectOf(listOf(own.schemas)[Number(schema)]);
  const known = listOf(published.modules)
    .map(objectOf)
    .filter((one) => one.id === own.id)
    .flatMap(({ schemas }) => listOf(schemas).map(objectOf))
    .filter((one) => one.id === id)
    .flatMap(({ fields }) => listOf(fields).map((field) => objectOf(field).name));
  const { name, was = [] } = objectOf(valueAt(document, path));
  return [name, ...(typeof was === "string" ? [was] : listOf(was))]
    .map(textOf)
    .find((one) => known.includes(one));
}

/**
 * Returns a document in which a field is a member of an object.
 * @param published the document with which the publication compares, whose field the member was
 * @param to.object name of the object. If the schema does not have it, it gets the place of the field
 */
export function withFieldInObject(
  document: JsonObject,
  published: JsonObject,
  path: string,
  to: { object: string; member: string },
): JsonObject {
  const [list, index] = [path.replace(/\/\d+$/, ""), Number(path.slice(path.lastIndexOf("/") + 1))];
  const fields = listOf(valueAt(document, list)).map(objectOf);
  const kept = Object.entries(objectOf(fields[index])).filter(([name]) => !LEFT.has(name));
  const member: JsonObject = { name: to.member, ...Object.fromEntries(kept) };
  const source = publishedName(document, published, path);
  const withMember = (object: JsonObject): JsonObject => ({
    ...object,
    fields: [...listOf(object.fields), member],
    ...(source === undefined
      ? {}
      : { from: { fields: { ...objectOf(objectOf(object.from).fields), [to.member]: source } } }),
  });
  const isThere = fields.some(({ name }) => name === to.object);
  const next = fields.flatMap((field, at) => {
    if (at === index) return isThere ? [] : [withMember({ name: to.object, type: "object" })];
    return field.name === to.object ? [withMember(field)] : [field];
  });
  return withValue(document, list, next);
}

/** Returns the names that the members of an object have, and those of the fields beside it. */
export function namesIn(
  document: JsonObject,
  path: string,
  object: string,
): { fields: string[]; members: string[] } {
  const fields = listOf(valueAt(document, path.replace(/\/\d+$/, ""))).map(objectOf);
  const found = fields.find(({ name }) => name === object);
  const names = (list: readonly unknown[]) => list.map((one) => textOf(objectOf(one).name));
  return { fields: names(fields), members: names(listOf(found?.fields)) };
}

/** Returns the pointer to an object in the list of a field. */
export function objectAt(document: JsonObject, path: string, object: string): string {
  const list = path.replace(/\/\d+$/, "");
  return below(list, Math.max(0, namesIn(document, path, object).fields.indexOf(object)));
}
