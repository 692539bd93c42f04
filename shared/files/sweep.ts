/**
 * The sweep removes content that no file uses, and chunks of interrupted uploads. Each upload stores a check: a
 * message that names the content to examine later.
 */
import { definitionFor } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { indexBytes } from "../store/budget.ts";
import { fileSubjects, orbOfFiles } from "../store/file-subjects.ts";
import { nullIfMissing, pagesOf, scanPages } from "../store/pages.ts";
import { streams } from "../store/subjects.ts";
import { readInfo, removeChunks, removeObject } from "./object.ts";
import { UNUSED_SECONDS } from "./record.ts";
import { removeVariants } from "./variants.ts";

/**
 * Milliseconds from the start of an upload until the platform removes its content if no file uses it. Must be longer
 * than an upload may take, and longer than an unused record lives.
 */
const CHECK_MS = UNUSED_SECONDS * 1000 + 3_600_000;
const CHECKS_PER_READ = 200;
const USES_PER_READ = 200;
/**
 * Maximum depth of variants (smaller copies) of variants. A client can upload a variant as a file, which then has its
 * own variants. Two images can even be variants of each other.
 */
const MAX_DEPTH = 3;

interface Check {
  v: 1;
  nuid: string;
  /** Missing until the content of the upload is complete. */
  sha256?: string;
}

/**
 * Does all checks for unused content that are due, in all applications. Several processes may do this at the same
 * time.
 */
export async function sweepFiles(deps: Deps): Promise<void> {
  for (const stream of await deps.store.streamNames(fileSubjects.everyStore)) {
    const orb = orbOfFiles(stream);
    if (orb === undefined) continue;
    const definition = await definitionFor(deps, orb);
    // The messages that say which content is used may be among those that were lost.
    if (definition?.fence?.loss !== undefined) continue;
    const isThere = (await deps.store.streamInfo(streams.orb(orb))) !== null;
    // The application was deleted while an upload created its object store.
    if (!isThere && definition === null) await deps.store.deleteStream(stream);
    else await sweepOrb(deps, orb);
  }
}

/** Examines the uploads of one application whose check is due. Removes content that nothing uses. */
export async function sweepOrb(deps: Deps, orb: string): Promise<void> {
  const stream = streams.orb(orb);
  const page = { limit: CHECKS_PER_READ, maxBytes: indexBytes(CHECKS_PER_READ) };
  for await (const checks of pagesOf(deps.store, stream, fileSubjects.checks(orb), page)) {
    for (const message of checks) {
      // The checks are in order of time. If this one is not due yet, no later one is.
      if (!isDue(deps, message.time)) return;
      await nullIfMissing(checkContent(deps, orb, message.json<Check>()));
      await deps.store.purge(stream, message.subject, { beforeSeq: message.seq + 1 });
    }
  }
}

function isDue(deps: Deps, time: number): boolean {
  return time + CHECK_MS <= deps.clock.now();
}

/**
 * Returns whether a file or a variant (smaller copy of an image) uses the content. Ignores empty messages: they mark
 * erased uses until they expire.
 */
async function isUsed(deps: Deps, orb: string, sha256: string): Promise<boolean> {
  const filter = fileSubjects.contentOf(orb, sha256);
  const maxBytes = indexBytes(USES_PER_READ);
  const read = (fromSeq: number) =>
    deps.store.scan(streams.orb(orb), filter, { fromSeq, limit: USES_PER_READ, maxBytes });
  for await (const uses of scanPages(read)) if (uses.some(({ size }) => size > 0)) return true;
  return false;
}

/**
 * Removes content that nothing uses. Keeps content that an upload has sent within the last day, because the upload
 * may not have written its record yet.
 * @param depth 0 for the content of an upload, 1 for its variants, 2 for their variants
 */
export async function checkContent(
  deps: Deps,
  orb: string,
  { nuid, sha256 }: Omit<Check, "v">,
  depth = 0,
): Promise<void> {
  const stored = sha256 === undefined ? null : await readInfo(deps, orb, sha256);
  if (stored?.info.nuid !== nuid) await removeChunks(deps, orb, nuid);
  if (sha256 === undefined) return;
  // The content was uploaded again later. That upload has its own check.
  if (stored !== null && !isDue(deps, stored.time)) return;
  if (await isUsed(deps, orb, sha256)) return;
  // The variants of an image are removed with it. Search for them even without the image, because a request may have
  // stored one since.
  if (depth < MAX_DEPTH)
    await removeVariants(deps, orb, sha256, (variant) => checkContent(deps, orb, variant, depth + 1));
  if (stored !== null) await removeObject(deps, orb, stored);
}
