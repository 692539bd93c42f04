import { z } from "zod";
import { FITS, FORMATS, MAX_SIDE, variantKey, variantOf } from "../../images/variant.ts";

export const MAX_VARIANTS = 20;

const side = z.int().min(1).max(MAX_SIDE).optional();

const variantSchema = z
  .strictObject({
    w: side.meta({ description: "Maximum width in pixels.", example: 200 }),
    h: side.meta({ description: "Maximum height in pixels.", example: 200 }),
    fit: z.enum(FITS).optional().meta({
      description:
        "contain (default): the whole image, at most this large. cover: exactly this large, without the edges that do not fit. Nothing is enlarged.",
    }),
    format: z.enum(FORMATS).optional().meta({ description: "Default: webp." }),
  })
  .refine(({ w, h }) => w !== undefined || h !== undefined, "must have w, h, or both")
  .refine(({ w, h, fit }) => fit !== "cover" || (w !== undefined && h !== undefined), {
    error: "must have w and h, because fit is cover",
    path: ["fit"],
  })
  .meta({ id: "OrbVariant", description: "A smaller copy of an image, by its size and format." });

export const variantsSchema = z
  .array(variantSchema)
  .min(1)
  .max(MAX_VARIANTS)
  .refine((all) => new Set(all.map((each) => variantKey(variantOf(each)))).size === all.length, {
    error: "must not list a variant twice",
    params: { code: "duplicate" },
  })
  .meta({ description: "The smaller copies of an image that clients may request." });
