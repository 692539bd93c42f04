import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "hono";
import type { AppEnv } from "../../functions/request/context.ts";
import type { KeptContent, SentContent } from "../../shared/deps.ts";
import { isObject } from "../../shared/kernel/json.ts";
import type { DependencyTracker } from "../../shared/store/cache/index.ts";

/** Receives a complete response with status 200, or learns that there is none. */
export interface Recorder {
  /** The data that the response depends on. `context` is undefined until the application handles the request. */
  tracker: DependencyTracker;
  context: Context<AppEnv> | undefined;
  wants(headers: OutgoingHttpHeaders): boolean;
  written(headers: OutgoingHttpHeaders, body: string | Buffer | KeptContent): void;
  nothing(): void;
}

/**
 * An HTTP response that keeps a copy of the bytes as they are written. That is faster than reading the finished
 * response.
 */
export class RecordedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /**
   * Set to undefined after the last byte, because through their recorders, finished responses would keep each other in
   * memory.
   */
  recorder: Recorder | undefined;
  /** The body, if it is the content of an uploaded file. It is sent after the headers. */
  content: SentContent | undefined;
  #head: OutgoingHttpHeaders | undefined;
  #parts: Buffer[] | undefined;

  override writeHead(status: number, reason?: unknown, headers?: unknown): this {
    super.writeHead(status, reason as string, headers as OutgoingHttpHeaders);
    // Other requests may be waiting for this response. If it will not be cached, let them go on immediately.
    const { recorder } = this;
    const kept = recorder?.context?.get("keptContent");
    if (status !== 200 || !isRecord(reason) || recorder?.wants(reason) !== true) this.#nothing();
    else if (kept === undefined) this.#head = reason;
    else {
      recorder.written(reason, kept);
      this.recorder = undefined;
    }
    return this;
  }

  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    if (this.#head !== undefined) {
      this.#parts ??= [];
      this.#parts.push(Buffer.from(chunk as Uint8Array));
    }
    return super.write(chunk, encoding as BufferEncoding, callback as () => void);
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const head = this.#head;
    const body = head === undefined ? undefined : wholeBody(head, this.#parts, chunk);
    if (head !== undefined && body !== undefined) this.recorder?.written(head, body);
    else this.#nothing();
    this.recorder = this.#head = this.#parts = undefined;
    return super.end(chunk, encoding as BufferEncoding, callback as () => void);
  }

  #nothing(): void {
    this.recorder?.nothing();
    this.recorder = undefined;
  }
}

/** Returns the whole body; undefined if it is incomplete or longer than announced. */
function wholeBody(
  head: OutgoingHttpHeaders,
  parts: readonly Buffer[] | undefined,
  last: unknown,
): string | Buffer | undefined {
  if (parts === undefined && typeof last === "string") return last;
  const body = Buffer.concat([
    ...(parts ?? []),
    ...(last === undefined ? [] : [Buffer.from(last as Uint8Array)]),
  ]);
  const announced = head["content-length"] ?? head["Content-Length"];
  return parts === undefined || Number(announced) === body.length ? body : undefined;
}

function isRecord(value: unknown): value is OutgoingHttpHeaders {
  return isObject(value);
}
