/** Maps what the roles of another system may do to the roles and access rules of the orb document. */
import type { Loss, RoleDefinition } from "./source.ts";

export type Act = "read" | "create" | "update" | "delete";
export const ACTS: readonly Act[] = ["read", "create", "update", "delete"];

/** A right of callers to all entries of a schema. */
export interface Right {
  /** `public`: everyone. `user`: everyone who has signed in. Otherwise a role of the orb. */
  caller: string;
  act: Act;
  /** Whether it is only for entries that are published. */
  isPublishedOnly?: boolean;
}

/** Why people without an account get no right to write. */
const NO_ACCOUNT = "people without an account cannot write";
/** Why those who may not read all entries get no right to change them. */
const SEES_ALL =
  "who may change the entries of an orb also reads all of them, with drafts and earlier revisions";

/** Maximum roles of an orb. */
const MOST = 50;
/** Ids that an orb cannot give to its roles. */
const RESERVED = new Set([
  "public",
  "user",
  "own",
  "admin",
  "owner",
  "platform",
  "anonymous",
  "system",
  "handler",
]);

/** Why accounts are not carried. */
export const NO_ACCOUNTS = "people sign in to an orb with passkeys of their own";

/** A role of another system. */
export interface SourceRole {
  id: string;
  name: string;
}

/** Returns the roles of the orb by the ids that they have in the other system. Tells those for which there is no room. */
export function rolesOf(roles: readonly SourceRole[], losses: Loss[]): Map<string, RoleDefinition> {
  for (const { name } of roles.slice(MOST))
    losses.push({
      ...{ kind: "model", at: `role ${name}`, became: "left out" },
      why: `an orb has at most ${MOST} roles`,
    });
  const taken = new Set(RESERVED);
  return new Map(
    roles.slice(0, MOST).map(({ id, name }) => {
      const wanted = idOf(name);
      let own = RESERVED.has(wanted) ? `source-${wanted}` : wanted;
      for (let number = 2; taken.has(own); number++) own = `${wanted}-${number}`;
      taken.add(own);
      return [id, { id: own, name: (name.trim() || own).slice(0, 200) }] as const;
    }),
  );
}

/** Returns an id that an orb allows. The role keeps its name, so another id is no loss. */
function idOf(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const parts = plain.split(/[^a-z0-9]+/).filter((part) => part !== "");
  const id = parts
    .join("-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 55);
  return id === "" ? "role" : id;
}

/**
 * Returns the access rules of a schema. Without a rule for an action, the default of the platform counts: only admins.
 * Callers with the right to change entries may also publish them: the other systems publish the writes of their APIs.
 * @param isPart whether someone may read a part of the entries or fields: that must not become open as a whole
 * @param tell called with the rights that an orb cannot give without giving more
 * @returns undefined if no caller has a right
 */
export function accessOf(
  rights: readonly Right[],
  isPart: boolean,
  tell: (right: Right, why: string) => void,
): Record<string, string | readonly string[]> | undefined {
  const callersOf = (act: Act): string[] => [
    ...new Set(rights.filter((one) => one.act === act).map(({ caller }) => caller)),
  ];
  const sees = new Set(
    rights.filter((one) => one.act === "read" && one.isPublishedOnly !== true).map(({ caller }) => caller),
  );
  const whyNot = (act: Act, caller: string): string | undefined => {
    if (caller === "public") return NO_ACCOUNT;
    return act !== "update" || ["public", "user", caller].some((one) => sees.has(one)) ? undefined : SEES_ALL;
  };
  // Each role of an orb includes the rights of `user`.
  const shortest = (callers: readonly string[]) => (callers.includes("user") ? ["user"] : callers);
  const readers = callersOf("read");
  const access: Record<string, string | readonly string[]> = {};
  if (readers.includes("public")) access.read = "public";
  else if (readers.length > 0) access.read = readers.includes("user") ? "user" : readers;
  else if (isPart) access.read = "admin";
  for (const act of ["create", "update", "delete"] as const) {
    const kept = callersOf(act).filter((caller) => {
      const why = whyNot(act, caller);
      if (why !== undefined) tell({ caller, act }, why);
      return why === undefined;
    });
    const callers = shortest(kept);
    if (callers.length === 0) continue;
    access[act] = callers;
    if (act === "update") access.publish = callers;
  }
  return Object.keys(access).length === 0 ? undefined : access;
}
