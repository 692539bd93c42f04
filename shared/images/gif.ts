/** Reads the header of a GIF. */
import type { Bytes } from "./bytes.ts";
import type { ImageHeader } from "./image-header.ts";

const IMAGE = 0x2c;
const EXTENSION = 0x21;
const APPLICATION = 0xff;
/** Applications whose extension says how often an animation repeats. */
const LOOPS = /^(NETSCAPE2\.0|ANIMEXTS1\.0)$/;

/** Returns the bytes of a colour table, from the flags that describe it. */
const tableBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** Returns the position after the blocks of data that start at a position. */
function afterBlocks(bytes: Bytes, start: number): number {
  let at = start;
  for (let length = bytes.byte(at); length > 0; length = bytes.byte(at)) at += 1 + length;
  return at + 1;
}

/** Returns whether the known bytes show that the image repeats, or has a second frame. */
function isAnimated(bytes: Bytes): boolean {
  let frames = 0;
  try {
    for (let at = 13 + tableBytes(bytes.byte(10)); ; ) {
      const kind = bytes.byte(at);
      if (kind === IMAGE) {
        frames++;
        if (frames > 1) return true;
        at = afterBlocks(bytes, at + 11 + tableBytes(bytes.byte(at + 9)));
      } else if (kind === EXTENSION) {
        if (bytes.byte(at + 1) === APPLICATION && LOOPS.test(bytes.text(at + 3, 11))) return true;
        at = afterBlocks(bytes, at + 2);
      } else return false;
    }
  } catch (error) {
    // The known bytes end.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export function gif(bytes: Bytes): ImageHeader | null {
  if (!/^GIF8[79]a$/.test(bytes.text(0, 6))) return null;
  const [width, height] = [bytes.view.getUint16(6, true), bytes.view.getUint16(8, true)];
  const animated = isAnimated(bytes);
  return {
    format: "gif",
    width,
    height,
    orientation: 1,
    memory: width * height * 4,
    ...(animated ? { animated } : {}),
    unsupported: animated ? "It is an animated GIF, and a smaller copy would not move." : "It is a GIF.",
  };
}
