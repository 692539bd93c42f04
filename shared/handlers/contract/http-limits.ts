/**
 * Maximum bytes of a body that one message carries. Encoded as base64, the bytes stay below the broker's default
 * message limit of 1 MiB.
 */
export const HTTP_PART_BYTES = 512 * 1024;

/** Maximum bytes of a whole request or response body, which may take several messages. */
export const HTTP_BODY_LIMIT = 32 * 1024 * 1024;

/** Maximum milliseconds from the first to the last message of one HTTP request and its response. */
export const HTTP_EXCHANGE_MS = 300_000;
