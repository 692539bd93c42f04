/** A thread of the Node host. Makes smaller copies of images, one at a time. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import { ImageFault } from "../../functions/images/fault.ts";
import { makeImage } from "../../functions/images/make.ts";
import type { ImageJob, MadeImage } from "../../shared/images/job.ts";

export interface Task {
  job: ImageJob;
  bytes: Uint8Array<ArrayBuffer>;
}

export type Outcome = { made: MadeImage } | { code: string; detail: string };

const { resolve } = createRequire(import.meta.url);
const codec = (path: string) => new WebAssembly.Module(readFileSync(resolve(`@jsquash/${path}`)));
const codecs = {
  jpegDecoder: codec("jpeg/codec/dec/mozjpeg_dec.wasm"),
  jpegEncoder: codec("jpeg/codec/enc/mozjpeg_enc.wasm"),
  webpDecoder: codec("webp/codec/dec/webp_dec.wasm"),
  webpEncoder: codec("webp/codec/enc/webp_enc_simd.wasm"),
};

parentPort?.on("message", async ({ job, bytes }: Task) => {
  let outcome: Outcome;
  try {
    outcome = { made: await makeImage(codecs, bytes, job) };
  } catch (error) {
    // Any other error is a bug, and ends the thread.
    if (!(error instanceof ImageFault)) throw error;
    outcome = { code: error.code, detail: error.message };
  }
  parentPort?.postMessage(outcome);
});
