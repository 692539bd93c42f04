/** Reads the header of a WebP. */
import type { Bytes } from "./bytes.ts";
import { orientationIn } from "./exif.ts";
import type { ImageHeader } from "./image-header.ts";
import type { Size } from "./variant.ts";

/** Decoded pixels, and for lossless images the pixels before the last transform. */
const LOSSY = 4;
const LOSSLESS = 8;
/** A plane of transparency, and the lossless image in which it is stored. */
const ALPHA = 1;
const PACKED_ALPHA = 5;

const ANIMATION_FLAG = 2;

interface Chunk {
  type: string;
  /** Position of the chunk's content. */
  data: number;
  length: number;
}

/**
 * Returns the chunks whose start is known. Returns null if they do not fill the file exactly, as far as the file says
 * how long it is. Bytes after that end are ignored by decoders.
 */
function chunksOf(bytes: Bytes): Chunk[] | null {
  const end = 8 + bytes.view.getUint32(4, true);
  const chunks: Chunk[] = [];
  for (let at = 12; at < end; ) {
    if (at + 8 > bytes.size) break;
    const length = bytes.view.getUint32(at + 4, true);
    chunks.push({ type: bytes.text(at, 4), data: at + 8, length });
    at += 8 + length + (length % 2);
    if (at > end) return null;
  }
  return chunks;
}

interface Content extends Size {
  memory: number;
}

function lossy(bytes: Bytes, { data, length }: Chunk): Size | null {
  const { view } = bytes;
  const isKeyFrame = (bytes.byte(data) & 1) === 0;
  if (length < 10 || !isKeyFrame) return null;
  if (view.getUint16(data + 3) !== 0x9d01 || bytes.byte(data + 5) !== 0x2a) return null;
  return { width: view.getUint16(data + 6, true) & 0x3fff, height: view.getUint16(data + 8, true) & 0x3fff };
}

function lossless(bytes: Bytes, { data, length }: Chunk): Size | null {
  const bits = bytes.view.getUint32(data + 1, true);
  // The three highest bits are the version, which is 0.
  if (length < 5 || bytes.byte(data) !== 0x2f || bits >>> 29 !== 0) return null;
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
}

/** Returns the canvas of an extended file, or null if its header is damaged. */
function canvasOf({ view }: Bytes, { data, length }: Chunk): Size | null {
  if (length !== 10) return null;
  // Each side has three bytes. Read the height as the end of a four-byte number, so that no byte after it is needed.
  return {
    width: 1 + (view.getUint32(data + 4, true) & 0xffffff),
    height: 1 + (view.getUint32(data + 6, true) >>> 8),
  };
}

/** Returns the only image of the chunks. Returns null if there is another number of images, or if it is damaged. */
function contentOf(bytes: Bytes, chunks: readonly Chunk[]): Content | null {
  const [image, ...others] = chunks.filter(({ type }) => type === "VP8 " || type === "VP8L");
  if (image === undefined || others.length > 0) return null;
  if (image.type === "VP8L") {
    const size = lossless(bytes, image);
    return size && { ...size, memory: size.width * size.height * LOSSLESS };
  }
  const size = lossy(bytes, image);
  const planes = chunks.filter(({ type }) => type === "ALPH");
  if (size === null || planes.length > 1) return null;
  const isPacked = planes.some(({ data }) => (bytes.byte(data) & 3) !== 0);
  const alpha = planes.length === 0 ? 0 : isPacked ? PACKED_ALPHA : ALPHA;
  return { ...size, memory: size.width * size.height * (LOSSY + alpha) };
}

function orientationOf(bytes: Bytes, chunks: readonly Chunk[]): number {
  const found = chunks.find(({ type }) => type === "EXIF");
  const exif = found === undefined ? new Uint8Array(0) : bytes.part(found.data, found.length);
  return orientationIn(exif) ?? orientationIn(exif.subarray(6)) ?? 1;
}

/**
 * Accepts one image. The first chunk is the image itself, or the header of the extended format. A decoder takes the
 * first image that it finds, and takes anything else at that place for pixels without a header.
 */
export function webp(bytes: Bytes): ImageHeader | null {
  if (bytes.text(0, 4) !== "RIFF" || bytes.text(8, 4) !== "WEBP") return null;
  const chunks = chunksOf(bytes);
  const first = chunks?.[0];
  if (chunks === null || first === undefined) return null;
  const orientation = orientationOf(bytes, chunks);
  if (first.type !== "VP8X") {
    const size = first.type === "VP8 " || first.type === "VP8L" ? contentOf(bytes, chunks) : null;
    return size && { format: "webp", orientation, ...size };
  }
  const canvas = canvasOf(bytes, first);
  if (canvas === null || chunks.some(({ type }, at) => at > 0 && type === "VP8X")) return null;
  if ((bytes.byte(first.data) & ANIMATION_FLAG) !== 0) {
    const unsupported = "It is an animated WebP, and a smaller copy would not move.";
    const memory = canvas.width * canvas.height * LOSSLESS;
    return { format: "webp", orientation, ...canvas, memory, animated: true, unsupported };
  }
  const size = contentOf(bytes, chunks);
  if (size === null || size.width !== canvas.width || size.height !== canvas.height) return null;
  return { format: "webp", orientation, ...size };
}
