/** Reads and writes PNG images. Decodes row by row, and decompresses only the pixel data, not the metadata. */
import { unreadable } from "./fault.ts";
import type { Pixels } from "./shrink.ts";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Number of samples per pixel, keyed by the PNG colour type. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

interface Layout {
  width: number;
  height: number;
  depth: number;
  color: number;
  interlaced: boolean;
  palette: Uint8Array;
  /** Content of the tRNS chunk, which defines transparency. */
  transparent: Uint8Array | undefined;
  /** The compressed pixel data: the content of all IDAT chunks. */
  packed: Uint8Array<ArrayBuffer>;
}

function layoutOf(bytes: Uint8Array<ArrayBuffer>): Layout {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 45) throw unreadable();
  const layout: Layout = {
    width: view.getUint32(16),
    height: view.getUint32(20),
    depth: view.getUint8(24),
    color: view.getUint8(25),
    interlaced: view.getUint8(28) === 1,
    palette: new Uint8Array(0),
    transparent: undefined,
    packed: new Uint8Array(0),
  };
  if (DEPTHS[layout.color]?.includes(layout.depth) !== true || view.getUint8(28) > 1) throw unreadable();
  // Copy the data into one array, because a file can have a million chunks.
  const packed = new Uint8Array(bytes.length);
  let size = 0;
  for (let at = 33; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (data.length < length) throw unreadable();
    if (type === "PLTE") layout.palette = data;
    else if (type === "tRNS") layout.transparent = data;
    else if (type === "IDAT") {
      packed.set(data, size);
      size += length;
    } else if (type === "IEND") break;
    at += 12 + length;
  }
  layout.packed = packed.subarray(0, size);
  return layout;
}

/**
 * Maximum bytes to decompress at a time. The runtime decompresses what it gets at once, and 1,000 bytes can become a
 * megabyte.
 */
const PIECE_BYTES = 4096;

/** Decompresses pixel data on demand, only as many bytes as each call asks for. */
class Inflated {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(packed: Uint8Array<ArrayBuffer>) {
    let at = 0;
    const pieces = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull(controller) {
          if (at < packed.length) controller.enqueue(packed.slice(at, at + PIECE_BYTES));
          else controller.close();
          at += PIECE_BYTES;
        },
      },
      { highWaterMark: 0 },
    );
    this.#reader = pieces.pipeThrough(new DecompressionStream("deflate")).getReader();
  }

  async read(into: Uint8Array): Promise<void> {
    for (let filled = 0; filled < into.length; ) {
      if (this.#rest.length === 0) {
        const next = await this.#reader.read().catch(() => undefined);
        if (next === undefined || next.done) throw unreadable();
        this.#rest = next.value;
      }
      const some = this.#rest.subarray(0, into.length - filled);
      into.set(some, filled);
      filled += some.length;
      this.#rest = this.#rest.subarray(some.length);
    }
  }

  async stop(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const toLeft = Math.abs(guess - left);
  const toUp = Math.abs(guess - up);
  const toCorner = Math.abs(guess - corner);
  return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
}

/** Reverses the filter of a row, in place. The first byte of each row is the number of its filter. */
function unfilter(row: Uint8Array, above: Uint8Array, step: number): void {
  const filter = row[0] as number;
  if (filter > 4) throw unreadable();
  if (filter === 0) return;
  for (let i = 1; i < row.length; i++) {
    const left = i > step ? (row[i - step] as number) : 0;
    const up = above[i] as number;
    const corner = i > step ? (above[i - step] as number) : 0;
    const guess =
      filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : paeth(left, up, corner);
    row[i] = (row[i] as number) + guess;
  }
}

/** Returns a function that converts an unfiltered row to RGBA. */
function painter({ depth, color, palette, transparent }: Layout) {
  const scale = depth < 8 && color !== 3 ? 255 / (2 ** depth - 1) : 1;
  const bytes = depth === 16 ? 2 : 1;
  const channels = CHANNELS[color] as number;
  const raw = (row: Uint8Array, i: number): number => {
    if (depth === 8) return row[1 + i] as number;
    if (depth === 16) return ((row[1 + i * 2] as number) << 8) | (row[2 + i * 2] as number);
    const bit = i * depth;
    return ((row[1 + (bit >> 3)] as number) >> (8 - depth - (bit & 7))) & (2 ** depth - 1);
  };
  const keys =
    transparent !== undefined && color < 3
      ? Array.from(
          { length: channels },
          (_, i) => ((transparent[i * 2] ?? 0) << 8) | (transparent[i * 2 + 1] ?? 0),
        )
      : undefined;
  const byte = (value: number) => (bytes === 2 ? value >> 8 : value * scale);
  return (row: Uint8Array, count: number, to: Uint8Array, at: number, step: number) => {
    for (let x = 0, out = at; x < count; x++, out += step) {
      const i = x * channels;
      if (color === 3) {
        const index = raw(row, x);
        if (index * 3 + 3 > palette.length) throw unreadable();
        for (let part = 0; part < 3; part++) to[out + part] = palette[index * 3 + part] as number;
        to[out + 3] = transparent?.[index] ?? 255;
        continue;
      }
      const isGray = color === 0 || color === 4;
      for (let part = 0; part < 3; part++) to[out + part] = byte(raw(row, isGray ? i : i + part));
      const hidden = keys?.every((key, part) => raw(row, i + part) === key) === true;
      to[out + 3] = color >= 4 ? byte(raw(row, i + channels - 1)) : hidden ? 0 : 255;
    }
  };
}

/** The passes of an interlaced image: first column, first row, step between columns, step between rows. */
const PASSES: readonly (readonly [number, number, number, number])[] = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
];

/**
 * Decodes a PNG.
 * @param take receives each row as RGBA pixels, which start at index `at` of `bytes`
 * @throws ImageFault if the image is damaged
 */
export async function decodePng(
  bytes: Uint8Array<ArrayBuffer>,
  take: (y: number, bytes: Uint8Array, at: number) => void,
): Promise<void> {
  const layout = layoutOf(bytes);
  const { width, height, depth, color, interlaced } = layout;
  const bits = depth * (CHANNELS[color] as number);
  const step = Math.max(1, bits >> 3);
  const paint = painter(layout);
  const inflated = new Inflated(layout.packed);
  const whole = new Uint8Array(interlaced ? width * height * 4 : width * 4);
  try {
    for (const [x, y, dx, dy] of interlaced ? PASSES : ([[0, 0, 1, 1]] as const)) {
      const count = Math.ceil((width - x) / dx);
      if (count <= 0) continue;
      let row = new Uint8Array(1 + Math.ceil((count * bits) / 8));
      let above = new Uint8Array(row.length);
      for (let line = y; line < height; line += dy) {
        await inflated.read(row);
        unfilter(row, above, step);
        paint(row, count, whole, interlaced ? (line * width + x) * 4 : 0, dx * 4);
        if (!interlaced) take(line, whole, 0);
        [row, above] = [above, row];
      }
    }
  } finally {
    await inflated.stop();
  }
  if (interlaced) for (let y = 0; y < height; y++) take(y, whole, y * width * 4);
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function chunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(12 + data.length);
  const view = new DataView(all.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) all[4 + i] = type.charCodeAt(i);
  all.set(data, 8);
  let crc = 0xffffffff;
  for (let i = 4; i < all.length - 4; i++)
    crc = (CRC[(crc ^ (all[i] as number)) & 255] as number) ^ (crc >>> 8);
  view.setUint32(all.length - 4, (crc ^ 0xffffffff) >>> 0);
  return all;
}

/** Encodes pixels as PNG. Omits the alpha channel if all pixels are opaque. */
export async function encodePng({ width, height, data }: Pixels): Promise<Uint8Array<ArrayBuffer>> {
  let opaque = true;
  for (let at = 3; at < data.length && opaque; at += 4) opaque = data[at] === 255;
  const step = opaque ? 3 : 4;
  const raw = new Uint8Array(height * (1 + width * step));
  let out = 0;
  for (let y = 0; y < height; y++) {
    // 4 is the Paeth filter, which compresses most images well.
    raw[out++] = 4;
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      for (let part = at; part < at + step; part++) {
        const left = x > 0 ? (data[part - 4] as number) : 0;
        const up = y > 0 ? (data[part - width * 4] as number) : 0;
        const corner = x > 0 && y > 0 ? (data[part - width * 4 - 4] as number) : 0;
        raw[out++] = (data[part] as number) - paeth(left, up, corner);
      }
    }
  }
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, opaque ? 2 : 6], 8);
  const packed = new Blob([raw]).stream().pipeThrough(new CompressionStream("deflate"));
  const body = new Uint8Array(await new Response(packed).arrayBuffer());
  const parts = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("IDAT", body),
    chunk("IEND", new Uint8Array(0)),
  ];
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
