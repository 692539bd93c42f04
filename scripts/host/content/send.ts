/** Writes the content of a file to a connection, without the copies and promises of web streams. */
import type { ServerResponse } from "node:http";

/** A client is disconnected if it receives no bytes for this many milliseconds. */
const STALLED_MS = 120_000;

export interface Content {
  parts: AsyncGenerator<Uint8Array>;
  /** Called if the content ends early, unless the client has disconnected. */
  stopped: (error: unknown) => void;
}

/** Resolves once the system has taken all bytes, or the connection is closed. */
function written(response: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("close", done);
      resolve();
    };
    response.once("close", done);
    response.write(part, done);
  });
}

/**
 * Sends the parts. Reads a part only after the client has received the previous one, so memory use stays constant. If
 * a part cannot be read, closes the connection, so that the client knows that the content is incomplete.
 */
export async function sendContent(
  response: ServerResponse,
  { parts, stopped }: Content,
  stalledMs = STALLED_MS,
): Promise<void> {
  const stop = (error: unknown) => {
    stopped(error);
    response.destroy();
  };
  // Node restarts the timer each time the operating system has sent some bytes of a part.
  response.setTimeout(stalledMs, () => stop(new Error("the client receives nothing")));
  try {
    for await (const part of parts) {
      // A write to a closed response would raise an error and end the process.
      if (response.destroyed) return;
      await written(response, part);
    }
    if (!response.destroyed) response.end();
  } catch (error) {
    stop(error);
  }
}
