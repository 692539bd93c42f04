/** The life of orbs and entries: which operation leads from which state to which. Source: decisions, section 4. */
import { AppError } from "../../kernel/errors.ts";

/** States in the specification's order. */
export const STATUSES = ["SAVED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED"] as const;
export type Status = (typeof STATUSES)[number];

/** Operations that move an orb or an entry, and `update`, which leaves the state as it is. */
export type Operation = "create" | "update" | "publish" | "unpublish" | "archive" | "restore" | "delete";

/** What follows: a state, or `gone`. */
export type Next = Status | "gone";

/** The moves that exist. `none` is what does not exist yet. */
const TRANSITIONS: Readonly<Record<Operation, Partial<Record<Status | "none", Next>>>> = {
  create: { none: "SAVED" },
  update: { SAVED: "SAVED", PUBLISHED: "PUBLISHED", UNPUBLISHED: "UNPUBLISHED" },
  publish: { SAVED: "PUBLISHED", UNPUBLISHED: "PUBLISHED", PUBLISHED: "PUBLISHED" },
  unpublish: { PUBLISHED: "UNPUBLISHED" },
  archive: { SAVED: "ARCHIVED", PUBLISHED: "ARCHIVED", UNPUBLISHED: "ARCHIVED" },
  restore: { ARCHIVED: "UNPUBLISHED" },
  delete: { SAVED: "gone", PUBLISHED: "gone", UNPUBLISHED: "gone", ARCHIVED: "gone" },
};

/**
 * The state after an operation.
 *
 * @param status the state it is in; null when it does not exist yet
 * @param draft whether there is a newer draft than what is live: only then can what is PUBLISHED be published again
 * @throws AppError conflict `wrong_state`, naming the state (also as `data.state`)
 */
export function next(status: Status | null, operation: "delete", draft?: boolean): "gone";
export function next(status: Status | null, operation: Exclude<Operation, "delete">, draft?: boolean): Status;
export function next(status: Status | null, operation: Operation, draft?: boolean): Next;
export function next(status: Status | null, operation: Operation, draft = false): Next {
  const result = TRANSITIONS[operation][status ?? "none"];
  const already = operation === "publish" && status === "PUBLISHED" && !draft;
  if (result !== undefined && !already) return result;
  const where = status === null ? "it does not exist" : `it is ${status}`;
  const why = already ? `${where} and has no newer draft` : where;
  throw new AppError("conflict", "wrong_state", `The operation ${operation} is not possible: ${why}.`, {
    data: { state: status, operation },
  });
}
