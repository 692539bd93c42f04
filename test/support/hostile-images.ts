/** Makes small images whose decoder needs much more memory or time than a careless reader of their headers expects. */
import { crc32, deflateSync } from "node:zlib";

export type Image = Uint8Array<ArrayBuffer>;

const image = (parts: readonly Uint8Array[]): Image => new Uint8Array(Buffer.concat(parts));

function numbers(size: number, write: (view: DataView) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(new DataView(bytes.buffer, bytes.byteOffset, size));
  return bytes;
}

const little32 = (value: number) => numbers(4, (view) => view.setUint32(0, value, true));

/** Returns a chunk of a WebP. @param length what the chunk says of its length */
export const riffChunk = (type: string, data: Uint8Array, length = data.length) =>
  Buffer.concat([Buffer.from(type), little32(length), data, Buffer.alloc(data.length % 2)]);

/** Returns a WebP of these chunks. @param size what the file says of its size */
export function webpOf(chunks: readonly Uint8Array[], size?: number): Image {
  const body = Buffer.concat([Buffer.from("WEBP"), ...chunks]);
  return image([Buffer.from("RIFF"), little32(size ?? body.length), body]);
}

/** Returns lossless pixels of one colour. They need no further bits, so a few bytes are a complete image of any size. */
export function lossless(width: number, height: number): Buffer {
  const size = width - 1 + (height - 1) * 2 ** 14;
  // No transforms, no colour cache, no groups. Then five codes with one symbol each.
  return Buffer.concat([Buffer.from([0x2f]), little32(size), Buffer.from([0x88, 0x88, 0x08, 0, 0, 0])]);
}

/** Returns the header of the extended format of WebP. */
export const extended = (width: number, height: number, flags = 0) =>
  riffChunk(
    "VP8X",
    numbers(10, (view) => {
      view.setUint8(0, flags);
      view.setUint32(4, width - 1, true);
      view.setUint16(7, (height - 1) & 0xffff, true);
      view.setUint8(9, (height - 1) >> 16);
    }),
  );

/** Returns a segment of a JPEG. */
export const segment = (marker: number, data: Uint8Array) =>
  Buffer.concat([
    Buffer.from([0xff, marker]),
    numbers(2, (view) => view.setUint16(0, data.length + 2)),
    data,
  ]);

/** Returns the header of a JPEG's frame. @param factors sampling factors of each component, such as 0x22 */
export const jpegFrame = (marker: number, width: number, height: number, factors = [0x11, 0x11, 0x11]) =>
  segment(
    marker,
    Buffer.from([
      8,
      height >> 8,
      height & 255,
      width >> 8,
      width & 255,
      factors.length,
      ...factors.flatMap((factor, at) => [at + 1, factor, 0]),
    ]),
  );

const JPEG_TABLES = Buffer.concat([
  segment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
  ...[0, 0x10].map((id) => segment(0xc4, Buffer.from([id, 1, ...Array<number>(15).fill(0), 0]))),
]);

export const jpegScan = (components = [1, 2, 3]) =>
  Buffer.concat([
    segment(
      0xda,
      Buffer.from([components.length, ...components.flatMap((component) => [component, 0]), 0, 0, 0]),
    ),
    Buffer.alloc(20),
  ]);

/** Returns a JPEG with these parts between its first marker and its last one. */
export const jpegOf = (...parts: Uint8Array[]): Image =>
  image([Buffer.from([0xff, 0xd8]), JPEG_TABLES, ...parts, Buffer.from([0xff, 0xd9])]);

/** Returns a chunk of a PNG. */
export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const number = (value: number) => numbers(4, (view) => view.setUint32(0, value));
  return Buffer.concat([number(data.length), body, number(crc32(body))]);
}

export interface PngParts {
  depth?: number;
  color?: number;
  interlace?: number;
  /** Rows with the bytes of their filters. */
  raw?: Uint8Array;
  /** The compressed rows, if they are not made from `raw`. */
  data?: Uint8Array[];
  /** Chunks between the header and the rows. */
  chunks?: Buffer[];
}

/** Makes a PNG of any kind. */
export function pngOf(
  width: number,
  height: number,
  { depth = 8, color = 2, interlace = 0, raw, data, chunks = [] }: PngParts,
): Image {
  const header = numbers(13, (view) => {
    view.setUint32(0, width);
    view.setUint32(4, height);
    view.setUint8(8, depth);
    view.setUint8(9, color);
    view.setUint8(12, interlace);
  });
  return image([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    pngChunk("IHDR", header),
    ...chunks,
    ...(data ?? [deflateSync(raw ?? new Uint8Array(8))]).map((part) => pngChunk("IDAT", part)),
    pngChunk("IEND", new Uint8Array(0)),
  ]);
}

const SIDE = 11_000;

/**
 * Hostile images by what is wrong with them. Each names a small image where a careless reader looks, and a large one
 * where a decoder looks.
 */
export function lyingImages(): Record<string, Image> {
  const small = riffChunk("VP8L", lossless(8, 8));
  const large = riffChunk("VP8L", lossless(SIDE, SIDE));
  const big = jpegFrame(0xc2, SIDE, SIDE);
  const bare = Buffer.concat([big, jpegScan()]);
  // The bytes after the bare marker start with 0xff, so a reader that takes them for a length skips 65 KB.
  const skipped = Buffer.concat([bare, Buffer.alloc(0xffc2 - bare.length)]);
  const raw = Buffer.concat([lossless(SIDE, SIDE), Buffer.alloc(1)]);
  return {
    "webp with two images": webpOf([large, small]),
    "webp with its image after its end": webpOf([large, small], 4 + large.length),
    "webp with raw pixels": webpOf([
      Buffer.concat([raw.subarray(0, 4), little32(4), raw.subarray(8)]),
      small,
    ]),
    "webp with another canvas": webpOf([extended(8, 8), large, small]),
    "webp with a long header": webpOf([riffChunk("VP8X", Buffer.alloc(12)), large, small]),
    "webp whose image leaves its file": webpOf([riffChunk("VP8L", lossless(SIDE, SIDE), 1 << 24), small]),
    "jpeg with a marker without length": jpegOf(
      Buffer.from([0xff, 0x01]),
      skipped,
      jpegFrame(0xc0, 8, 8),
      jpegScan(),
    ),
    "jpeg with a restart marker": jpegOf(
      Buffer.from([0xff, 0xd0]),
      skipped,
      jpegFrame(0xc0, 8, 8),
      jpegScan(),
    ),
    "jpeg with two frames": jpegOf(jpegFrame(0xc0, 8, 8), big, jpegScan()),
  };
}

/** Images that say how large they are, and whose decoder needs much more memory than a byte for each sample. */
export function heavyImages(): Record<string, Image> {
  const factors = [0x44, 0x11, 0x11];
  const plane = Buffer.concat([Buffer.from([1]), lossless(4_000, 4_000).subarray(5)]);
  const zeros = deflateSync(Buffer.alloc(400_000_000), { level: 1 });
  return {
    "jpeg whose first scan has one component": jpegOf(
      jpegFrame(0xc0, 4_400, 4_400),
      jpegScan([1]),
      jpegScan([2]),
    ),
    "progressive jpeg with coarse colours": jpegOf(jpegFrame(0xc2, 3_000, 3_000, factors), jpegScan()),
    "lossless webp": webpOf([riffChunk("VP8L", lossless(3_100, 3_100))]),
    "webp with a plane of transparency": webpOf([extended(4_000, 4_000, 16), riffChunk("ALPH", plane)]),
    "png of one column": pngOf(1, 20_000_000, { color: 0, raw: Buffer.alloc(40_000_000) }),
    "png with rows after its last one": pngOf(2, 1, { color: 0, data: [zeros] }),
    "png in small parts": pngOf(2, 1, {
      color: 0,
      data: Array.from({ length: 400_000 }, () => Buffer.alloc(0)),
    }),
  };
}
