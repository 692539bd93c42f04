/** Reads a stream of the platform. Each message arrives exactly once, even if the connection breaks. */
import { Problem } from "./problem.ts";
import { backoff, type CallOptions, pause, type Transport } from "./transport.ts";

export interface StreamOptions extends CallOptions {
  /** Offset to start after, `-1` to start at the oldest message (the default), or `now` to get only new messages. */
  offset?: string;
}

export interface StreamBatch<T> {
  messages: T[];
  /** Pass this value as `offset` to continue after this batch. */
  offset: string;
  /** Whether the batch reaches the end of the stream. */
  upToDate: boolean;
}

export interface SentEvent {
  name: string;
  data: string;
  /** The `id` of the event. Undefined if the event has none. */
  id: string | undefined;
}

/** Yields the events of a `text/event-stream` response. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  /** The parts of an event that has not ended yet. They are joined once, so that a long event takes linear time. */
  let begun: string[] = [];
  /** A line end, or half of one, that may end the event together with the next chunk. */
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const all = `${held}${value}`;
      const isCut = all.endsWith("\r");
      const text = (isCut ? all.slice(0, -1) : all).replaceAll("\r\n", "\n");
      const isHalf = text.endsWith("\n") && !text.endsWith("\n\n");
      held = `${isHalf ? "\n" : ""}${isCut ? "\r" : ""}`;
      const parts = (isHalf ? text.slice(0, -1) : text).split("\n\n");
      begun.push(parts.shift() ?? "");
      if (parts.length === 0) continue;
      parts.unshift(begun.join(""));
      begun = [parts.pop() ?? ""];
      for (const part of parts) {
        const lines = part.split("\n");
        const of = (field: string) =>
          lines
            .filter((line) => line.startsWith(`${field}:`))
            .map((line) => line.slice(field.length + 1).replace(/^ /, ""));
        yield { name: of("event")[0] ?? "message", data: of("data").join("\n"), id: of("id").at(-1) };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Yields the messages of a stream as they arrive. Never ends by itself. Reconnects whenever the connection breaks.
 * @throws Problem if the stream cannot be read, or if the platform no longer keeps messages from that offset (410)
 */
export async function* readStream<T>(
  transport: Transport,
  name: string,
  options: StreamOptions,
): AsyncGenerator<StreamBatch<T>, void, undefined> {
  const { signal } = options;
  let { offset = "-1" } = options;
  for (let failures = 0; ; ) {
    try {
      const response = await transport.send({
        method: "GET",
        path: `/api/streams/${encodeURIComponent(name)}`,
        query: new URLSearchParams({ offset, live: "sse" }),
        headers: { accept: "text/event-stream" },
        signal,
        repeat: "safe",
      });
      const type = response.headers.get("content-type") ?? "";
      if (response.body === null || !type.startsWith("text/event-stream")) {
        await response.body?.cancel();
        // Another program answers, so that it makes no sense to try again.
        const detail = "The address answers, but not with a stream. Check that a platform runs there.";
        throw new Problem(response.status, { code: "not_a_stream", detail }, null);
      }
      let messages: T[] = [];
      // A response without a batch counts as a failure, so that the next attempt waits.
      failures++;
      for await (const event of eventsOf(response.body)) {
        // A control event confirms the messages before it, so yield messages only then. If the connection ends before
        // the control event, the platform sends these messages again.
        if (event.name === "data") messages.push(...(JSON.parse(event.data) as T[]));
        if (event.name !== "control") continue;
        const control = JSON.parse(event.data) as { streamNextOffset: string; upToDate?: boolean };
        offset = control.streamNextOffset;
        failures = 0;
        yield { messages, offset, upToDate: control.upToDate === true };
        messages = [];
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Problem) throw error;
      failures++;
    }
    // The platform ends each response after about a minute. Reconnect immediately then, and wait only after failures.
    if (failures > 0) await pause(backoff(failures), signal);
  }
}
