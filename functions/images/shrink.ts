/** Shrinks an image row by row. Each pixel of the result is the average of the source pixels that it replaces. */
import type { Cut, Size } from "../../shared/images/variant.ts";

/** An image as red, green, blue and alpha, one byte each. */
export interface Pixels extends Size {
  data: Uint8Array<ArrayBuffer>;
}

/**
 * How the source pixels of a row or column contribute to the result. Source pixel `i` gives the fraction `share[i]` to
 * result pixel `to[i]`, and the rest to the next result pixel.
 */
interface Shares {
  to: Int32Array;
  share: Float64Array;
}

function sharesOf(from: number, to: number): Shares {
  const scale = from / to;
  const shares: Shares = { to: new Int32Array(from), share: new Float64Array(from) };
  for (let i = 0; i < from; i++) {
    const target = Math.min(to - 1, Math.floor(i / scale));
    const share = target === to - 1 ? 1 : Math.min(1, (target + 1) * scale - i);
    shares.to[i] = target;
    // Rounding errors can make a share slightly less than 1.
    shares.share[i] = share > 1 - 1e-9 ? 1 : share;
  }
  return shares;
}

export class Shrinker {
  readonly #cut: Cut;
  readonly #columns: Shares;
  readonly #rows: Shares;
  readonly #line: Float64Array;
  #sum: Float64Array;
  readonly #data: Uint8Array<ArrayBuffer>;
  #current = 0;

  constructor(cut: Cut) {
    this.#cut = cut;
    this.#columns = sharesOf(cut.width, cut.to.width);
    this.#rows = sharesOf(cut.height, cut.to.height);
    this.#line = new Float64Array(cut.to.width * 4);
    this.#sum = new Float64Array(cut.to.width * 4);
    this.#data = new Uint8Array(cut.to.width * cut.to.height * 4);
  }

  /**
   * Adds a row of the image. Rows must come in order, from 0.
   * @param at index in `bytes` at which the row starts
   */
  row(y: number, bytes: Uint8Array, at: number): void {
    const row = y - this.#cut.y;
    if (row < 0 || row >= this.#cut.height) return;
    this.#shrinkLine(bytes, at + this.#cut.x * 4);
    const target = this.#rows.to[row] ?? 0;
    const share = this.#rows.share[row] ?? 1;
    if (target !== this.#current) this.#finish(target);
    this.#add(share);
    if (share < 1) {
      this.#finish(target + 1);
      this.#add(1 - share);
    }
  }

  end(): Pixels {
    this.#finish(this.#current);
    return { ...this.#cut.to, data: this.#data };
  }

  /**
   * Shrinks a row horizontally. Weights each colour by its alpha, so that colours of transparent pixels do not count.
   */
  #shrinkLine(bytes: Uint8Array, start: number): void {
    const line = this.#line;
    const { to, share } = this.#columns;
    const { width } = this.#cut;
    line.fill(0);
    for (let i = 0, at = start; i < width; i++, at += 4) {
      const alpha = bytes[at + 3] as number;
      const red = (bytes[at] as number) * alpha;
      const green = (bytes[at + 1] as number) * alpha;
      const blue = (bytes[at + 2] as number) * alpha;
      const target = (to[i] as number) * 4;
      const part = share[i] as number;
      (line[target] as number) += red * part;
      (line[target + 1] as number) += green * part;
      (line[target + 2] as number) += blue * part;
      (line[target + 3] as number) += alpha * part;
      if (part === 1) continue;
      const rest = 1 - part;
      (line[target + 4] as number) += red * rest;
      (line[target + 5] as number) += green * rest;
      (line[target + 6] as number) += blue * rest;
      (line[target + 7] as number) += alpha * rest;
    }
  }

  #add(share: number): void {
    const sum = this.#sum;
    const line = this.#line;
    for (let i = 0; i < sum.length; i++) (sum[i] as number) += (line[i] as number) * share;
  }

  #finish(next: number): void {
    const { to, width, height } = this.#cut;
    const area = (width / to.width) * (height / to.height);
    const data = this.#data;
    const sum = this.#sum;
    for (let i = 0, at = this.#current * to.width * 4; i < sum.length; i += 4, at += 4) {
      const alpha = sum[i + 3] as number;
      if (alpha <= 0) continue;
      data[at] = Math.round((sum[i] as number) / alpha);
      data[at + 1] = Math.round((sum[i + 1] as number) / alpha);
      data[at + 2] = Math.round((sum[i + 2] as number) / alpha);
      data[at + 3] = Math.min(255, Math.round(alpha / area));
    }
    sum.fill(0);
    this.#current = next;
  }
}

/**
 * For each EXIF orientation, from 1 to 8: converts a position in the rotated image that viewers see to a position in
 * the stored image.
 */
const SOURCE: readonly ((x: number, y: number, w: number, h: number) => readonly [x: number, y: number])[] = [
  (x, y) => [x, y],
  (x, y, w) => [w - 1 - x, y],
  (x, y, w, h) => [w - 1 - x, h - 1 - y],
  (x, y, _, h) => [x, h - 1 - y],
  (x, y) => [y, x],
  (x, y, _, h) => [y, h - 1 - x],
  (x, y, w, h) => [w - 1 - y, h - 1 - x],
  (x, y, w) => [w - 1 - y, x],
];

/** Rotates or mirrors an image according to its EXIF orientation. */
export function turned(image: Pixels, orientation: number): Pixels {
  const source = SOURCE[orientation - 1];
  if (source === undefined || orientation === 1) return image;
  const { width: w, height: h } = image;
  const [width, height] = orientation > 4 ? [h, w] : [w, h];
  const from = new Uint32Array(image.data.buffer);
  const to = new Uint32Array(from.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [column, row] = source(x, y, w, h);
      to[y * width + x] = from[row * w + column] as number;
    }
  }
  return { width, height, data: new Uint8Array(to.buffer) };
}

/** Returns the image on a white background, for formats without transparency. */
export function onWhite({ width, height, data }: Pixels): Pixels {
  const opaque = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number;
    for (let i = at; i < at + 3; i++)
      opaque[i] = Math.round(((data[i] as number) * alpha + 255 * (255 - alpha)) / 255);
    opaque[at + 3] = 255;
  }
  return { width, height, data: opaque };
}

/**
 * Returns the most frequent colour of an image as `#rrggbb`. Returns undefined if all pixels are mostly transparent.
 */
export function colorOf({ data }: Pixels): string | undefined {
  const groups = new Map<number, [count: number, red: number, green: number, blue: number]>();
  for (let at = 0; at < data.length; at += 4) {
    if ((data[at + 3] as number) < 128) continue;
    const [red, green, blue] = [data[at] as number, data[at + 1] as number, data[at + 2] as number];
    // Count colours as similar if red, green and blue each have the same upper three bits.
    const key = ((red >> 5) << 6) | ((green >> 5) << 3) | (blue >> 5);
    const group = groups.get(key) ?? [0, 0, 0, 0];
    groups.set(key, [group[0] + 1, group[1] + red, group[2] + green, group[3] + blue]);
  }
  const [largest] = [...groups.values()].sort((a, b) => b[0] - a[0]);
  if (largest === undefined) return undefined;
  const [count, ...sums] = largest;
  return `#${sums
    .map((sum) =>
      Math.round(sum / count)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}
