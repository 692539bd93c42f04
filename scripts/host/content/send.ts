/** Writes the content of a file to a connection, without the copies and promises of web streams. */
import type { ServerResponse } from "node:http";
import type { SentContent } from "../../../shared/deps.ts";

/** Resolves once the system has taken all bytes, or the connection is closed. */
function written(response: ServerResponse, page: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("close", done);
      resolve();
    };
    response.once("close", done);
    for (const [at, part] of page.entries()) response.write(part, at === page.length - 1 ? done : undefined);
  });
}

/**
 * Sends the content. At most two pages are in memory: a page is read only after the client has received the one before
 * the previous page. If a page cannot be read, closes the connection, so that the client knows that the content is
 * incomplete.
 * @param stalledMs a client that receives no bytes for this many milliseconds is disconnected
 */
export async function sendContent(
  response: ServerResponse,
  { pages, bytes, stopped }: SentContent,
  stalledMs: number,
): Promise<void> {
  const stop = (error: unknown) => {
    stopped(error);
    response.destroy();
  };
  // Node restarts this timer each time the operating system has sent some bytes.
  response.setTimeout(stalledMs, () => stop(new Error("the client receives nothing")));
  let left = bytes;
  try {
    for await (const page of pages) {
      // A write to a closed response would raise an error that ends the process. So stop here.
      if (response.destroyed) return;
      for (const { length } of page) left -= length;
      const whole = written(response, page);
      // Do not wait for the last page: a connection that is idle between two writes costs more than all of them.
      if (left === 0) {
        response.end();
        return;
      }
      await whole;
    }
  } catch (error) {
    stop(error);
  }
}
