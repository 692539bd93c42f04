/** Reads the header of a PNG. */
import type { Bytes } from "./bytes.ts";
import { orientationIn } from "./exif.ts";
import type { ImageHeader } from "./image-header.ts";

/** Bytes of a pixel with two bytes for each of red, green, blue and alpha. */
const DEEPEST = 8;

/** The decoder reads the same places: the size at a fixed position, then chunks up to the first pixels. */
export function png(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.text(0, 8) !== "\x89PNG\r\n\x1a\n") return null;
  if (view.getUint32(8) !== 13 || bytes.text(12, 4) !== "IHDR") return null;
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  // The decoder keeps an interlaced image in memory as a whole. It decodes any other image row by row.
  const isInterlaced = bytes.byte(28) !== 0;
  const header: ImageHeader = {
    format: "png",
    width,
    height,
    orientation: 1,
    memory: isInterlaced ? width * height * 4 : width * 4 * DEEPEST,
  };
  for (let at = 33; at + 8 <= bytes.size; ) {
    const type = bytes.text(at + 4, 4);
    const length = view.getUint32(at);
    if (type === "IDAT" || type === "IEND") break;
    if (type === "IHDR") return null;
    if (type === "eXIf") header.orientation = orientationIn(bytes.part(at + 8, length)) ?? 1;
    // An animated PNG names the number of its frames.
    if (type === "acTL" && view.getUint32(at + 8) > 1) {
      header.animated = true;
      header.unsupported = "It is an animated PNG, and a smaller copy would not move.";
    }
    at += 12 + length;
  }
  return header;
}
