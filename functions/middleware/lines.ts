/** Reads JSON Lines. The body has no size limit, but each line has one. */
import type { Context } from "hono";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";
import { BODY_LIMIT } from "./body.ts";
import { AS_FILE } from "./body-errors.ts";
import { readUpload } from "./upload-body.ts";

const LINES = /^application\/(x-)?(ndjson|jsonl|jsonlines)\s*(;|$)/i;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * Yields the lines of a request body.
 * @param options.limit a line must be smaller than this many characters
 * @param options.json also accepts a body of the type JSON, and yields it as a single line
 */
export function readLines(
  c: Context<AppEnv>,
  { limit = BODY_LIMIT, json = false }: { limit?: number; json?: boolean } = {},
): AsyncGenerator<string> {
  const type = c.req.header("content-type") ?? "";
  if (LINES.test(type) || (json && JSON_TYPE.test(type))) return linesOf(c.req.raw.body, limit);
  throw new AppError(
    "unsupported_media",
    "not_json_lines",
    "The body must be JSON Lines. Send it with Content-Type: application/x-ndjson.",
  );
}

async function* linesOf(body: ReadableStream<Uint8Array> | null, limit: number): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const part of readUpload(body)) {
    const text = decode(decoder, part);
    if (text.includes("\n")) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    } else {
      // The line is not complete yet. Splitting here would copy the whole line again for each part that a slow client
      // sends.
      rest += text;
    }
    if (rest.length >= limit) {
      throw new AppError(
        "too_large",
        "line_too_large",
        `A line must be smaller than ${limit / 1024} KiB. Send less in one line. ${AS_FILE}`,
      );
    }
  }
  rest += decode(decoder);
  if (rest !== "") yield rest;
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw new AppError("malformed", "malformed_json", "The body is not valid UTF-8. Encode it as UTF-8.");
  }
}
