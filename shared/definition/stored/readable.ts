/**
 * Tells documents that a newer version has stored. After a return to an older version, that version must neither serve
 * an application whose rules it knows only in part, nor replace its definition, nor stop because of it.
 */
import type { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { isUnsure } from "../../store/errors.ts";
import { orbDocumentSchema } from "../document/index.ts";

type Issue = z.core.$ZodIssue;

/**
 * Returns the JSON pointer of what this version does not know, if the issue says so and not that a rule is broken.
 * @param isInner whether the issue is about one alternative of a union
 */
function unknownOf(issue: Issue, isInner = false): string | undefined {
  const at = issue.path.map((part) => `/${String(part)}`).join("");
  // Rules may have become stricter since an older version stored the document. Such a document is still served.
  if (issue.code === "unrecognized_keys") return `${at}/${issue.keys[0] ?? ""}`;
  if (issue.code === "invalid_value") return at;
  if (issue.code === "invalid_type")
    return (isInner || issue.path.length > 0) && issue.input !== undefined ? at : undefined;
  if (issue.code !== "invalid_union") return undefined;
  const inner = issue.errors.map((issues) =>
    issues.map((one) => unknownOf(one, true)).find((found) => found !== undefined),
  );
  if (inner.some((found) => found === undefined)) return undefined;
  return `${at}${inner.find((found) => found !== "") ?? ""}`;
}

/** Returns the JSON pointer of the first property of a stored document that this version does not know. */
export function unknownIn(document: unknown): string | undefined {
  const { error } = orbDocumentSchema.safeParse(document, { reportInput: true });
  return error?.issues.map((issue) => unknownOf(issue)).find((found) => found !== undefined);
}

/** @throws AppError unavailable `definition_unreadable` if a newer version stored the document */
export function requireReadable(orb: string, document: unknown): void {
  const at = unknownIn(document);
  if (at !== undefined) throw unreadable(orb, at);
}

/** @param at JSON pointer of what this version does not know */
export function unreadable(orb: string, at: string): AppError {
  return new AppError(
    "unavailable",
    "definition_unreadable",
    `A newer version of the platform stored the definition of this orb. This version does not know ${at} in it, and serves all other orbs. Start the newer version again.`,
    { data: { orb, at } },
  );
}

/** Returns what this version does not know, if the error says that a newer version stored the definition. */
export function unreadableAt(error: unknown): string | undefined {
  return error instanceof AppError && error.code === "definition_unreadable"
    ? String(error.data?.at ?? "")
    : undefined;
}

/** Returns whether the error says that the stored definition of an orb cannot be used. Other orbs are not affected. */
export function isUnusable(error: unknown): boolean {
  const codes = ["definition_damaged", "definition_unreadable"];
  return error instanceof AppError && codes.includes(error.code);
}

/** Returns whether work on other orbs can go on after an error, because the broker is not the cause. */
export function concernsOneOrb(error: unknown): boolean {
  return isUnusable(error) || !isUnsure(error);
}
