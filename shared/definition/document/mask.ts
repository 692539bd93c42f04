/**
 * Responses contain this mask instead of a sensitive value. If a request sends the mask, the stored value is kept.
 */
export const MASK = "••••••••";
