/** Decodes images, and measures how much memory the decoders take. */
import { beforeAll } from "vitest";
import { ImageFault } from "../../functions/images/fault.ts";
import { makeImage } from "../../functions/images/make.ts";
import { headerOf, isDecodable } from "../../shared/images/header.ts";
import { variantOf } from "../../shared/images/variant.ts";
import type { Image } from "./hostile-images.ts";
import { codecs } from "./images.ts";

const LIMIT = 20_000_000;
const MIB = 1024 * 1024;
/** Memory with which a codec starts. */
export const STARTING_BYTES = 16 * MIB;

/** The largest memory of any codec since the last reset. */
let peak = 0;

/** Records the memory of all decoders while the tests of a file run. */
export function measureDecoders(): void {
  beforeAll(() => {
    const { grow } = WebAssembly.Memory.prototype;
    WebAssembly.Memory.prototype.grow = function (this: WebAssembly.Memory, pages) {
      const before = grow.call(this, pages);
      peak = Math.max(peak, this.buffer.byteLength);
      return before;
    };
    return () => {
      WebAssembly.Memory.prototype.grow = grow;
    };
  });
}

export interface Outcome {
  /** `made`, or the code of the refusal. */
  code: string;
  detail?: string;
  memory: number;
}

/** Makes a small variant of an image, as the platform does. */
export async function outcomeOf(image: Image, limit = LIMIT): Promise<Outcome> {
  peak = 0;
  const code = await makeImage(codecs, image, { limit, variant: variantOf({ w: 50, h: 50 }) }).then(
    () => ({ code: "made" }),
    (error: unknown) =>
      error instanceof ImageFault ? { code: error.code, detail: error.message } : { code: String(error) },
  );
  return { ...code, memory: peak };
}

/** Memory that the decoder may take for an image whose header was accepted. */
export function promised(image: Image): number {
  const header = headerOf(image);
  return header !== null && isDecodable(header, LIMIT) ? header.memory + 2 * image.length + 48 * MIB : 0;
}
