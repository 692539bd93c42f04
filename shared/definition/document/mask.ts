/**
 * The mask that responses show instead of a sensitive value. In a write it means "unchanged", and is valid only if a
 * value is stored.
 */
export const MASK = "••••••••";
