/** The options that the form offers for an attribute's value. They come from the document and from the platform. */
import { type JsonObject, listOf, objectOf, textOf } from "../document/pointer.ts";

/** The object in the document that an attribute belongs to. */
export interface Owner {
  object: JsonObject;
  path: string;
  document: JsonObject;
}

export const modulesOf = ({ document }: Owner) => listOf(document.modules).map(objectOf);

const usesOf = ({ document }: Owner) => listOf(document.uses).map(objectOf);

export const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  access: ["passkey", "invitations", "bootstrap", "oauth"],
  rules: ["evaluate"],
  transactions: ["record", "list"],
  settings: ["get", "set"],
};

export const ACTS =
  "entries:read entries:write entries:publish entries:reveal transactions:record transactions:read settings:read settings:write rules:evaluate".split(
    " ",
  );

export const ownHandlers = (owner: Owner): string[] =>
  usesOf(owner)
    .filter(({ service }) => !Object.hasOwn(BUILT_IN, textOf(service)))
    .flatMap(({ service, handlers }) =>
      listOf(handlers).map((handler) => `${textOf(service)}.${textOf(handler)}`),
    );

/** Returns the callers that the lists of an access rule can contain. */
export const callersOf = (owner: Owner): string[] => [
  "public",
  "user",
  "own",
  "admin",
  "owner",
  ...listOf(owner.document.roles).map((role) => textOf(objectOf(role).id)),
  ...ownHandlers(owner).map((handler) => `handler:${handler}`),
];

/** Returns the names of the other fields in the schema of a field. */
export function siblings({ document, path, object }: Owner): string[] {
  const [, , module, , schema] = path.split("/");
  const schemas = listOf(objectOf(listOf(document.modules)[Number(module)]).schemas);
  return listOf(objectOf(schemas[Number(schema)]).fields)
    .map((field) => textOf(objectOf(field).name))
    .filter((name) => name !== "" && name !== object.name);
}

export const targets = ({ document }: Owner): string[] =>
  modulesOf({ document, path: "", object: {} }).flatMap(({ id, schemas }) =>
    listOf(schemas).map((schema) => `${textOf(document.id)}/${textOf(id)}/${textOf(objectOf(schema).id)}`),
  );
