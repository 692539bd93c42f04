/** Reads the header of a BMP. */
import type { Bytes } from "./bytes.ts";
import type { ImageHeader } from "./image-header.ts";

/** Bytes of the oldest header, whose sides have two bytes, and of the first one whose sides have four. */
const CORE = 12;
const INFO = 40;

export function bmp(bytes: Bytes): ImageHeader | null {
  const { view } = bytes;
  if (bytes.text(0, 2) !== "BM") return null;
  const header = view.getUint32(14, true);
  if (header !== CORE && (header < INFO || header > 124)) return null;
  const [width, height] =
    header === CORE
      ? [view.getUint16(18, true), view.getUint16(20, true)]
      : // A negative height means that the rows are stored from top to bottom.
        [view.getInt32(18, true), Math.abs(view.getInt32(22, true))];
  const unsupported = "It is a BMP.";
  return { format: "bmp", width, height, orientation: 1, memory: width * height * 4, unsupported };
}
