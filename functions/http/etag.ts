/** Every ETag starts with the number of the entry's newest revision. `If-Match` is compared with that number. */
import { AppError } from "../../shared/kernel/errors.ts";

export { matchesTag } from "../../shared/kernel/tags.ts";

const TAG = /^(?:W\/)?"([1-9]\d{0,14})(?:-[^"]*)?"$/;

export function revisionTag(revision: number): string {
  return `"${revision}"`;
}

/** Returns an ETag that also names a variant of the response. */
export function withVariant(tag: string, variant: string | undefined): string {
  return variant === undefined ? tag : tag.replace(/"$/, `-${variant}"`);
}

/** Returns the revision in `If-Match`. Undefined for `*`, which matches every revision. */
export function ifMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const revision = TAG.exec(header.trim())?.[1];
  if (revision === undefined) {
    throw new AppError("malformed", "invalid_header", 'If-Match must be one ETag, such as "7".');
  }
  return Number(revision);
}
