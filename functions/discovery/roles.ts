import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { READERS } from "../../shared/orb/routes.ts";
import type { Method, Operation } from "./document.ts";

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
};

export function requiredRole(schema: CompiledSchema, method: Method): { text: string; role: string } {
  const { read, write } = schema.access;
  if (method === "get") return { text: `${ROLE_DESCRIPTIONS[read]}.`, role: READERS[read] };
  const text =
    write === "user" ? "Signed-in users, what they created themselves; admins" : ROLE_DESCRIPTIONS[write];
  return { text: `${text}.`, role: write };
}
