/** Makes images for tests with the platform's own codecs. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Codecs, encodeJpeg, encodeWebp } from "../../functions/images/codecs.ts";
import { encodePng } from "../../functions/images/png.ts";
import type { Pixels } from "../../functions/images/shrink.ts";

const { resolve } = createRequire(import.meta.url);
const codec = (path: string) => new WebAssembly.Module(readFileSync(resolve(`@jsquash/${path}`)));

export const codecs: Codecs = {
  jpegDecoder: codec("jpeg/codec/dec/mozjpeg_dec.wasm"),
  jpegEncoder: codec("jpeg/codec/enc/mozjpeg_enc.wasm"),
  webpDecoder: codec("webp/codec/dec/webp_dec.wasm"),
  webpEncoder: codec("webp/codec/enc/webp_enc_simd.wasm"),
};

export type Rgba = readonly [red: number, green: number, blue: number, alpha: number];
export const RED: Rgba = [220, 20, 20, 255];
export const BLUE: Rgba = [20, 20, 220, 255];

/** Returns an image that has one colour, with another one in its upper left quarter. */
export function picture(width: number, height: number, color: Rgba = RED, corner: Rgba = color): Pixels {
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++)
      data.set(x < width / 2 && y < height / 2 ? corner : color, (y * width + x) * 4);
  }
  return { width, height, data };
}

export const png = (image: Pixels) => encodePng(image);
export const jpeg = (image: Pixels) => encodeJpeg(codecs, image);
export const webp = (image: Pixels) => encodeWebp(codecs, image);

/** Returns EXIF data with an orientation. Appends the text `place`, so that a test can search for it in other images. */
export function exif(orientation: number, place = ""): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(26 + place.length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, 0x4d4d);
  view.setUint16(2, 42);
  view.setUint32(4, 8);
  view.setUint16(8, 1);
  view.setUint16(10, 0x0112);
  view.setUint16(12, 3);
  view.setUint32(14, 1);
  view.setUint16(18, orientation);
  bytes.set(new TextEncoder().encode(place), 26);
  return bytes;
}

/** Puts EXIF data into a JPEG. */
export function withExif(image: Uint8Array, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = 8 + data.length;
  const head = [0xff, 0xe1, length >> 8, length & 255, ...new TextEncoder().encode("Exif\0\0")];
  return new Uint8Array([...image.subarray(0, 2), ...head, ...data, ...image.subarray(2)]);
}

/** Returns the colour of a pixel. */
export function at({ data, width }: Pixels, x: number, y: number): Rgba {
  const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(
    (y * width + x) * 4,
    (y * width + x) * 4 + 4,
  );
  return [red, green, blue, alpha];
}
