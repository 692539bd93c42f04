import type { Frame, Size, Variant } from "./variant.ts";

/** A task for the image worker. */
export interface ImageJob {
  /** The variant (smaller copy) to make. If missing, the image worker finds the main colour of the image instead. */
  variant?: Variant;
  /** The crop and the focal point of the image. */
  frame?: Frame | undefined;
  /** Maximum pixels of the image. */
  limit: number;
}

export interface MadeImage extends Size {
  /** The encoded variant. */
  content?: Uint8Array<ArrayBuffer>;
  /** Main colour as `#rrggbb`, if the job asks for no variant. Undefined if the image is transparent. */
  color?: string | undefined;
}

/**
 * Makes a variant (smaller copy) of an image, or finds its main colour. Runs outside the thread or isolate that serves
 * the API.
 * @throws AppError if the image cannot be used, or if too many images are waiting
 */
export type MakeImage = (job: ImageJob, image: AsyncIterable<Uint8Array>) => Promise<MadeImage>;

/** Maximum bytes of an image that the image worker decodes. */
export const IMAGE_BYTES = 16 * 1024 * 1024;

/** Maximum milliseconds to process one image. */
export const MAKING_MS = 15_000;

/** Header of a refusal by the image worker: `true` if a decoder has worked on the image. */
export const DECODED_HEADER = "x-image-decoded";
