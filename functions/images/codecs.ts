/** Decodes and encodes JPEG and WebP with the WebAssembly codecs of jSquash. */
import jpegDecoder from "@jsquash/jpeg/codec/dec/mozjpeg_dec.js";
import jpegEncoder from "@jsquash/jpeg/codec/enc/mozjpeg_enc.js";
import { defaultOptions as jpegOptions } from "@jsquash/jpeg/meta.js";
import webpDecoder from "@jsquash/webp/codec/dec/webp_dec.js";
import webpEncoder from "@jsquash/webp/codec/enc/webp_enc_simd.js";
import { defaultOptions as webpOptions } from "@jsquash/webp/meta.js";
import type { ImageHeader } from "../../shared/images/image-header.ts";
import type { Size } from "../../shared/images/variant.ts";
import { tooLarge, unreadable } from "./fault.ts";
import type { Pixels } from "./shrink.ts";

/**
 * The compiled codecs. The host must provide them, because a Workers runtime cannot compile WebAssembly after a
 * worker has started.
 */
export interface Codecs {
  jpegDecoder: WebAssembly.Module;
  jpegEncoder: WebAssembly.Module;
  webpDecoder: WebAssembly.Module;
  webpEncoder: WebAssembly.Module;
}

const QUALITY = 80;

/** Receives the decoded pixels. They are valid only during the call. */
let receive: ((rgba: Uint8Array) => void) | undefined;

/**
 * Replaces `Uint8ClampedArray` while a codec decodes. A codec calls the constructor to copy the decoded image out of
 * its memory. This version passes the pixels to {@link receive} without a copy. Decoding is synchronous, so no other
 * code sees the replacement.
 */
function Received(rgba: Uint8Array): object {
  receive?.(rgba);
  return {};
}

/** Replaces `ImageData` while a codec decodes. The codec calls its constructor with the size of the decoded image. */
class Decoded {
  readonly width: number;
  readonly height: number;

  constructor(_: object, width: number, height: number) {
    this.width = width;
    this.height = height;
  }
}

type Factory<M> = (options: object) => Promise<M>;

const PAGE_BYTES = 65_536;
/**
 * Memory of a codec in addition to the pixels and two copies of the encoded image: its program, its tables, and rows
 * that it works on.
 */
const WORKING_BYTES = 48 * 1024 * 1024;

/** An instance of a codec, and the memory that it may use. */
class Instance<M> {
  readonly module: Promise<M>;
  /** Maximum bytes of the instance's memory. */
  most = Number.POSITIVE_INFINITY;
  /** Whether the codec asked for more memory than that. */
  wasRefused = false;

  constructor(factory: unknown, module: WebAssembly.Module) {
    this.module = (factory as Factory<M>)({
      noInitialRun: true,
      // The module is passed in, so the codec must not look for its .wasm file.
      locateFile: () => "",
      print: () => undefined,
      printErr: () => undefined,
      instantiateWasm: (imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) => {
        const created = new WebAssembly.Instance(module, imports);
        for (const part of Object.values(created.exports)) {
          if (part instanceof WebAssembly.Memory) this.#bound(part);
        }
        done(created);
        return created.exports;
      },
    });
  }

  /**
   * Limits the growth of the memory. The codecs grow their memory only by this function of JavaScript. If it throws, the
   * allocation in the codec fails, and the codec gives up.
   */
  #bound(memory: WebAssembly.Memory): void {
    const grow = memory.grow.bind(memory);
    memory.grow = (pages) => {
      if (memory.buffer.byteLength + pages * PAGE_BYTES > this.most) {
        this.wasRefused = true;
        throw new RangeError("the image needs more memory than its header says");
      }
      return grow(pages);
    };
  }
}

const instances = new Map<WebAssembly.Module, Instance<unknown>>();

/**
 * Returns the instance of a codec, and creates it on the first call. All images share it, because the runtime frees
 * unused instances too late: with an instance for each image, 40 photos used 2 GB.
 */
function instanceOf<M>(factory: unknown, module: WebAssembly.Module): Instance<M> {
  const known = instances.get(module) as Instance<M> | undefined;
  if (known !== undefined) return known;
  const made = new Instance<M>(factory, module);
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
 * @param header the image's size, and the memory that its pixels need
 * @param take receives the pixels, which are valid only during the call
 */
async function decode(
  factory: unknown,
  module: WebAssembly.Module,
  bytes: Uint8Array,
  { width, height, memory }: ImageHeader,
  take: (rgba: Uint8Array) => void,
  options: boolean[] = [],
): Promise<void> {
  const instance = instanceOf<Decoder>(factory, module);
  const { decode } = await instance.module;
  instance.most = memory + 2 * bytes.length + WORKING_BYTES;
  instance.wasRefused = false;
  // A damaged image can break the instance. After a failure, the next image gets a new instance.
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
  } catch (error) {
    throw instance.wasRefused ? tooLarge() : error;
  } finally {
    if (!isUsable) instances.delete(module);
    receive = undefined;
    Object.assign(globals, before);
  }
}

async function encode(factory: unknown, module: WebAssembly.Module, image: Pixels, options: object) {
  const encoder = await instanceOf<Encoder>(factory, module).module;
  const encoded = encoder.encode(image.data, image.width, image.height, options);
  if (encoded === null) throw new Error("the image could not be encoded");
  return encoded;
}

export const decodeJpeg = (
  codecs: Codecs,
  bytes: Uint8Array,
  header: ImageHeader,
  take: (rgba: Uint8Array) => void,
) => decode(jpegDecoder, codecs.jpegDecoder, bytes, header, take, [false]);

export const decodeWebp = (
  codecs: Codecs,
  bytes: Uint8Array,
  header: ImageHeader,
  take: (rgba: Uint8Array) => void,
) => decode(webpDecoder, codecs.webpDecoder, bytes, header, take);

export const encodeJpeg = (codecs: Codecs, image: Pixels) =>
  encode(jpegEncoder, codecs.jpegEncoder, image, { ...jpegOptions, quality: QUALITY });

export const encodeWebp = (codecs: Codecs, image: Pixels) =>
  encode(webpEncoder, codecs.webpEncoder, image, { ...webpOptions, quality: QUALITY });
