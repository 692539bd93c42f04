/** Runs the image worker in a separate workerd process, which starts when the first image is needed. */
import { type Log, Miniflare, type Request, Response } from "miniflare";
import { MAKING_MS } from "../../shared/images/job.ts";
import { compatibility } from "../bundle/bundle.ts";
import { bundleImages } from "../bundle/images.ts";

/**
 * Maximum milliseconds for one image. The Workers runtime limits a deployed worker, but nothing else limits a local
 * workerd.
 */
const MOST_MS = MAKING_MS + 10_000;

export interface ImageProcess {
  fetch(request: Request): Promise<Response>;
  stop(): Promise<void>;
}

/**
 * Returns the image worker. Its process does not run yet.
 * @param create calls `start`, and removes the signal handlers that Miniflare adds
 */
export function openImageWorker(log: Log, create: (start: () => Miniflare) => Miniflare): ImageProcess {
  let running: Promise<Miniflare> | undefined;

  async function start(): Promise<Miniflare> {
    const { code, codecs } = await bundleImages();
    const miniflare = create(
      () =>
        new Miniflare({
          ...compatibility(),
          modules: [
            { type: "ESModule", path: "worker.js", contents: code },
            ...[...codecs].map(([path, contents]) => ({ type: "CompiledWasm" as const, path, contents })),
          ],
          cf: false,
          log,
          logRequests: false,
        }),
    );
    await miniflare.ready;
    return miniflare;
  }

  async function stop(): Promise<void> {
    const ended = running;
    running = undefined;
    await (await ended?.catch(() => undefined))?.dispose().catch(() => undefined);
  }

  return {
    async fetch(request) {
      running ??= start();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error("it takes too long")), MOST_MS);
      });
      try {
        const { status, headers, body } = await Promise.race([(await running).dispatchFetch(request), late]);
        return new Response(body, { status, headers });
      } catch {
        // The image failed or took too long, so stop this workerd. The next image starts a new one.
        await stop();
        return new Response(null, { status: 503 });
      } finally {
        clearTimeout(timer);
      }
    },
    stop,
  };
}
