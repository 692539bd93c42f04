/**
 * Makes a variant (a smaller copy) of an image, or finds its main colour. The bytes come from users, so every step has
 * a limit.
 */
import { headerOf, isDecodable, MAX_IMAGE_SIDE, shownSize } from "../../shared/images/header.ts";
import type { ImageHeader } from "../../shared/images/image-header.ts";
import type { ImageJob, MadeImage } from "../../shared/images/job.ts";
import { type Cut, cutOf, variantOf } from "../../shared/images/variant.ts";
import { type Codecs, decodeJpeg, decodeWebp, encodeJpeg, encodeWebp } from "./codecs.ts";
import { ImageFault, tooLarge, unreadable } from "./fault.ts";
import { decodePng, encodePng } from "./png.ts";
import { colorOf, onWhite, type Pixels, Shrinker, turned } from "./shrink.ts";

/** Maximum width and height of the small copy in which colours are counted. */
const COLOR_SIDE = 32;
/** Maximum scans of a JPEG. The decoder goes through the whole image once per scan. */
const MAX_SCANS = 64;

/** Throws if a JPEG has no end marker, or has so many scans that decoding would take minutes. */
function checkScans(bytes: Uint8Array): void {
  let scans = 0;
  let isComplete = false;
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const marker = bytes[at + 1];
    if (marker === 0xda) scans++;
    isComplete = marker === 0xd9;
  }
  if (!isComplete || scans > MAX_SCANS) throw unreadable();
}

async function shrink(
  codecs: Codecs,
  bytes: Uint8Array<ArrayBuffer>,
  header: ImageHeader,
  cut: Cut,
): Promise<Pixels> {
  const shrinker = new Shrinker(cut);
  const take = (rgba: Uint8Array) => {
    for (let y = cut.y; y < cut.y + cut.height; y++) shrinker.row(y, rgba, y * header.width * 4);
  };
  if (header.format === "png") {
    await decodePng(bytes, (y, row, at) => shrinker.row(y, row, at));
  } else {
    if (header.format === "jpeg") checkScans(bytes);
    const decode = header.format === "jpeg" ? decodeJpeg : decodeWebp;
    await decode(codecs, bytes, header, take).catch((error: unknown) => {
      // Codecs throw errors of their own types for damaged images.
      throw error instanceof ImageFault ? error : unreadable();
    });
  }
  return turned(shrinker.end(), header.orientation);
}

/** Converts a cut (the part to keep) from the rotated image that viewers see to the stored image. */
function storedCut({ width, height, orientation }: ImageHeader, cut: Cut): Cut {
  const isTurned = orientation > 4;
  const { to } = cut;
  const part = isTurned
    ? { x: cut.y, y: cut.x, width: cut.height, height: cut.width }
    : { x: cut.x, y: cut.y, width: cut.width, height: cut.height };
  // The same axes that `turned` mirrors, in the other direction.
  const mirrorsX = [2, 3, 7, 8].includes(orientation);
  const mirrorsY = [3, 4, 6, 7].includes(orientation);
  return {
    ...part,
    x: mirrorsX ? width - part.x - part.width : part.x,
    y: mirrorsY ? height - part.y - part.height : part.y,
    to: isTurned ? { width: to.height, height: to.width } : to,
  };
}

/** @throws ImageFault if the header shows that the image cannot be used */
function headerIn(bytes: Uint8Array, limit: number): ImageHeader {
  const header = headerOf(bytes);
  if (header === null) throw unreadable().beforeDecoding();
  if (header.unsupported !== undefined) {
    throw new ImageFault("image_unsupported", `${header.unsupported} Request the original.`).beforeDecoding();
  }
  if (isDecodable(header, limit)) return header;
  const size = `${header.width} × ${header.height}`;
  const most = `at most ${MAX_IMAGE_SIDE} on each side`;
  throw tooLarge(`The image has too many pixels (${size}, ${most}). Upload a smaller one.`).beforeDecoding();
}

/** @throws ImageFault if the image cannot be used */
export async function makeImage(
  codecs: Codecs,
  bytes: Uint8Array<ArrayBuffer>,
  job: ImageJob,
): Promise<MadeImage> {
  const header = headerIn(bytes, job.limit);
  const shown = shownSize(header);
  const { variant, frame } = job;
  const cut = cutOf(shown, variant ?? variantOf({ w: COLOR_SIDE, h: COLOR_SIDE }), frame);
  const pixels = await shrink(codecs, bytes, header, storedCut(header, cut));
  if (variant === undefined) return { ...shown, color: colorOf(pixels) };
  const { width, height } = pixels;
  if (variant.format === "png") return { width, height, content: await encodePng(pixels) };
  const encode = variant.format === "jpeg" ? encodeJpeg : encodeWebp;
  return {
    width,
    height,
    content: await encode(codecs, variant.format === "jpeg" ? onWhite(pixels) : pixels),
  };
}
