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

/** A place in an image as shown: fractions of its width and height, from 0 to 1. */
export interface Focal {
  x: number;
  y: number;
}

/** A rectangle of an image as shown, in fractions of its width and height. */
export interface Crop extends Focal {
  w: number;
  h: number;
}

/** The part of an image that an editor chose. Its variants show nothing outside the crop, and keep the focal point in view. */
export interface Frame {
  crop?: Crop | undefined;
  focal?: Focal | undefined;
}

/** Fractions are kept with this many steps from 0 to 1. */
export const FRAME_STEPS = 10_000;

const steps = (fraction: number) => Math.round(fraction * FRAME_STEPS);

/** Returns whether a variant cuts off a part of the image to get its shape. */
const isCover = ({ w, h, fit }: Variant): boolean => fit === "cover" && w !== undefined && h !== undefined;

/**
 * Returns a unique name for a variant of an image, which can be used in a message subject. Variants of different crops
 * have different names, so a new crop never shows an older copy.
 */
export function variantKey(variant: Variant, { crop, focal }: Frame = {}): string {
  const { w, h, fit, format } = variant;
  const cropped = crop === undefined ? "" : `-c${[crop.x, crop.y, crop.w, crop.h].map(steps).join("_")}`;
  // A variant that shows the whole crop does not depend on the focal point.
  const focused = focal === undefined || !isCover(variant) ? "" : `-f${steps(focal.x)}_${steps(focal.y)}`;
  return `${w ?? ""}x${h ?? ""}-${fit}-${format}${cropped}${focused}`;
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

/** The small copy that each image has, for lists of files. */
export const THUMBNAIL: Variant = { w: 320, h: 320, fit: "contain", format: "webp" };

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

/** Returns the pixels inside a crop, at least one. */
function regionOf({ width, height }: Size, crop: Crop | undefined): Omit<Cut, "to"> {
  if (crop === undefined) return { x: 0, y: 0, width, height };
  const x = Math.min(width - 1, Math.floor(crop.x * width));
  const y = Math.min(height - 1, Math.floor(crop.y * height));
  return {
    x,
    y,
    width: Math.min(width - x, atLeastOne(crop.w * width)),
    height: Math.min(height - y, atLeastOne(crop.h * height)),
  };
}

/** Returns where a part of a side begins: with the focal point in its middle, as far as the region allows. */
function startOf(from: number, side: number, part: number, focus: number | undefined): number {
  if (focus === undefined) return from + Math.floor((side - part) / 2);
  return Math.min(from + side - part, Math.max(from, Math.round(focus - part / 2)));
}

/** Returns the part of an image that a variant shows. A variant is never larger than this part. */
export function cutOf(size: Size, variant: Variant, { crop, focal }: Frame = {}): Cut {
  const region = regionOf(size, crop);
  const { x, y, width, height } = region;
  const { w, h } = variant;
  if (isCover(variant) && w !== undefined && h !== undefined) {
    // Take the largest part that has the aspect ratio of the variant.
    const scale = Math.min(width / w, height / h);
    const part = { width: atLeastOne(w * scale), height: atLeastOne(h * scale) };
    return {
      ...part,
      x: startOf(x, width, part.width, focal && focal.x * size.width),
      y: startOf(y, height, part.height, focal && focal.y * size.height),
      to: scale > 1 ? { width: w, height: h } : part,
    };
  }
  const scale = Math.min(1, (w ?? width) / width, (h ?? height) / height);
  return { ...region, to: { width: atLeastOne(width * scale), height: atLeastOne(height * scale) } };
}
