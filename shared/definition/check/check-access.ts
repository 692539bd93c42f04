/** Reports access rules that name an unknown role or handler, and roles that appear twice. */
import { clip, type Faults, joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { ACTIONS, type Action, CALLERS, handlersIn, ROLE_ID } from "../document/index.ts";
import { type Bag, type LooseDocument, type LooseField, ownProperty, texts } from "./loose.ts";

export function checkAccess(document: LooseDocument, faults: Faults): void {
  const roles = new Set<string>();
  for (const { path, value } of document.roles) {
    if (roles.has(value)) faults.add(path, "duplicate", "is already the id of another role");
    roles.add(value);
  }
  const handlers = new Set(
    document.uses.flatMap((use) => use.handlers.map(({ value }) => `${use.service}.${value}`)),
  );
  const checkFields = (fields: readonly LooseField[]) => {
    for (const field of fields) {
      checkLists(field, ["read", "write"], { roles, handlers }, faults);
      checkFields(field.fields);
    }
  };
  for (const { fields } of document.components) checkFields(fields);
  for (const module of document.modules) {
    for (const schema of module.schemas) {
      checkLists(schema, ACTIONS, { roles, handlers }, faults);
      checkFields(schema.fields);
    }
  }
}

/** Roles and handlers that the access rules of a document can name. */
interface Named {
  roles: ReadonlySet<string>;
  /** Full names of the handlers in `uses`. */
  handlers: ReadonlySet<string>;
}

function checkLists(
  { raw, path }: { raw: Bag; path: string },
  actions: readonly (Action | "write")[],
  { roles, handlers }: Named,
  faults: Faults,
): void {
  const access = ownProperty(raw, "access");
  if (!isObject(access)) return;
  for (const action of actions) {
    for (const { path: place, value } of texts(ownProperty(access, action), `${path}/access/${action}`)) {
      if (!handlersIn([value]).every((handler) => handlers.has(handler)))
        faults.add(place, "unknown_handler", "must name a handler that is listed in uses");
      // Skip names that cannot be role ids. The Zod schema of the document rejects them.
      if (CALLERS.includes(value) || roles.has(value) || !ROLE_ID.test(value)) continue;
      const known = joinNames([...CALLERS, ...[...roles].map((role) => clip(role))]);
      faults.add(
        place,
        "unknown_role",
        `must be one of ${known}. Add the role to roles, or correct its name.`,
      );
    }
  }
}
