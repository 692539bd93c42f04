/**
 * What answers show in place of a sensitive value. Sent back on a write it means "unchanged", and is valid only
 * where a value is stored already.
 */
export const MASK = "••••••••";
