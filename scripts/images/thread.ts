/** A thread of the Node host. Makes smaller copies of images, one at a time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { ImageFault } from "../../functions/images/fault.ts";
import { makeImage } from "../../functions/images/make.ts";
import type { ImageJob, MadeImage } from "../../shared/images/job.ts";

export interface Task {
  job: ImageJob;
  bytes: Uint8Array<ArrayBuffer>;
}

export type Outcome = { made: MadeImage } | (Pick<ImageFault, "code" | "wasDecoded"> & { detail: string });

/** The folder of the codecs. */
const dir: unknown = workerData;
const codec = (name: string) => new WebAssembly.Module(readFileSync(join(String(dir), name)));
const codecs = {
  jpegDecoder: codec("mozjpeg_dec.wasm"),
  jpegEncoder: codec("mozjpeg_enc.wasm"),
  webpDecoder: codec("webp_dec.wasm"),
  webpEncoder: codec("webp_enc_simd.wasm"),
};

parentPort?.on("message", async ({ job, bytes }: Task) => {
  let outcome: Outcome;
  try {
    outcome = { made: await makeImage(codecs, bytes, job) };
  } catch (error) {
    // Any other error is a bug, and ends the thread.
    if (!(error instanceof ImageFault)) throw error;
    outcome = { code: error.code, detail: error.message, wasDecoded: error.wasDecoded };
  }
  parentPort?.postMessage(outcome);
});
