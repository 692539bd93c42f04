/** Variants of an image: smaller copies. The application's document lists their sizes and formats. */

export const FITS = ["contain", "cover"] as const;
export const FORMATS = ["webp", "jpeg", "png"] as const;
/** Maximum width and height of a variant. */
export const MAX_SIDE = 2048;

/** A variant (smaller copy) of an image, as written in orb documents and requests. */
export interface VariantOptions {
  w?: number | undefined;
  h?: number | undefined;
  fit?: (typeof FITS)[number] | undefined;
  format?: (typeof FORMATS)[number] | undefined;
}

export type Variant = Required<Pick<VariantOptions, "fit" | "format">> & Pick<VariantOptions, "w" | "h">;

export function variantOf({ w, h, fit = "contain", format = "webp" }: VariantOptions): Variant {
  return { ...(w === undefined ? {} : { w }), ...(h === undefined ? {} : { h }), fit, format };
}

/** Returns a unique name for a variant of an image, which can be used in a message subject. */
export function variantKey({ w, h, fit, format }: Variant): string {
  return `${w ?? ""}x${h ?? ""}-${fit}-${format}`;
}

/** Returns the query string that requests a variant of an image. */
export function variantQuery({ w, h, fit, format }: Variant): string {
  const given: [string, string | number | undefined][] = [
    ["w", w],
    ["h", h],
    ["fit", fit],
    ["format", format],
  ];
  return given.flatMap(([key, value]) => (value === undefined ? [] : `${key}=${value}`)).join("&");
}

export interface Size {
  width: number;
  height: number;
}

/** The part of an image that a variant shows, and the variant's size. */
export interface Cut extends Size {
  x: number;
  y: number;
  to: Size;
}

const atLeastOne = (value: number) => Math.max(1, Math.round(value));

/** Returns the part of an image that a variant shows. A variant is never larger than this part. */
export function cutOf({ width, height }: Size, { w, h, fit }: Variant): Cut {
  if (fit === "cover" && w !== undefined && h !== undefined) {
    // Take the largest part that has the aspect ratio of the variant.
    const scale = Math.min(width / w, height / h);
    const part = { width: atLeastOne(w * scale), height: atLeastOne(h * scale) };
    const [x, y] = [Math.floor((width - part.width) / 2), Math.floor((height - part.height) / 2)];
    return { ...part, x, y, to: scale > 1 ? { width: w, height: h } : part };
  }
  const scale = Math.min(1, (w ?? width) / width, (h ?? height) / height);
  return {
    x: 0,
    y: 0,
    width,
    height,
    to: { width: atLeastOne(width * scale), height: atLeastOne(height * scale) },
  };
}
