/** Responses show this mask instead of a sensitive value. In a request, it means that the value stays unchanged. */
export const MASK = "••••••••";
