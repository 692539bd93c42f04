/** The states of a change set, and what can be done with a set in each of them. */
import { AppError } from "../../kernel/errors.ts";

export const SET_STATES = [
  "OPEN",
  "IN_REVIEW",
  "APPROVED",
  "SCHEDULED",
  "PUBLISHED",
  "REVERTED",
  "CLOSED",
] as const;
export type SetState = (typeof SET_STATES)[number];

/**
 * What happens to a set. `update` changes its title, its description and the planned time, `edit` writes entries into it,
 * `refuse` is a publication at the planned time that failed, `revert` is the publication of the set that takes this one
 * back, `revertPart` that of one which takes some of its entries back, and `close` gives the set up.
 */
export type SetAct =
  | "update"
  | "edit"
  | "review"
  | "approve"
  | "reject"
  | "schedule"
  | "unschedule"
  | "refuse"
  | "publish"
  | "revert"
  | "revertPart"
  | "close";

const SAME = { OPEN: "OPEN", IN_REVIEW: "IN_REVIEW", APPROVED: "APPROVED" } as const;
/** A set that is no longer scheduled. Where its approvals still hold, the caller makes it `APPROVED`. */
const UNSCHEDULED = { SCHEDULED: "OPEN" } as const;

/** For each act, the states before it and the state after it. */
const TRANSITIONS: Readonly<Record<SetAct, Partial<Record<SetState, SetState>>>> = {
  update: { ...SAME, SCHEDULED: "SCHEDULED" },
  edit: { ...SAME, ...UNSCHEDULED },
  review: { OPEN: "IN_REVIEW", APPROVED: "IN_REVIEW" },
  // One approval may not be enough. The set then stays in review.
  approve: { IN_REVIEW: "APPROVED", APPROVED: "APPROVED" },
  reject: { IN_REVIEW: "OPEN", APPROVED: "OPEN", SCHEDULED: "OPEN" },
  schedule: { OPEN: "SCHEDULED", IN_REVIEW: "SCHEDULED", APPROVED: "SCHEDULED", SCHEDULED: "SCHEDULED" },
  unschedule: UNSCHEDULED,
  refuse: UNSCHEDULED,
  publish: { OPEN: "PUBLISHED", IN_REVIEW: "PUBLISHED", APPROVED: "PUBLISHED", SCHEDULED: "PUBLISHED" },
  revert: { PUBLISHED: "REVERTED" },
  revertPart: { PUBLISHED: "PUBLISHED" },
  close: { OPEN: "CLOSED", IN_REVIEW: "CLOSED", APPROVED: "CLOSED", SCHEDULED: "CLOSED" },
};

/** States in which a set can still change the orb. After them, a read with it shows the orb as it is. */
const PENDING: ReadonlySet<SetState> = new Set(["OPEN", "IN_REVIEW", "APPROVED", "SCHEDULED"]);

export const isPending = (state: SetState): boolean => PENDING.has(state);

/**
 * Returns the state of a set after an act.
 * @throws AppError `wrong_state` if the act is not possible in this state
 */
export function nextState(state: SetState, act: SetAct): SetState {
  const next = TRANSITIONS[act][state];
  if (next !== undefined) return next;
  throw new AppError(
    "conflict",
    "wrong_state",
    `The operation ${act} is not possible, because the state of the change set is ${state}.`,
    { data: { state, operation: act } },
  );
}
