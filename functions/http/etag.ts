/** Entity tags. Each begins with the number of the newest revision, which `If-Match` is compared with. */
import { AppError } from "../../shared/kernel/errors.ts";

export { matchesTag } from "../../shared/kernel/tags.ts";

const TAG = /^(?:W\/)?"([1-9]\d{0,14})(?:-[^"]*)?"$/;

/** The entity tag of a revision on the management API. */
export function revisionTag(revision: number): string {
  return `"${revision}"`;
}

/**
 * The revision in `If-Match`; undefined without the header and for `*`, which matches every revision.
 * @throws AppError malformed for anything but an entity tag of this API
 */
export function ifMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const revision = TAG.exec(header.trim())?.[1];
  if (revision === undefined) {
    throw new AppError("malformed", "invalid_header", 'If-Match must be one ETag, such as "7".');
  }
  return Number(revision);
}
