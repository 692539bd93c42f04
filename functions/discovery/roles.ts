/** Who may call what, as the description of an orb tells it. */
import type { CompiledSchema } from "../../shared/orb/compile.ts";
import { READERS } from "../../shared/orb/routes.ts";
import type { Method, Operation } from "./document.ts";

/** Whoever is not signed in is let in only where the role says so. */
export function securityFor(role: string, security: Operation["security"]): Operation["security"] {
  return role === "public" ? security : security.filter((each) => Object.keys(each).length > 0);
}

/** Roles in words. */
export const WHO: Record<string, string> = {
  public: "Anybody",
  user: "Signed-in users",
  own: "Signed-in users, what they created themselves",
  admin: "Admins of the orb",
  owner: "Owners of the orb",
};

/** Who may use a method on the entries of a schema: in words, and the least role. */
export function who(schema: CompiledSchema, method: Method): { text: string; role: string } {
  const { read, write } = schema.access;
  if (method === "get") return { text: `${WHO[read]}.`, role: READERS[read] };
  const text = write === "user" ? "Signed-in users, what they created themselves; admins" : WHO[write];
  return { text: `${text}.`, role: write };
}
