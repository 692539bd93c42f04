/**
 * If the client takes no chunk for this many milliseconds, the stream ends. Such a client receives less than 1 KiB/s.
 */
const STALLED_MS = 120_000;

export interface Pacing {
  stalledMs?: number;
  /** Called when the stream fails: it ends before all parts were sent, although the client did not cancel it. */
  failed: (error: unknown) => void;
  /** Called when the stream has ended, successfully or not. */
  ended: () => void;
}

/**
 * Streams parts only as fast as the client receives them. Ends the stream if the client receives nothing for a while,
 * because the stream holds memory and a broker connection.
 */
export function pacedStream(
  parts: AsyncGenerator<Uint8Array>,
  { stalledMs = STALLED_MS, failed, ended }: Pacing,
): ReadableStream<Uint8Array> {
  let stalled: ReturnType<typeof setTimeout> | undefined;
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, error: unknown) => {
    failed(error);
    controller.error(new Error("the content is incomplete"));
    ended();
  };
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      clearTimeout(stalled);
      try {
        const part = await parts.next();
        if (part.done === true) {
          controller.close();
          ended();
          return;
        }
        controller.enqueue(part.value);
        stalled = setTimeout(() => {
          void parts.return(undefined);
          fail(controller, new Error("the client receives nothing"));
        }, stalledMs);
      } catch (error) {
        fail(controller, error);
      }
    },
    async cancel() {
      clearTimeout(stalled);
      await parts.return(undefined);
      ended();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
