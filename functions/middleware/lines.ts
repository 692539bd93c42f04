/** Bodies of JSON Lines. They may be larger than what is read whole, so each line is judged as it comes. */
import type { Context } from "hono";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";
import { BODY_LIMIT, uploaded } from "./body.ts";

/** JSON Lines go by several names. */
const LINES = /^application\/(x-)?(ndjson|jsonl|jsonlines)\s*(;|$)/i;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * The lines of a body as they arrive. Whoever ends before they do returns the generator, so that the rest can be read
 * away.
 * @param options.limit a line must be smaller than this many characters
 * @param options.json takes JSON for a single line
 * @throws AppError unsupported_media; from the generator too_large, and malformed when the body is no UTF-8,
 * breaks off, or nothing more comes
 */
export function readLines(
  c: Context<AppEnv>,
  { limit = BODY_LIMIT, json = false }: { limit?: number; json?: boolean } = {},
): AsyncGenerator<string> {
  const type = c.req.header("content-type") ?? "";
  if (LINES.test(type) || (json && JSON_TYPE.test(type))) return linesOf(c.req.raw.body, limit);
  throw new AppError("unsupported_media", "not_json_lines", "The body must be application/x-ndjson.");
}

async function* linesOf(body: ReadableStream<Uint8Array> | null, limit: number): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const part of uploaded(body)) {
    const lines = (rest + decode(decoder, part)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length >= limit) {
      throw new AppError("too_large", "line_too_large", `A line must be smaller than ${limit / 1024} KiB.`);
    }
  }
  rest += decode(decoder);
  if (rest !== "") yield rest;
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw new AppError("malformed", "malformed_json", "The body is not UTF-8.");
  }
}
