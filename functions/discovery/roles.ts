import { allowedBy } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { type Grant, lowestRole } from "../../shared/definition/document/index.ts";
import { operationWithId } from "../runtime/operations.ts";
import type { Operation } from "./document.ts";

/** Removes anonymous access from the security requirements of an operation, unless the role is `public`. */
export function securityFor(role: string, security: Operation["security"]): Operation["security"] {
  return role === "public" ? security : security.filter((each) => Object.keys(each).length > 0);
}

export const ROLE_DESCRIPTIONS: Record<string, string> = {
  public: "Anybody",
  user: "Signed-in users",
  own: "Signed-in users, what they created themselves",
  admin: "Admins of the orb",
  owner: "Owners of the orb",
  handler: "Handlers of the orb, for their callers",
};

/** Describes in words which callers a grant allows. */
export function callersOf({ least, own, roles, handlers }: Grant): string {
  const further = least === "public" || least === "user" ? [] : [...(own ? ["own"] : []), ...roles];
  const names = [
    ...[...further, ...(least === null ? [] : [least])].map(
      (name) => ROLE_DESCRIPTIONS[name] ?? `The role \`${name}\``,
    ),
    ...handlers.map((name) => `The handler ${name}`),
  ];
  return names
    .map((name, index) => (index === 0 ? name : name.charAt(0).toLowerCase() + name.slice(1)))
    .join("; ");
}

/** Returns which callers may perform an operation on the entries of a schema. */
export function requiredRole(schema: CompiledSchema, operationId: string): { text: string; role: string } {
  const grant = schema.access[allowedBy(operationWithId(operationId)?.right ?? "update")];
  return { text: `${callersOf(grant)}.`, role: lowestRole(grant) };
}
