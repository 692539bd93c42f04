/**
 * Reads the size of an image from its first bytes, without decoding it. Every step of a loop moves forward, so the
 * time is linear in the number of bytes.
 */
import { orientationIn } from "./exif.ts";
import type { Size } from "./variant.ts";

export interface ImageHeader {
  format: "jpeg" | "png" | "webp" | "gif";
  /** Width of the stored image, before its orientation is applied. */
  width: number;
  height: number;
  /** EXIF orientation, from 1 to 8. */
  orientation: number;
  /** Bytes of memory that the decoder needs per pixel. */
  pixelBytes: number;
  /** The reason why no smaller copy of the image can be made. */
  unsupported?: string;
}

/** Bytes per decoded pixel: red, green, blue, alpha. */
const RGBA = 4;

/** Returns the size of the image as browsers show it. */
export function shownSize({ width, height, orientation }: ImageHeader): Size {
  return orientation > 4 ? { width: height, height: width } : { width, height };
}

/** Returns whether decoding needs at most as much memory as an RGBA image of `limit` pixels. */
export function isDecodable({ width, height, pixelBytes }: ImageHeader, limit: number): boolean {
  return width * height * Math.max(1, pixelBytes / RGBA) <= limit;
}

class Bytes {
  readonly view: DataView;
  readonly size: number;
  readonly all: Uint8Array;

  constructor(all: Uint8Array) {
    this.all = all;
    this.size = all.length;
    this.view = new DataView(all.buffer, all.byteOffset, all.byteLength);
  }

  /** Returns bytes as characters. The result is shorter if the data ends first. */
  text(at: number, length: number): string {
    return String.fromCharCode(...this.all.subarray(at, at + length));
  }

  byte(at: number): number {
    return this.all[at] ?? 0;
  }
}

/** Reads the header of a JPEG, PNG, WebP or GIF. Returns null if the image is damaged or has another format. */
export function headerOf(head: Uint8Array): ImageHeader | null {
  const bytes = new Bytes(head);
  try {
    const found = jpeg(bytes) ?? png(bytes) ?? webp(bytes) ?? gif(bytes);
    return found !== null && found.width > 0 && found.height > 0 ? found : null;
  } catch (error) {
    // The data ends inside the header.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const SOI = 0xffd8;
const APP1 = 0xe1;

/** Returns whether a marker starts a frame. 0xc4, 0xc8 and 0xcc are in the same range but have other meanings. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpeg(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.size < 4 || view.getUint16(0) !== SOI) return null;
  let orientation = 1;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    // Fill bytes (0xff) may precede a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    const length = view.getUint16(at + 2);
    if (length < 2 || marker === 0xd9 || marker === 0xda) return null;
    if (marker === APP1 && bytes.text(at + 4, 6) === "Exif\0\0") {
      orientation = orientationIn(bytes.all.subarray(at + 10, at + 2 + length)) ?? orientation;
    }
    if (isFrame(marker)) return { ...frame(bytes, at, marker), orientation };
    at += 2 + length;
  }
}

function frame({ view }: Bytes, at: number, marker: number): Omit<ImageHeader, "orientation"> {
  const components = view.getUint8(at + 9);
  let samples = 0;
  let most = 1;
  for (let i = 0; i < components; i++) {
    const factors = view.getUint8(at + 11 + i * 3);
    const each = Math.max(1, factors >> 4) * Math.max(1, factors & 15);
    samples += each;
    most = Math.max(most, each);
  }
  // To decode a progressive JPEG, the decoder stores the coefficients of the whole image, two bytes each.
  const isProgressive = marker === 0xc2;
  const isKnown = marker <= 0xc2 && view.getUint8(at + 4) === 8 && (components === 1 || components === 3);
  return {
    format: "jpeg",
    height: view.getUint16(at + 5),
    width: view.getUint16(at + 7),
    pixelBytes: RGBA + (isProgressive ? (2 * samples) / most : 0),
    ...(isKnown ? {} : { unsupported: "It is a JPEG in CMYK, with 12 bits, or in a rare coding." }),
  };
}

function png(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.text(0, 8) !== "\x89PNG\r\n\x1a\n" || bytes.text(12, 4) !== "IHDR") return null;
  const header: ImageHeader = {
    format: "png",
    width: view.getUint32(16),
    height: view.getUint32(20),
    orientation: 1,
    // The decoder keeps an interlaced image in memory as a whole. It decodes any other image row by row.
    pixelBytes: view.getUint8(28) === 0 ? 0 : RGBA,
  };
  for (let at = 33; at + 8 <= bytes.size; ) {
    const type = bytes.text(at + 4, 4);
    const length = view.getUint32(at);
    if (type === "IDAT" || type === "IEND") break;
    if (type === "eXIf") header.orientation = orientationIn(bytes.all.subarray(at + 8, at + 8 + length)) ?? 1;
    at += 12 + length;
  }
  return header;
}

function webp(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.text(0, 4) !== "RIFF" || bytes.text(8, 4) !== "WEBP") return null;
  let canvas: Size | undefined;
  let image: (Size & { pixelBytes: number }) | undefined;
  let orientation = 1;
  let hasAlpha = false;
  let isAnimated = false;
  for (let at = 12; at + 8 <= bytes.size; ) {
    const type = bytes.text(at, 4);
    const length = view.getUint32(at + 4, true);
    const data = at + 8;
    if (type === "VP8X") {
      const side = (offset: number) => 1 + (view.getUint32(data + offset, true) & 0xffffff);
      // The height has three bytes. Read them as the end of a four-byte number, so that no byte after them is needed.
      canvas = { width: side(4), height: 1 + (view.getUint32(data + 6, true) >>> 8) };
      isAnimated = (view.getUint8(data) & 2) !== 0;
    } else if (type === "ALPH") hasAlpha = true;
    else if (type === "VP8 ") {
      if (view.getUint16(data + 3) !== 0x9d01 || view.getUint8(data + 5) !== 0x2a) return null;
      const width = view.getUint16(data + 6, true) & 0x3fff;
      const height = view.getUint16(data + 8, true) & 0x3fff;
      image = { width, height, pixelBytes: hasAlpha ? RGBA + 2 : RGBA };
    } else if (type === "VP8L") {
      if (view.getUint8(data) !== 0x2f) return null;
      const bits = view.getUint32(data + 1, true);
      image = { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff), pixelBytes: 2 * RGBA };
    } else if (type === "EXIF") {
      const exif = bytes.all.subarray(data, data + length);
      orientation = orientationIn(exif) ?? orientationIn(exif.subarray(6)) ?? 1;
    }
    at = data + length + (length % 2);
  }
  const size = image ?? canvas;
  if (size === undefined) return null;
  const differs = image !== undefined && canvas !== undefined && !isSame(image, canvas);
  const unsupported = isAnimated
    ? "It is an animated WebP."
    : differs
      ? "Its header names another size than its content."
      : undefined;
  return {
    format: "webp",
    ...(isAnimated && canvas !== undefined ? canvas : { width: size.width, height: size.height }),
    orientation,
    pixelBytes: image?.pixelBytes ?? 2 * RGBA,
    ...(unsupported === undefined ? {} : { unsupported }),
  };
}

const isSame = (one: Size, other: Size) => one.width === other.width && one.height === other.height;

function gif(bytes: Bytes): ImageHeader | null {
  if (!/^GIF8[79]a$/.test(bytes.text(0, 6))) return null;
  return {
    format: "gif",
    width: bytes.view.getUint16(6, true),
    height: bytes.view.getUint16(8, true),
    orientation: 1,
    pixelBytes: RGBA,
    unsupported: "It is a GIF.",
  };
}
