import type { Size, Variant } from "./variant.ts";

/** A task for the image worker. */
export interface ImageJob {
  /** Without it, the colour of the image is found. */
  variant?: Variant;
  /** Maximum number of pixels. */
  limit: number;
}

export interface MadeImage extends Size {
  /** The variant. */
  content?: Uint8Array<ArrayBuffer>;
  /** `#rrggbb`, without a variant. Undefined if the image is transparent. */
  color?: string | undefined;
}

/**
 * Makes a variant, or finds the colour of an image, apart from the process or isolate that serves the API.
 * @throws AppError if the image cannot be used, or if too many images are waiting
 */
export type MakeImage = (job: ImageJob, image: AsyncIterable<Uint8Array>) => Promise<MadeImage>;

/** Maximum bytes of an image that is decoded. */
export const IMAGE_BYTES = 16 * 1024 * 1024;

/** Maximum milliseconds for one image. */
export const MAKING_MS = 15_000;
