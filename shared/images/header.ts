/**
 * Reads the size of an image from its first bytes, without decoding it. Every step of a loop moves forward, so the
 * time is linear in the number of bytes.
 *
 * The decoder must find the same image in the bytes as the reader of the header, or a small image in the header hides a
 * large one. So each reader accepts only files that its decoder cannot understand in another way, and rejects files
 * that a tolerant decoder would repair.
 */
import { bmp } from "./bmp.ts";
import { Bytes } from "./bytes.ts";
import { gif } from "./gif.ts";
import type { ImageHeader } from "./image-header.ts";
import { jpeg } from "./jpeg.ts";
import { png } from "./png.ts";
import type { Size } from "./variant.ts";
import { webp } from "./webp.ts";

/** Bytes per decoded pixel: red, green, blue, alpha. */
export const RGBA = 4;

/** Maximum width and height of an image that is decoded. Much of the work is done per row or column. */
export const MAX_IMAGE_SIDE = 16_384;

/** Returns the size of the image as browsers show it. */
export function shownSize({ width, height, orientation }: ImageHeader): Size {
  return orientation > 4 ? { width: height, height: width } : { width, height };
}

/** Returns whether decoding needs at most as much memory and work as an RGBA image of `limit` pixels. */
export function isDecodable({ width, height, memory }: ImageHeader, limit: number): boolean {
  return Math.max(width, height) <= MAX_IMAGE_SIDE && Math.max(width * height, memory / RGBA) <= limit;
}

/** Reads the header of an image. Returns null if the image is damaged or has an unknown format. */
export function headerOf(head: Uint8Array): ImageHeader | null {
  const bytes = new Bytes(head);
  try {
    const found = jpeg(bytes) ?? png(bytes) ?? webp(bytes) ?? gif(bytes) ?? bmp(bytes);
    return found !== null && found.width > 0 && found.height > 0 ? found : null;
  } catch (error) {
    // The data ends inside the header.
    if (error instanceof RangeError) return null;
    throw error;
  }
}
