/** What the first bytes of an image say of it. */
export interface ImageHeader {
  format: "jpeg" | "png" | "webp" | "gif" | "bmp";
  /** Width of the stored image, before its orientation is applied. */
  width: number;
  height: number;
  /** EXIF orientation, from 1 to 8. */
  orientation: number;
  /** Bytes of memory that the decoder needs for pixels and coefficients. */
  memory: number;
  /** Whether the image has several frames. */
  animated?: true;
  /** The reason why no smaller copy of the image can be made. */
  unsupported?: string;
}
