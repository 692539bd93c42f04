/** Thrown if an image cannot be used. The error response contains `code`. */
export class ImageFault extends Error {
  readonly code: "image_unreadable" | "image_too_large" | "image_unsupported";
  /** Whether a decoder has worked on the image. Then its thread or process must end, to free its memory. */
  wasDecoded = true;

  constructor(code: ImageFault["code"], detail: string) {
    super(detail);
    this.name = "ImageFault";
    this.code = code;
  }

  beforeDecoding(): this {
    this.wasDecoded = false;
    return this;
  }
}

export function unreadable(detail = "The image is damaged or incomplete. Upload it again."): ImageFault {
  return new ImageFault("image_unreadable", detail);
}

export function tooLarge(
  detail = "The image needs more memory than its size says. Save it in another program, and upload it again.",
): ImageFault {
  return new ImageFault("image_too_large", detail);
}
