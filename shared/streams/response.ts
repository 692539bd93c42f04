import type { ReaderEnd, Sink } from "./read/index.ts";
import type { Answer } from "./serve.ts";

/** Reads the next page when fewer than this many bytes are waiting to be sent. */
const LOW_WATER = 64 * 1024;

/**
 * Converts the answer to a stream request into a standard Response.
 * @param signal aborted when the client disconnects
 */
export function toResponse(
  answer: Answer,
  signal: AbortSignal | undefined,
  ended: (reason: ReaderEnd | "whole") => void,
): Response {
  if (answer.kind === "whole") {
    answer.sent?.();
    ended("whole");
    // The type cast is safe: these bytes are never in shared memory.
    const body = answer.body as Uint8Array<ArrayBuffer> | null;
    return new Response(body, { status: answer.status, headers: answer.headers });
  }
  let pulled: (() => void) | undefined;
  let stop: () => void = () => undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let open = true;
        const queued = () => (open ? LOW_WATER - (controller.desiredSize ?? LOW_WATER) : 0);
        const sink: Sink = {
          write(piece) {
            if (open) controller.enqueue(piece);
          },
          queued,
          drained: () =>
            !open || queued() < LOW_WATER
              ? Promise.resolve()
              : new Promise((resolve) => {
                  pulled = resolve;
                }),
          end() {
            if (!open) return;
            open = false;
            controller.close();
          },
        };
        const reader = answer.start(sink, (reason) => {
          signal?.removeEventListener("abort", stop);
          pulled?.();
          ended(reason);
        });
        stop = () => {
          reader.abandon();
          pulled?.();
          if (!open) return;
          open = false;
          try {
            controller.close();
          } catch {
            // The client cancelled the body, which closed the controller.
          }
        };
        if (signal?.aborted === true) stop();
        else signal?.addEventListener("abort", stop, { once: true });
      },
      pull() {
        pulled?.();
        pulled = undefined;
      },
      cancel() {
        stop();
      },
    },
    { highWaterMark: LOW_WATER, size: (piece) => piece.byteLength },
  );
  return new Response(body, { status: 200, headers: answer.headers });
}
