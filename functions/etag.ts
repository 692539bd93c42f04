/** Entity tags: each begins with the newest revision's number, which is what `If-Match` compares. */
import { AppError } from "../shared/errors.ts";

export { matchesTag } from "../shared/tags.ts";

const TAG = /^(?:W\/)?"([1-9]\d{0,14})(?:-[^"]*)?"$/;

/** The tag of a revision on the management API. */
export function revisionTag(revision: number): string {
  return `"${revision}"`;
}

/**
 * The revision that `If-Match` names; undefined without the header, and for `*`, which any revision meets.
 * @throws AppError malformed when it is no tag of ours
 */
export function ifMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const revision = TAG.exec(header.trim())?.[1];
  if (revision === undefined) {
    throw new AppError("malformed", "invalid_header", 'If-Match must be one ETag, such as "7".');
  }
  return Number(revision);
}
