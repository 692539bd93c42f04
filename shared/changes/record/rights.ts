/** Who may read and change a change set. The rules are those of `shared/access/authorize.ts`. */
import {
  type ChangeRights,
  isOwn,
  mayChange,
  type Principal,
  requireChange,
} from "../../access/authorize.ts";
import type { ChangeOperation } from "../../access/credentials/index.ts";
import type { CompiledOrb } from "../../definition/compile.ts";
import { type ChangeSet, noSet } from "./record.ts";

/** Returns what decides on the rights in a set. @param own whether the caller opened it, or could have */
export function changeRights(orb: CompiledOrb, own: boolean): ChangeRights {
  const routed = [...orb.modules.values()].filter((module) => module.routed);
  return {
    access: routed.flatMap(({ schemas }) => [...schemas.values()].map(({ access }) => access)),
    own,
    reviewers: orb.review.map(({ by }) => by),
  };
}

const rightsIn = ({ actor }: Principal, orb: CompiledOrb, { createdBy }: ChangeSet) =>
  changeRights(orb, isOwn(actor, createdBy));

/** Returns whether a caller who may read sets may read this one. */
export function isReadable(principal: Principal, orb: CompiledOrb, set: ChangeSet): boolean {
  // The scopes of a token and the acts of a handler limit what a caller does, not which sets are there.
  const { role, orbRole } = principal;
  return mayChange({ role, orbRole }, "changes.read", rightsIn(principal, orb, set));
}

/** Throws 401 or 403 if the caller may perform the operation on no set, not even on their own. */
export function requireSome(principal: Principal, orb: CompiledOrb, operation: ChangeOperation): void {
  requireChange(principal, operation, changeRights(orb, true));
}

/** Throws 401, 403 or 404 if the caller may not perform the operation on a set. */
export function requireOn(
  principal: Principal,
  orb: CompiledOrb,
  operation: ChangeOperation,
  set: ChangeSet,
): void {
  requireSome(principal, orb, operation);
  if (!isReadable(principal, orb, set)) throw noSet();
  requireChange(principal, operation, rightsIn(principal, orb, set));
}

/** Throws 401, 403 or 404 if the caller may not read a set. The right to read each entry in it is checked apart. */
export function requireReadable(principal: Principal, orb: CompiledOrb, set: ChangeSet): void {
  requireOn(principal, orb, "changes.read", set);
}

/**
 * Throws 401, 403 or 404 if the caller may not write into a set, or change its title. The right to write each entry is
 * checked apart.
 */
export function requireWritable(principal: Principal, orb: CompiledOrb, set: ChangeSet): void {
  requireOn(principal, orb, "changes.write", set);
}
