/** The names of people who edit, for callers who may see names. */
import type { Actor } from "../access/actor.ts";
import { type NamingOrb, namesOf, realmsOf, requireNames } from "../access/naming/index.ts";
import type { CompiledOrb } from "../definition/compile.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";

/** Returns what decides who may see names in an application. */
export function namingOf(compiled: CompiledOrb): NamingOrb {
  const { id, usesAccess, roles, grants, schedules, modules } = compiled;
  const schemas = [...modules.values()].flatMap((module) => [...module.schemas.values()]);
  return { id, usesAccess, roles, grants, schedules, accesses: schemas.map(({ access }) => access) };
}

function mayName(actor: Actor, orb: NamingOrb): boolean {
  try {
    requireNames(actor, orb, "ids");
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** Returns the names of accounts by id. Empty if the caller may not see names. */
export async function namesFor(
  deps: Deps,
  actor: Actor,
  compiled: CompiledOrb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const orb = namingOf(compiled);
  if (ids.length === 0 || !mayName(actor, orb)) return new Map();
  const found = await namesOf(deps, ids, realmsOf(actor, orb.id, orb));
  return new Map(found.map(({ id, name }) => [id, name]));
}
