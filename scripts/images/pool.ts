/**
 * Makes smaller copies of images in threads, so that the host keeps answering requests. Ends a thread that takes too
 * long, or whose decoder refused an image.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { badImage, imagesFailed } from "../../shared/images/errors.ts";
import { type ImageJob, MAKING_MS, type MadeImage, type MakeImage } from "../../shared/images/job.ts";
import { ImageRoom } from "../../shared/images/room.ts";
import type { Outcome, Task } from "./thread.ts";

const MAX_THREADS = 4;
/** Milliseconds after which an idle thread ends, to free its memory. */
const IDLE_MS = 10_000;

export interface Images {
  make: MakeImage;
  stop(): Promise<void>;
}

async function bytesOf(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const kept: Uint8Array[] = [];
  for await (const part of parts) kept.push(part);
  return new Uint8Array(Buffer.concat(kept));
}

/**
 * @param script the file that the threads run
 * @param codecs the folder of the codecs
 */
export function openImages(script: string, codecs: string): Images {
  const threads = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1));
  const room = new ImageRoom(threads);
  const idle: { thread: Worker; timer: NodeJS.Timeout }[] = [];
  const all = new Set<Worker>();

  function start(): Worker {
    const thread = new Worker(script, { workerData: codecs });
    thread.unref();
    all.add(thread);
    thread.on("error", () => undefined);
    thread.once("exit", () => {
      all.delete(thread);
      forget(thread);
    });
    return thread;
  }

  function forget(thread: Worker): void {
    const at = idle.findIndex((entry) => entry.thread === thread);
    if (at >= 0) clearTimeout(idle.splice(at, 1)[0]?.timer);
  }

  function take(): Worker {
    const free = idle.pop();
    if (free === undefined) return start();
    clearTimeout(free.timer);
    return free.thread;
  }

  function keep(thread: Worker): void {
    const end = () => {
      forget(thread);
      void thread.terminate();
    };
    idle.push({ thread, timer: setTimeout(end, IDLE_MS).unref() });
  }

  async function run(job: ImageJob, bytes: Uint8Array<ArrayBuffer>): Promise<MadeImage> {
    const thread = take();
    const outcome = await new Promise<Outcome | Error>((resolve) => {
      const timer = setTimeout(() => done(new Error("it takes too long")), MAKING_MS);
      const failed = () => done(new Error("the thread ended"));
      function done(result: Outcome | Error) {
        clearTimeout(timer);
        thread.off("message", done).off("error", done).off("exit", failed);
        resolve(result);
      }
      thread.on("message", done).on("error", done).on("exit", failed);
      thread.postMessage({ job, bytes } satisfies Task, [bytes.buffer]);
    });
    // A decoder that gave up may keep its memory. It is free only after the thread has ended, so wait for that.
    if (outcome instanceof Error || ("code" in outcome && outcome.wasDecoded)) await thread.terminate();
    else keep(thread);
    if (outcome instanceof Error) throw imagesFailed(outcome);
    if ("code" in outcome) throw badImage(outcome.code, outcome.detail);
    return outcome.made;
  }

  return {
    make: (job, image) => room.enter(async () => run(job, await bytesOf(image))),
    stop: async () => {
      for (const { timer } of idle.splice(0)) clearTimeout(timer);
      await Promise.all([...all].map((thread) => thread.terminate()));
    },
  };
}
