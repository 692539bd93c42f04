/** Responses contain this mask instead of a sensitive value. A request with the mask keeps the stored value. */
export const MASK = "••••••••";
