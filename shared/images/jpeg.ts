/** Reads the header of a JPEG, up to the first scan. */
import type { Bytes } from "./bytes.ts";
import { orientationIn } from "./exif.ts";
import type { ImageHeader } from "./image-header.ts";

const SOI = 0xffd8;
const SOS = 0xda;
const APP1 = 0xe1;
const COMMENT = 0xfe;
/** Huffman tables, arithmetic coding, quantization tables, restart interval. */
const TABLES: readonly number[] = [0xc4, 0xcc, 0xdb, 0xdd];

/** Returns whether a marker starts a frame. 0xc4, 0xc8 and 0xcc are in the same range but have other meanings. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

const isMetadata = (marker: number) => (marker >= 0xe0 && marker <= 0xef) || marker === COMMENT;

interface Frame {
  marker: number;
  depth: number;
  width: number;
  height: number;
  /** Horizontal and vertical sampling factor of each component. */
  factors: (readonly [number, number])[];
}

/**
 * Accepts only markers with a length before the first scan, and only one frame. A decoder skips other markers and bytes
 * between segments in its own ways, so they could hide a frame.
 */
export function jpeg(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.size < 4 || view.getUint16(0) !== SOI) return null;
  let orientation = 1;
  let frame: Frame | null = null;
  for (let at = 2; ; ) {
    if (bytes.byte(at) !== 0xff) return null;
    const marker = bytes.byte(at + 1);
    // Fill bytes (0xff) may precede a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    const length = view.getUint16(at + 2);
    if (length < 2) return null;
    if (marker === SOS) return frame && headerFor(frame, bytes.byte(at + 4), orientation);
    if (isFrame(marker)) {
      if (frame !== null) return null;
      frame = frameAt(bytes, at, marker, length);
      if (frame === null) return null;
    } else if (marker === APP1 && bytes.text(at + 4, 6) === "Exif\0\0") {
      orientation = orientationIn(bytes.part(at + 10, length - 8)) ?? orientation;
    } else if (!isMetadata(marker) && !TABLES.includes(marker)) return null;
    at += 2 + length;
  }
}

function frameAt(bytes: Bytes, at: number, marker: number, length: number): Frame | null {
  const components = bytes.byte(at + 9);
  if (length !== 8 + 3 * components || components === 0) return null;
  const factors = Array.from({ length: components }, (_, i) => {
    const both = bytes.byte(at + 11 + i * 3);
    return [both >> 4, both & 15] as const;
  });
  if (factors.flat().some((factor) => factor < 1 || factor > 4)) return null;
  const [height, width] = [bytes.view.getUint16(at + 5), bytes.view.getUint16(at + 7)];
  return { marker, depth: bytes.byte(at + 4), width, height, factors };
}

/** @param scanned number of components in the first scan */
function headerFor(frame: Frame, scanned: number, orientation: number): ImageHeader {
  const { marker, depth, width, height, factors } = frame;
  const isKnown = marker <= 0xc2 && depth === 8 && (factors.length === 1 || factors.length === 3);
  // An image in several scans: the decoder stores the coefficients of the whole image.
  const isWhole = marker === 0xc2 || scanned < factors.length;
  return {
    format: "jpeg",
    width,
    height,
    orientation,
    memory: width * height * 4 + (isWhole ? coefficientBytes(frame) : 0),
    ...(isKnown ? {} : { unsupported: "It is a JPEG in CMYK, with 12 bits, or in a rare coding." }),
  };
}

/** Returns the bytes of all coefficients: two each, 64 in a block. Images are padded to whole groups of blocks. */
function coefficientBytes({ width, height, factors }: Frame): number {
  const [across, down] = [0, 1].map((side) => Math.max(...factors.map((pair) => pair[side] ?? 1)));
  const groups = Math.ceil(width / (8 * (across ?? 1))) * Math.ceil(height / (8 * (down ?? 1)));
  const blocks = factors.reduce((sum, [horizontal, vertical]) => sum + horizontal * vertical, 0);
  return groups * blocks * 64 * 2;
}
