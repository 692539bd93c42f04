/** Maximum bytes of a body in one message. As base64 they stay below the broker's usual limit of 1 MiB. */
export const HTTP_PART_BYTES = 512 * 1024;

/** Maximum bytes of the body of a request or of a response, in all its parts. */
export const HTTP_BODY_LIMIT = 32 * 1024 * 1024;

/** Maximum milliseconds from the first message to the last one. */
export const HTTP_EXCHANGE_MS = 300_000;
