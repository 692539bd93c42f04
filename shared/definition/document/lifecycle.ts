import { AppError } from "../../kernel/errors.ts";

export const STATUSES = ["SAVED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED"] as const;
export type Status = (typeof STATUSES)[number];

/** Operations on an application or an entry. `update` never changes the status. */
export type Operation = "create" | "update" | "publish" | "unpublish" | "archive" | "restore" | "delete";

export type Next = Status | "gone";

/**
 * For each operation, the states before and after it. `none` means that the application or entry does not exist yet.
 */
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
 * Returns the state after an operation.
 * @throws AppError `wrong_state` if the operation is not allowed in this state, such as `publish` without a newer
 * draft
 */
export function next(status: Status | null, operation: "delete", draft?: boolean): "gone";
export function next(status: Status | null, operation: Exclude<Operation, "delete">, draft?: boolean): Status;
export function next(status: Status | null, operation: Operation, draft?: boolean): Next;
export function next(status: Status | null, operation: Operation, draft = false): Next {
  const result = TRANSITIONS[operation][status ?? "none"];
  const already = operation === "publish" && status === "PUBLISHED" && !draft;
  if (result !== undefined && !already) return result;
  const where = status === null ? "nothing exists yet" : `the status is ${status}`;
  const why = already ? `${where} and there is no newer draft` : where;
  throw new AppError(
    "conflict",
    "wrong_state",
    `The operation ${operation} is not possible, because ${why}.`,
    {
      data: { state: status, operation },
    },
  );
}
