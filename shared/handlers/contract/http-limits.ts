/**
 * Maximum bytes of a body in one message. Encoded as base64, a body of this size stays below the broker's default limit
 * of 1 MiB.
 */
export const HTTP_PART_BYTES = 512 * 1024;

/** Maximum bytes of a complete request or response body, summed over all messages. */
export const HTTP_BODY_LIMIT = 32 * 1024 * 1024;

/** Maximum milliseconds between the first and the last message about one request. */
export const HTTP_EXCHANGE_MS = 300_000;
