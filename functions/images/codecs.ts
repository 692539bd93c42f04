/** Decodes and encodes JPEG and WebP with the WebAssembly codecs of jSquash. */
import jpegDecoder from "@jsquash/jpeg/codec/dec/mozjpeg_dec.js";
import jpegEncoder from "@jsquash/jpeg/codec/enc/mozjpeg_enc.js";
import { defaultOptions as jpegOptions } from "@jsquash/jpeg/meta.js";
import webpDecoder from "@jsquash/webp/codec/dec/webp_dec.js";
import webpEncoder from "@jsquash/webp/codec/enc/webp_enc_simd.js";
import { defaultOptions as webpOptions } from "@jsquash/webp/meta.js";
import type { Size } from "../../shared/images/variant.ts";
import { unreadable } from "./fault.ts";
import type { Pixels } from "./shrink.ts";

/** The compiled codecs. Workers runtimes compile them before they start, and other code cannot. */
export interface Codecs {
  jpegDecoder: WebAssembly.Module;
  jpegEncoder: WebAssembly.Module;
  webpDecoder: WebAssembly.Module;
  webpEncoder: WebAssembly.Module;
}

const QUALITY = 80;

/** Takes the decoded pixels, which exist only during the call. */
let receive: ((rgba: Uint8Array) => void) | undefined;

/**
 * The codecs create an object of this class with their memory as argument, which would copy the whole image. Instead, it
 * is made smaller there. Nothing else runs meanwhile, because decoding is synchronous.
 */
function Received(rgba: Uint8Array): object {
  receive?.(rgba);
  return {};
}

/** The codecs create an object of this class with the size of the image. */
class Decoded {
  readonly width: number;
  readonly height: number;

  constructor(_: object, width: number, height: number) {
    this.width = width;
    this.height = height;
  }
}

type Factory<M> = (options: object) => Promise<M>;

const instances = new Map<WebAssembly.Module, Promise<unknown>>();

/**
 * Returns an instance of a codec, the same one as before if there is one. The runtime frees the memory of unused instances
 * too late: 40 photos took 2 GB.
 */
function instance<M>(factory: unknown, module: WebAssembly.Module): Promise<M> {
  const known = instances.get(module) as Promise<M> | undefined;
  if (known !== undefined) return known;
  const made = (factory as Factory<M>)({
    noInitialRun: true,
    // Without this, the code looks for its file beside the bundle.
    locateFile: () => "",
    print: () => undefined,
    printErr: () => undefined,
    instantiateWasm: (imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) => {
      const created = new WebAssembly.Instance(module, imports);
      done(created);
      return created.exports;
    },
  });
  instances.set(module, made);
  return made;
}

interface Decoder {
  decode(bytes: Uint8Array, ...turns: boolean[]): Size | null;
}

interface Encoder {
  encode(pixels: Uint8Array, width: number, height: number, options: object): Uint8Array<ArrayBuffer> | null;
}

/**
 * Decodes an image.
 * @param size the size that its header says
 * @param take receives the pixels, which are gone after the call
 */
async function decode(
  factory: unknown,
  module: WebAssembly.Module,
  bytes: Uint8Array,
  { width, height }: Size,
  take: (rgba: Uint8Array) => void,
  options: boolean[] = [],
): Promise<void> {
  const { decode } = await instance<Decoder>(factory, module);
  // A damaged image can leave an instance in a state in which it does not work any more.
  let isUsable = false;
  const globals = globalThis as { Uint8ClampedArray: unknown; ImageData?: unknown };
  const before = { Uint8ClampedArray: globals.Uint8ClampedArray, ImageData: globals.ImageData };
  let isTaken = false;
  receive = (rgba) => {
    if (rgba.length !== width * height * 4) throw unreadable();
    take(rgba);
    isTaken = true;
  };
  Object.assign(globals, { Uint8ClampedArray: Received, ImageData: Decoded });
  try {
    const decoded = decode(bytes, ...options);
    if (!isTaken || decoded?.width !== width || decoded.height !== height) throw unreadable();
    isUsable = true;
  } finally {
    if (!isUsable) instances.delete(module);
    receive = undefined;
    Object.assign(globals, before);
  }
}

async function encode(factory: unknown, module: WebAssembly.Module, image: Pixels, options: object) {
  const encoder = await instance<Encoder>(factory, module);
  const encoded = encoder.encode(image.data, image.width, image.height, options);
  if (encoded === null) throw new Error("the image could not be encoded");
  return encoded;
}

export const decodeJpeg = (codecs: Codecs, bytes: Uint8Array, size: Size, take: (rgba: Uint8Array) => void) =>
  decode(jpegDecoder, codecs.jpegDecoder, bytes, size, take, [false]);

export const decodeWebp = (codecs: Codecs, bytes: Uint8Array, size: Size, take: (rgba: Uint8Array) => void) =>
  decode(webpDecoder, codecs.webpDecoder, bytes, size, take);

export const encodeJpeg = (codecs: Codecs, image: Pixels) =>
  encode(jpegEncoder, codecs.jpegEncoder, image, { ...jpegOptions, quality: QUALITY });

export const encodeWebp = (codecs: Codecs, image: Pixels) =>
  encode(webpEncoder, codecs.webpEncoder, image, { ...webpOptions, quality: QUALITY });
