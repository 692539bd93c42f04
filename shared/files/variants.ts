/**
 * Makes variants of images on the first request, and stores them like the content of files.
 *
 * Each variant has one message. It names the content of the variant, says that a request is making the variant, or
 * contains the reason why the variant cannot be made. If there is no message, a request first claims the variant: it
 * writes the message, expecting that there is still none. So only one request on all hosts makes the variant. If its
 * host crashes, the claim expires, and the next request makes the variant.
 */
import type { LiveOrb } from "../definition/live-orb.ts";
import { requireWhole } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { BAD_IMAGE, badImage, imagesBusy, noImages } from "../images/errors.ts";
import { IMAGE_BYTES } from "../images/job.ts";
import { type Frame, type Variant, variantKey } from "../images/variant.ts";
import { AppError, unavailable } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { requireFileStorage } from "../quotas/storage.ts";
import { SMALL_BYTES } from "../store/budget.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing, nullOnConflict, scanPages } from "../store/pages.ts";
import { lastToken, streams } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";
import { contentOf } from "./download.ts";
import { RECORD_RUNS, storeCheck } from "./keep.ts";
import {
  infoOf,
  keepContent,
  type ObjectInfo,
  readInfo,
  removeChunks,
  runsOf,
  sendChunks,
} from "./object.ts";
import { type FileRecord, ID_BYTES, UNUSED_SECONDS } from "./record.ts";
import { chunked, hex } from "./upload.ts";

/**
 * Seconds until a claim expires. A claim reserves the work of making a variant for one request. Must be longer than
 * the image worker needs, including its queue.
 */
const CLAIM_SECONDS = 30;
const LOOK_MS = 150;
/** Maximum milliseconds that a request waits while another request makes the variant. */
const PATIENCE_MS = 15_000;
const GONE_SECONDS = 1;
const VARIANTS_PER_READ = 1_000;

const MADE_OF = /^image\/(jpeg|png|webp)$/;

interface StoredVariant {
  v: 1;
  /** Content of the variant (smaller copy). Missing while a request is making it. */
  made?: Pick<FileRecord, "sha256" | "size" | "object">;
  /** The reason why the variant cannot be made. */
  refused?: { code: string; detail: string };
}

/** Returns the id under which a variant marks its content as used. A file marks its content with the file's id. */
function useOf(sha256: string, key: string): string {
  return `${sha256}-${key}`;
}

function nameOf(name: string, format: Variant["format"]): string {
  return `${name.replace(/\.[A-Za-z0-9]{1,5}$/, "")}.${format === "jpeg" ? "jpg" : format}`;
}

function recordOf(file: FileRecord, variant: Variant, made: NonNullable<StoredVariant["made"]>): FileRecord {
  const { format } = variant;
  return { ...file, ...made, type: `image/${format}`, name: nameOf(file.name, format) };
}

/**
 * Where a variant is stored: the subject and the sequence number of its message. The id `use` marks the variant's
 * content as used.
 */
interface Place {
  subject: string;
  use: string;
  seq: number;
}

/**
 * Returns a variant of an image in the form of a file record. Makes the variant on the first request.
 * @throws AppError 422 if the image cannot be used, 503 if the variant is not ready in time
 */
export async function variantFile(
  deps: Deps,
  { orb, fence }: Pick<LiveOrb, "orb" | "fence">,
  file: FileRecord,
  variant: Variant,
): Promise<FileRecord> {
  if (!MADE_OF.test(file.type)) {
    const detail = `Variants are made of JPEG, PNG and WebP images. This file has the type ${file.type}. Request the original.`;
    throw badImage("image_unsupported", detail);
  }
  if (file.image?.animated === true) {
    const detail = "The image is animated, and a smaller copy would not move. Request the original.";
    throw badImage("image_unsupported", detail);
  }
  const key = variantKey(variant, file.asset);
  const subject = fileSubjects.variant(orb, file.sha256, key);
  const stream = streams.orb(orb);
  for (const until = deps.clock.now() + PATIENCE_MS; ; await pause(LOOK_MS)) {
    const message = await nullIfMissing(deps.store.get(stream, subject));
    const stored = message === null || message.size === 0 ? undefined : message.json<StoredVariant>();
    if (stored?.made !== undefined) return recordOf(file, variant, stored.made);
    if (stored?.refused !== undefined) throw badImage(stored.refused.code, stored.refused.detail);
    if (deps.images === undefined) throw noImages();
    if (stored === undefined) {
      requireWhole(orb, fence);
      const claim = { v: 1 } satisfies StoredVariant;
      const claimed = await nullOnConflict(
        deps.store.append(stream, {
          ...messageOf(subject, claim, message?.seq ?? 0),
          ttl: CLAIM_SECONDS,
        }),
      );
      const place = { subject, use: useOf(file.sha256, key), seq: claimed ?? 0 };
      if (claimed !== null) return recordOf(file, variant, await make(deps, orb, file, variant, place));
    }
    if (deps.clock.now() > until) throw imagesBusy();
  }
}

function messageOf(subject: string, stored: StoredVariant, seq: number): Append {
  return { subject, data: JSON.stringify(stored), rollup: true, expect: { seq } };
}

async function make(deps: Deps, orb: string, file: FileRecord, variant: Variant, place: Place) {
  const stream = streams.orb(orb);
  try {
    const content = await contentFor(deps, orb, file, variant);
    await requireFileStorage(deps, orb, content.length);
    const object = await storeContent(deps, orb, content);
    const runs = runsOf(object);
    const { name: sha256, size, nuid } = object;
    const made = { sha256, size, object: { nuid, ...(runs.length <= RECORD_RUNS ? { runs } : {}) } };
    // A conflict means that this request's claim has expired. Ignore the conflict: another request may then make the
    // variant again.
    await nullOnConflict(
      deps.store.batch(stream, [
        { subject: fileSubjects.content(orb, sha256, place.use), data: "1", rollup: true },
        messageOf(place.subject, { v: 1, made }, place.seq),
      ]),
    );
    return made;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, detail } = error;
    // A damaged image stays damaged, so store the refusal. If the image worker crashed, this image may be the cause, so
    // keep the claim until it expires, and let no request try before that. After any other failure, the next request
    // may try again immediately.
    if (code !== "images_failed") {
      const next = BAD_IMAGE.includes(code) ? { v: 1 as const, refused: { code, detail } } : undefined;
      const message =
        next === undefined
          ? { subject: place.subject, data: "", rollup: true, ttl: GONE_SECONDS, expect: { seq: place.seq } }
          : { ...messageOf(place.subject, next, place.seq), ttl: UNUSED_SECONDS };
      await nullOnConflict(deps.store.append(stream, message));
    }
    throw error;
  }
}

const frameOf = (asset: FileRecord["asset"]): Frame | undefined =>
  asset && { crop: asset.crop, focal: asset.focal };

async function contentFor(deps: Deps, orb: string, file: FileRecord, variant: Variant) {
  if (file.size > IMAGE_BYTES) {
    const detail = `The image has more than ${IMAGE_BYTES} bytes. Upload a smaller one.`;
    throw badImage("image_too_large", detail);
  }
  const bytes = contentOf(deps, orb, file, { start: 0, end: file.size });
  const made = await deps.images?.(
    { variant, frame: frameOf(file.asset), limit: deps.config.imagePixels },
    bytes,
  );
  if (made?.content === undefined) throw unavailable("the image worker answered without content");
  return made.content;
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * Stores content in the same steps as an upload. If a request is interrupted, the background job that deletes unused
 * content removes what the request stored.
 */
async function storeContent(deps: Deps, orb: string, bytes: Uint8Array<ArrayBuffer>): Promise<ObjectInfo> {
  const sha256 = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const nuid = deps.randomToken(ID_BYTES);
  const known = await readInfo(deps, orb, sha256);
  await storeCheck(deps, orb, deps.randomToken(ID_BYTES), { nuid, sha256 });
  let object = await keepContent(deps, orb, sha256, undefined, known);
  if (object !== undefined) return object;
  try {
    const runs = await sendChunks(deps, orb, nuid, chunked(whole(bytes)));
    const mine = infoOf(orb, sha256, { nuid, size: bytes.length, runs });
    object = (await keepContent(deps, orb, sha256, mine, known)) ?? mine;
    return object;
  } finally {
    if (object?.nuid !== nuid) deps.afterwards(removeChunks(deps, orb, nuid));
  }
}

/** A variant (smaller copy) that is removed with its image. */
export interface OldVariant {
  nuid: string;
  sha256: string;
}

/**
 * Removes the variants (smaller copies) of an image. Call this once no file uses the image.
 * @param check removes the content of a variant unless it is still used elsewhere
 */
export async function removeVariants(
  deps: Deps,
  orb: string,
  sha256: string,
  check: (old: OldVariant) => Promise<void>,
): Promise<void> {
  const stream = streams.orb(orb);
  const filter = fileSubjects.variantsOf(orb, sha256);
  const read = (fromSeq: number) =>
    deps.store.scan(stream, filter, { fromSeq, limit: VARIANTS_PER_READ, maxBytes: SMALL_BYTES });
  // An image has the variants of all crops that it ever had.
  for await (const messages of scanPages(read)) {
    for (const message of messages) {
      const { made } = message.size === 0 ? {} : message.json<StoredVariant>();
      if (made !== undefined) {
        const key = lastToken(message.subject);
        await deps.store.purge(stream, fileSubjects.content(orb, made.sha256, useOf(sha256, key)));
        await check({ nuid: made.object.nuid, sha256: made.sha256 });
      }
      await deps.store.purge(stream, message.subject, { beforeSeq: message.seq + 1 });
    }
  }
}
