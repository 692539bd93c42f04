import { z } from "zod";

/**
 * Responses contain this mask instead of a sensitive value. If a request sends the mask, the stored value is kept.
 */
export const MASK = "••••••••";

/** Returns why a string cannot be stored, or undefined if it can. */
export function textFlaw(text: string): string | undefined {
  if (text.includes("\u0000")) return "must not contain a NUL character";
  if (!text.isWellFormed()) return "must not contain half of a surrogate pair";
  return undefined;
}

/** Human-readable text. NUL characters and unpaired surrogates are rejected. */
export const words = z.string().refine((text) => textFlaw(text) === undefined, {
  error: ({ input }) => textFlaw(String(input)) ?? "",
  params: { code: "text" },
});
