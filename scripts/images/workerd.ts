/** Runs the image worker in a separate workerd process, which starts when the first image is needed. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Log, Miniflare, type Request, Response } from "miniflare";
import { DECODED_HEADER, MAKING_MS } from "../../shared/images/job.ts";
import { ImageRoom } from "../../shared/images/room.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { compatibility } from "../bundle/bundle.ts";

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
 * @param dir the folder with the module and its codecs
 * @param create calls `start`, and removes the signal handlers that Miniflare adds
 */
export function openImageWorker(
  dir: string,
  log: Log,
  create: (start: () => Miniflare) => Miniflare,
): ImageProcess {
  let running: Promise<Miniflare> | undefined;

  async function start(): Promise<Miniflare> {
    const content = (name: string) => readFileSync(join(dir, name));
    const codecs = readdirSync(dir).filter((name) => name.endsWith(".wasm"));
    const miniflare = create(
      () =>
        new Miniflare({
          ...compatibility(),
          modules: [
            { type: "ESModule", path: "worker.js", contents: content("worker.js").toString() },
            ...codecs.map((path) => ({ type: "CompiledWasm" as const, path, contents: content(path) })),
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

  // One image at a time, so that no other image is lost when the process ends.
  const room = new ImageRoom(1);

  async function make(request: Request): Promise<Response> {
    running ??= start();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("it takes too long")), MOST_MS);
    });
    try {
      const answer = await Promise.race([(await running).dispatchFetch(request), late]);
      const { status, headers } = answer;
      const body = await Promise.race([answer.arrayBuffer(), late]);
      // A decoder that gave up may keep its memory. The isolate frees it too late, so end its process.
      if (headers.get(DECODED_HEADER) === "true") await stop();
      return new Response(body, { status, headers });
    } catch {
      // The image failed or took too long, so stop this workerd. The next image starts a new one.
      await stop();
      return new Response(null, { status: 503 });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    fetch: (request) =>
      room
        .enter(() => make(request))
        .catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          return Response.json({ code: error.code, detail: error.detail }, { status: 503 });
        }),
    stop,
  };
}
