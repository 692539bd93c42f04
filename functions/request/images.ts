/** Sends images to the image worker. */
import { BAD_IMAGE, badImage, imagesBusy, imagesFailed } from "../../shared/images/errors.ts";
import { MAKING_MS, type MadeImage, type MakeImage } from "../../shared/images/job.ts";

interface Binding {
  fetch(request: Request): Promise<Response>;
}

/** Maximum milliseconds for a request to the image worker, including the wait in the worker's queue. */
const PATIENCE_MS = 10_000 + MAKING_MS;

function streamOf(parts: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

async function answerOf(response: Response): Promise<MadeImage> {
  if (response.headers.get("content-type")?.includes("json") === true) {
    const { code, detail } = (await response.json()) as { code: string; detail: string };
    throw BAD_IMAGE.includes(code) ? badImage(code, detail) : imagesBusy(code);
  }
  const facts = response.headers.get("x-image");
  if (!response.ok || facts === null) throw imagesFailed(`the image worker answered ${response.status}`);
  const content = new Uint8Array(await response.arrayBuffer());
  return { ...(JSON.parse(facts) as MadeImage), ...(content.length > 0 ? { content } : {}) };
}

/** Returns a function that sends images to the image worker. Returns undefined if this deployment has none. */
export function imagesOf(env: Record<string, unknown>): MakeImage | undefined {
  const binding = env.IMAGES as Binding | undefined;
  if (binding === undefined) return undefined;
  return async (job, image) => {
    const request = new Request("https://images/", {
      method: "POST",
      body: streamOf(image),
      headers: { "x-job": JSON.stringify(job) },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...{ duplex: "half" },
    });
    // The request fails if an image needs too much time or memory, because the runtime then ends the image worker.
    const response = await binding.fetch(request).catch((error: unknown) => {
      throw imagesFailed(error);
    });
    return answerOf(response);
  };
}
