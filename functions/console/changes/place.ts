/** The change sets of an application, and what the caller may do with one. */
import { type Caller, isPlatformAdmin, maySome } from "../api/caller.ts";
import type { ChangeSet, ChangesPlace, ListedChange } from "../api/changes.ts";
import type { OrbModel } from "../model/orb.ts";
import { hasRole } from "../model/rights.ts";
import { refresh } from "../state/cache.ts";
import { setsKey } from "../state/change.ts";
import type { Loaded } from "../state/load.ts";
import { useCaller, useOrb } from "../state/session.ts";

/** Loads everything about change sets again. */
export const refreshSets = (orb: string): void => refresh(setsKey(orb));

export interface InOrb {
  place: ChangesPlace;
  caller: Caller | undefined;
  /** Undefined until the definition is loaded. */
  orb: OrbModel | undefined;
  loaded: Loaded<OrbModel>;
}

/** @param change id of the set whose definition is shown. Default: the set in which the user edits */
export function useInOrb(id: string, change?: string): InOrb {
  const caller = useCaller(id).data;
  const loaded = useOrb(id, change);
  return { place: { orb: id, managed: isPlatformAdmin(caller) }, caller, orb: loaded.data, loaded };
}

export interface SetRights {
  /** Change and close the set, ask for a review, take entries out of it, and solve conflicts. */
  write: boolean;
  /** Approve the set, and send it back. */
  approve: boolean;
  /** Whether the caller has approved the present content. */
  hasApproved: boolean;
  publish: boolean;
  /** Open the set that takes this one back. */
  revert: boolean;
}

const WRITING = ["create", "update", "publish", "delete"] as const;

const isOwn = (caller: Caller, set: ListedChange) => set.createdBy === caller.account?.id;

/** Returns whether the caller has opened the set, or has written into it. */
const isAuthor = (caller: Caller, set: ChangeSet) =>
  isOwn(caller, set) || set.authors.some((id) => id === caller.account?.id);

const hasApproved = (caller: Caller, set: ChangeSet) =>
  set.approvals.some(({ by, hash }) => by === caller.account?.id && hash === set.hash);

/** Returns the review rules under which an approval of the caller counts. */
function rulesOf(caller: Caller, orb: OrbModel, set: ChangeSet) {
  const rank = { role: caller.orb?.role ?? "public", orbRole: caller.account?.role ?? "" };
  const role = isPlatformAdmin(caller) ? { role: "owner", orbRole: "" } : rank;
  return set.review.filter(
    ({ by, notAuthor }) =>
      by.some((name) => hasRole(name, role, orb)) && !(notAuthor && isAuthor(caller, set)),
  );
}

/** Returns what the caller may do with a set. The platform checks every request again. */
export function rightsIn(caller: Caller, orb: OrbModel, set: ChangeSet): SetRights {
  const own = isOwn(caller, set);
  return {
    write: maySome(caller, ["update"], own) || (own && maySome(caller, WRITING, true)),
    approve:
      set.review.length === 0 ? maySome(caller, ["publish"], false) : rulesOf(caller, orb, set).length > 0,
    hasApproved: hasApproved(caller, set),
    publish: maySome(caller, ["publish", "delete"], true),
    revert: maySome(caller, WRITING, true),
  };
}

/** Returns whether a set in review waits for the caller's approval of its present content. */
export function waitsFor(caller: Caller, orb: OrbModel, set: ChangeSet): boolean {
  if (hasApproved(caller, set) || set.state !== "IN_REVIEW") return false;
  if (set.review.length === 0) return rightsIn(caller, orb, set).approve;
  return rulesOf(caller, orb, set).some(({ approvals, given }) => given < approvals);
}
