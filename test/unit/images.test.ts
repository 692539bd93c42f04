/** Images: sizes, orientations, colours, limits, and damaged or hostile content. */
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ImageFault } from "../../functions/images/fault.ts";
import { makeImage } from "../../functions/images/make.ts";
import { decodePng } from "../../functions/images/png.ts";
import { type Pixels, turned } from "../../functions/images/shrink.ts";
import { headerOf, isDecodable, shownSize } from "../../shared/images/header.ts";
import { cutOf, variantOf } from "../../shared/images/variant.ts";
import { type PngParts, pngChunk, pngOf } from "../support/hostile-images.ts";
import { at, BLUE, codecs, exif, jpeg, picture, png, RED, webp, withExif } from "../support/images.ts";
import { testRandom } from "../support/random.ts";

const limit = 20_000_000;
const formats = { png, jpeg, webp };

/** Decodes a PNG into pixels. */
async function pixelsOf(bytes: Uint8Array<ArrayBuffer>): Promise<Pixels> {
  const { width, height } = headerOf(bytes) ?? { width: 0, height: 0 };
  const data = new Uint8Array(width * height * 4);
  await decodePng(bytes, (y, row, start) => data.set(row.subarray(start, start + width * 4), y * width * 4));
  return { width, height, data };
}

/** Makes a variant as PNG, and returns its pixels. */
async function variant(
  bytes: Uint8Array<ArrayBuffer>,
  options: Parameters<typeof variantOf>[0],
): Promise<Pixels> {
  const { content } = await makeImage(codecs, bytes, {
    limit,
    variant: variantOf({ ...options, format: "png" }),
  });
  return pixelsOf(content ?? new Uint8Array(0));
}

const isNear = (one: readonly number[], other: readonly number[]) =>
  one.every((value, part) => Math.abs(value - (other[part] ?? 0)) < 30);

describe("the size of a variant", () => {
  it("contains the whole image, and enlarges nothing", () => {
    const size = { width: 400, height: 200 };
    const to = (options: Parameters<typeof variantOf>[0]) => cutOf(size, variantOf(options)).to;
    expect(to({ w: 100 })).toEqual({ width: 100, height: 50 });
    expect(to({ h: 100 })).toEqual({ width: 200, height: 100 });
    expect(to({ w: 100, h: 10 })).toEqual({ width: 20, height: 10 });
    expect(to({ w: 800, h: 800 })).toEqual(size);
  });

  it("covers exactly, and leaves out what does not fit", () => {
    const cut = cutOf({ width: 400, height: 200 }, variantOf({ w: 100, h: 100, fit: "cover" }));
    expect(cut).toEqual({ x: 100, y: 0, width: 200, height: 200, to: { width: 100, height: 100 } });
    const small = cutOf({ width: 40, height: 20 }, variantOf({ w: 100, h: 100, fit: "cover" }));
    expect(small.to).toEqual({ width: 20, height: 20 });
  });

  it("shows only the crop, with the focal point as near to its middle as the crop allows", () => {
    const size = { width: 400, height: 200 };
    const cut = (options: Parameters<typeof variantOf>[0], frame: Parameters<typeof cutOf>[2]) =>
      cutOf(size, variantOf(options), frame);
    const crop = { x: 0.5, y: 0, w: 0.25, h: 1 };
    expect(cut({ w: 50 }, { crop })).toEqual({
      ...{ x: 200, y: 0, width: 100, height: 200 },
      to: { width: 50, height: 100 },
    });
    const square = { w: 100, h: 100, fit: "cover" } as const;
    expect(cut(square, { crop })).toMatchObject({ x: 200, y: 50, width: 100, height: 100 });
    expect(cut(square, { crop, focal: { x: 0.9, y: 0.9 } })).toMatchObject({ x: 200, y: 100 });
    expect(cut(square, { focal: { x: 0, y: 0.5 } })).toMatchObject({ x: 0, width: 200 });
    expect(cut(square, { focal: { x: 0.6, y: 0.5 } })).toMatchObject({ x: 140, width: 200 });
    expect(cut({ w: 50 }, { crop: { x: 0.9999, y: 0.9999, w: 0.0001, h: 0.0001 } }).to).toEqual({
      width: 1,
      height: 1,
    });
  });

  it("is at least one pixel of every image", () => {
    expect(cutOf({ width: 10_000, height: 1 }, variantOf({ w: 5 })).to).toEqual({ width: 5, height: 1 });
  });
});

describe("decoding", () => {
  for (const [name, encode] of Object.entries(formats)) {
    it(`makes variants of ${name} with the colours of the image`, async () => {
      const made = await variant(await encode(picture(64, 32, RED, BLUE)), { w: 16 });
      expect([made.width, made.height]).toEqual([16, 8]);
      expect(at(made, 2, 2)).toSatisfy((color: number[]) => isNear(color, BLUE));
      expect(at(made, 13, 6)).toSatisfy((color: number[]) => isNear(color, RED));
    });
  }

  it("turns the image as its EXIF data says", async () => {
    const image = await jpeg(picture(64, 32, RED, BLUE));
    /** Corners, clockwise from the upper left one, where each orientation shows the upper left quarter. */
    const corners = [0, 1, 2, 3, 0, 1, 2, 3];
    for (const [i, corner] of corners.entries()) {
      const made = await variant(withExif(image, exif(i + 1)), { w: 64, h: 64 });
      expect([made.width, made.height]).toEqual(i < 4 ? [64, 32] : [32, 64]);
      const [right, bottom] = [made.width - 4, made.height - 4];
      const colors = [at(made, 3, 3), at(made, right, 3), at(made, right, bottom), at(made, 3, bottom)];
      expect(colors.map((color) => isNear(color, BLUE))).toEqual([0, 1, 2, 3].map((one) => one === corner));
    }
  });

  it("crops the image as viewers see it, whatever its orientation", async () => {
    const image = await jpeg(picture(64, 32, RED, BLUE));
    /** The quarters, as crops, in which each orientation shows the upper left one. */
    const quarters = [0, 1, 2, 3, 0, 1, 2, 3].map((corner) => ({
      ...{ x: corner === 1 || corner === 2 ? 0.5 : 0, y: corner >= 2 ? 0.5 : 0 },
      ...{ w: 0.5, h: 0.5 },
    }));
    for (const [i, crop] of quarters.entries()) {
      const job = { limit, frame: { crop }, variant: variantOf({ w: 64, h: 64, format: "png" }) };
      const { content } = await makeImage(codecs, withExif(image, exif(i + 1)), job);
      const made = await pixelsOf(content ?? new Uint8Array(0));
      expect([made.width, made.height]).toEqual(i < 4 ? [32, 16] : [16, 32]);
      for (const [x, y] of [
        [2, 2],
        [made.width - 3, made.height - 3],
      ] as const)
        expect(isNear(at(made, x, y), BLUE), `orientation ${i + 1}`).toBe(true);
    }
  });

  it("tells apart the orientations that mirror an image", () => {
    const image = { width: 2, height: 3, data: new Uint8Array([...Array(24).keys()]) };
    const order = (orientation: number) =>
      [...turned(image, orientation).data].filter((_, i) => i % 4 === 0).map((value) => value / 4);
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(order)).toEqual([
      [0, 1, 2, 3, 4, 5],
      [1, 0, 3, 2, 5, 4],
      [5, 4, 3, 2, 1, 0],
      [4, 5, 2, 3, 0, 1],
      [0, 2, 4, 1, 3, 5],
      [4, 2, 0, 5, 3, 1],
      [5, 3, 1, 4, 2, 0],
      [1, 3, 5, 0, 2, 4],
    ]);
  });

  it("keeps no metadata in variants", async () => {
    const place = "51.5007,-0.1246";
    const image = withExif(await jpeg(picture(40, 40)), exif(6, place));
    expect(Buffer.from(image).includes(place)).toBe(true);
    for (const format of ["jpeg", "png", "webp"] as const) {
      const { content } = await makeImage(codecs, image, { limit, variant: variantOf({ w: 20, format }) });
      expect(headerOf(content ?? new Uint8Array(0))).toMatchObject({ format, width: 20, orientation: 1 });
      expect(Buffer.from(content ?? []).toString("latin1")).not.toMatch(/exif|51\.5007/i);
    }
  });

  it("keeps transparency, and puts JPEG on white", async () => {
    const image = await png(picture(20, 20, [0, 0, 0, 0], RED));
    expect(at(await variant(image, { w: 10 }), 8, 8)[3]).toBe(0);
    const { content = new Uint8Array(0) } = await makeImage(codecs, image, {
      limit,
      variant: variantOf({ w: 10, format: "jpeg" }),
    });
    expect(at(await variant(content, { w: 10 }), 8, 8)).toSatisfy((color: number[]) =>
      isNear(color, [255, 255, 255, 255]),
    );
  });

  it("finds the colour that most of an image has, and none if it is transparent", async () => {
    const { color } = await makeImage(codecs, await png(picture(90, 90, RED, BLUE)), { limit });
    expect(color).toBe("#dc1414");
    const clear = await makeImage(codecs, await png(picture(9, 9, [0, 0, 0, 0])), { limit });
    expect(clear).toEqual({ width: 9, height: 9, color: undefined });
  });

  it("reads every kind of PNG", async () => {
    const palette = pngChunk("PLTE", Uint8Array.from([...RED.slice(0, 3), ...BLUE.slice(0, 3)]));
    const hidden = pngChunk("tRNS", Uint8Array.from([255, 0]));
    const kinds: [PngParts, number, readonly number[][]][] = [
      [
        { color: 0, depth: 1, raw: Uint8Array.from([0, 0b01000000]) },
        2,
        [
          [0, 0, 0, 255],
          [255, 255, 255, 255],
        ],
      ],
      [
        { color: 0, depth: 4, raw: Uint8Array.from([0, 0xf5]) },
        2,
        [
          [255, 255, 255, 255],
          [85, 85, 85, 255],
        ],
      ],
      [
        { color: 0, depth: 16, raw: Uint8Array.from([0, 9, 1, 8, 2]) },
        2,
        [
          [9, 9, 9, 255],
          [8, 8, 8, 255],
        ],
      ],
      [
        {
          color: 2,
          raw: Uint8Array.from([1, 1, 2, 3, 1, 1, 1]),
          chunks: [pngChunk("tRNS", Uint8Array.from([0, 1, 0, 2, 0, 3]))],
        },
        2,
        [
          [1, 2, 3, 0],
          [2, 3, 4, 255],
        ],
      ],
      [
        { color: 3, depth: 2, raw: Uint8Array.from([0, 0b00010000]), chunks: [palette, hidden] },
        2,
        [[...RED], [20, 20, 220, 0]],
      ],
      [
        { color: 4, raw: Uint8Array.from([0, 7, 100, 8, 200]) },
        2,
        [
          [7, 7, 7, 100],
          [8, 8, 8, 200],
        ],
      ],
      [
        { color: 6, depth: 16, raw: Uint8Array.from([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0]) },
        2,
        [
          [1, 2, 3, 4],
          [5, 6, 7, 8],
        ],
      ],
    ];
    for (const [made, width, wanted] of kinds) {
      const image = await pixelsOf(pngOf(width, 1, made));
      expect(wanted.map((_, x) => at(image, x, 0))).toEqual(wanted);
    }
    // Three pixels of passes 1, 6 and 7 of an interlaced image of 2 × 2.
    const raw = Uint8Array.from([0, 10, 0, 20, 0, 30, 40]);
    const image = await pixelsOf(pngOf(2, 2, { color: 0, interlace: 1, raw }));
    expect([at(image, 0, 0)[0], at(image, 1, 0)[0], at(image, 0, 1)[0], at(image, 1, 1)[0]]).toEqual([
      10, 20, 30, 40,
    ]);
  });
});

describe("hostile images", () => {
  const refusal = (bytes: Uint8Array<ArrayBuffer>) =>
    makeImage(codecs, bytes, { limit, variant: variantOf({ w: 50, h: 50 }) }).then(
      () => "made",
      (error: unknown) => (error instanceof ImageFault ? error.code : String(error)),
    );

  it("refuses an image with too many pixels before it decodes anything", async () => {
    expect(await refusal(pngOf(50_000, 50_000, {}))).toBe("image_too_large");
    const image = await jpeg(picture(16, 16));
    const sizeAt = Buffer.from(image).indexOf(Buffer.from([0xff, 0xc2])) + 5;
    image.set([0xff, 0xff, 0xff, 0xff], sizeAt);
    expect(await refusal(image)).toBe("image_too_large");
  });

  it("counts the memory that a format needs for each pixel", async () => {
    const progressive = headerOf(await jpeg(picture(16, 16)));
    expect(progressive).toMatchObject({ format: "jpeg", memory: 16 * 16 * 8 });
    const size = { ...progressive, format: "jpeg", orientation: 1, width: 5_000, height: 4_000 } as const;
    expect(isDecodable({ ...size, memory: 80_000_001 }, limit)).toBe(false);
    expect(isDecodable({ ...size, memory: 80_000_000 }, limit)).toBe(true);
    expect(isDecodable({ ...size, width: 16_385, height: 1, memory: 65_540 }, limit)).toBe(false);
  });

  it("decompresses only the pixels of a PNG, and no other chunks", async () => {
    const bomb = deflateSync(new Uint8Array(30_000_000));
    const text = Buffer.concat([Buffer.from("Comment\0\0", "latin1"), bomb]);
    const image = pngOf(2, 1, {
      color: 0,
      raw: new Uint8Array(30_000_000),
      chunks: [pngChunk("zTXt", text), pngChunk("iCCP", text)],
    });
    expect(await refusal(image)).toBe("made");
  });

  it("refuses truncated images, lying headers, and endless scans", async () => {
    for (const encode of Object.values(formats)) {
      const image = await encode(picture(300, 200, RED, BLUE));
      expect(await refusal(image.slice(0, image.length * 0.6))).toBe("image_unreadable");
    }
    const lying = await webp(picture(64, 64));
    new DataView(lying.buffer).setUint16(26, 5_000, true);
    expect(await refusal(lying)).toBe("image_unreadable");
    const image = await jpeg(picture(64, 64));
    const scan = Buffer.from(image).indexOf(Buffer.from([0xff, 0xda]));
    const scans = Array.from({ length: 500 }, () => image.subarray(scan, image.length - 2));
    expect(
      await refusal(new Uint8Array(Buffer.concat([image.subarray(0, scan), ...scans, image.subarray(-2)]))),
    ).toBe("image_unreadable");
  });

  it("survives damage of any kind", async () => {
    const random = testRandom();
    const { below } = random;
    const sources = await Promise.all(
      [1, 2, 3].flatMap((n) =>
        Object.values(formats).map((encode) => encode(picture(n * 20, 30, RED, BLUE))),
      ),
    );
    const exifs = sources
      .filter((source) => source[0] === 0xff)
      .map((source) => withExif(source, exif(6, "x".repeat(99))));
    const seen = new Set<string>();
    for (let round = 0; round < 300; round++) {
      const source = random.pick([...sources, ...exifs]);
      let image = source.slice();
      for (let damage = below(8); damage >= 0; damage--) {
        const place = random.next() < 0.5 ? below(Math.min(64, image.length)) : below(image.length);
        const kind = below(4);
        if (kind === 0) image[place] = below(256);
        else if (kind === 1) image = image.slice(0, Math.max(1, place));
        else if (kind === 2) image.fill(0xff, place, place + 2);
        else
          image = new Uint8Array(
            Buffer.concat([
              image.subarray(0, place),
              source.subarray(below(source.length)),
              image.subarray(place),
            ]),
          );
      }
      const header = headerOf(image);
      if (header !== null) expect(shownSize(header).width).toBeGreaterThan(0);
      seen.add(await refusal(image));
    }
    const expected = ["made", "image_unreadable", "image_too_large", "image_unsupported"];
    expect([...seen].filter((outcome) => !expected.includes(outcome))).toEqual([]);
  }, 120_000);
});
