/** Responses show this instead of a sensitive value. Requests send it to keep the value. */
export const MASK = "••••••••";
