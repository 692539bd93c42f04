/** Thrown if an image cannot be used. The error response contains `code`. */
export class ImageFault extends Error {
  readonly code: "image_unreadable" | "image_too_large" | "image_unsupported";

  constructor(code: ImageFault["code"], detail: string) {
    super(detail);
    this.name = "ImageFault";
    this.code = code;
  }
}

export function unreadable(detail = "The image is damaged or incomplete. Upload it again."): ImageFault {
  return new ImageFault("image_unreadable", detail);
}
