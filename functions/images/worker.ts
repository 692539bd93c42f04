/**
 * The image worker. The platform's main worker sends it images through the binding IMAGES, and gets smaller copies
 * back.
 */
import jpegDecoder from "@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm";
import jpegEncoder from "@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm";
import webpDecoder from "@jsquash/webp/codec/dec/webp_dec.wasm";
import webpEncoder from "@jsquash/webp/codec/enc/webp_enc_simd.wasm";
import { DECODED_HEADER, type ImageJob } from "../../shared/images/job.ts";
import { ImageRoom } from "../../shared/images/room.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { ImageFault } from "./fault.ts";
import { makeImage } from "./make.ts";

const codecs = { jpegDecoder, jpegEncoder, webpDecoder, webpEncoder };

/** Decodes one image at a time, because an isolate has 128 MB of memory. */
const room = new ImageRoom(1);

function refuse(status: number, code: string, detail: string, wasDecoded = false): Response {
  return Response.json({ code, detail }, { status, headers: { [DECODED_HEADER]: String(wasDecoded) } });
}

async function make(request: Request): Promise<Response> {
  const job = JSON.parse(request.headers.get("x-job") ?? "") as ImageJob;
  const { content, ...facts } = await makeImage(codecs, new Uint8Array(await request.arrayBuffer()), job);
  return new Response(content ?? null, { headers: { "x-image": JSON.stringify(facts) } });
}

export default {
  async fetch(request: Request): Promise<Response> {
    try {
      return await room.enter(() => make(request));
    } catch (error) {
      if (error instanceof ImageFault) return refuse(422, error.code, error.message, error.wasDecoded);
      if (error instanceof AppError) return refuse(503, error.code, error.detail);
      throw error;
    }
  },
};
