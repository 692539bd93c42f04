/**
 * The header of an image against its decoder. The decoder must find the image that the header describes, in the memory
 * that the header promises, whatever the bytes are.
 */
import sharp, { type Sharp } from "sharp";
import { describe, expect, it } from "vitest";
import { headerOf, shownSize } from "../../shared/images/header.ts";
import { measureDecoders, outcomeOf, promised, STARTING_BYTES } from "../support/decoding.ts";
import {
  extended,
  heavyImages,
  type Image,
  jpegFrame,
  jpegOf,
  jpegScan,
  lossless,
  lyingImages,
  pngChunk,
  pngOf,
  riffChunk,
  webpOf,
} from "../support/hostile-images.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

measureDecoders();

const noise = (width: number, height: number, channels: 1 | 3 | 4 = 3) =>
  sharp(
    Buffer.from(
      Array.from({ length: width * height * channels }, (_, i) => (i * 7919 + (i >> 5) * 131) & 255),
    ),
    { raw: { width, height, channels } },
  );

const bytesOf = async (image: Sharp): Promise<Image> => new Uint8Array(await image.toBuffer());

/** Files of another encoder, in every kind that the platform reads. */
async function realFiles(): Promise<Record<string, Image>> {
  const photo = noise(90, 61);
  const clear = noise(40, 33, 4);
  const turned = photo.clone().withMetadata({ orientation: 6 });
  const files: Record<string, Sharp> = {
    "baseline jpeg": photo.clone().jpeg(),
    "progressive jpeg": photo.clone().jpeg({ progressive: true }),
    "jpeg with full colours": photo.clone().jpeg({ chromaSubsampling: "4:4:4" }),
    "grey jpeg": noise(50, 40, 1).toColourspace("b-w").jpeg(),
    "turned jpeg": turned.clone().jpeg(),
    "jpeg of another encoder": photo.clone().jpeg({ mozjpeg: true }),
    "cmyk jpeg": photo.clone().toColourspace("cmyk").jpeg(),
    png: photo.clone().png(),
    "png with a palette": photo.clone().png({ palette: true, colours: 7 }),
    "interlaced png": clear.clone().png({ progressive: true }),
    "deep png": noise(30, 20, 4).toColourspace("rgb16").png(),
    "turned png": turned.clone().png(),
    "lossy webp": photo.clone().webp(),
    "lossy webp with transparency": clear.clone().webp(),
    "lossy webp with raw transparency": clear.clone().webp({ alphaQuality: 100, effort: 0 }),
    "lossless webp": clear.clone().webp({ lossless: true }),
    "nearly lossless webp": photo.clone().webp({ nearLossless: true }),
    "turned webp": turned.clone().webp(),
    gif: clear.clone().gif(),
  };
  const made = await Promise.all(
    Object.entries(files).map(async ([name, each]) => [name, await bytesOf(each)] as const),
  );
  return Object.fromEntries(made);
}

/** Changes some bytes, or moves, repeats and cuts parts. */
function damaged(random: Random, sources: readonly Image[]): Image {
  const { below, pick } = random;
  let image: Image = pick(sources).slice();
  for (let times = below(5); times >= 0; times--) {
    const place = below(random.next() < 0.6 ? Math.min(80, image.length) : image.length);
    const other = pick(sources);
    const from = below(other.length);
    const part = other.subarray(from, from + below(200));
    const kind = below(6);
    if (kind === 0) image[place] = below(256);
    else if (kind === 1) image[place] = pick([0, 1, 0x3f, 0x7f, 0x80, 0xff]);
    else if (kind === 2) image.fill(0xff, place, place + 2);
    else if (kind === 3)
      image = new Uint8Array([...image.subarray(0, place), ...part, ...image.subarray(place)]);
    else if (kind === 4)
      image = new Uint8Array([...image.subarray(0, place), ...image.subarray(place + below(40))]);
    else image = image.slice(0, Math.max(1, image.length - below(60)));
  }
  return image;
}

/** Puts parts together that a format knows, in an order that it may not know. */
function assembled(random: Random): Image {
  const { below, pick } = random;
  const side = () => pick([1, 8, 300, 4_000, 16_383]);
  const some = <T>(make: () => T) => Array.from({ length: 1 + below(4) }, make);
  const kind = below(3);
  if (kind === 0) {
    const chunks = some(() =>
      pick([
        () => riffChunk("VP8L", lossless(side(), side()), pick([undefined, below(40)])),
        () => extended(side(), side(), pick([0, 2, 16])),
        () => riffChunk("ALPH", Buffer.concat([Buffer.from([below(4)]), lossless(8, 8).subarray(5)])),
        () => riffChunk(pick(["EXIF", "ANIM", "ANMF", "zzzz"]), Buffer.alloc(below(20))),
        () => lossless(side(), side()),
      ])(),
    );
    return webpOf(chunks, pick([undefined, below(80)]));
  }
  if (kind === 1) {
    const factor = () => pick([0x11, 0x22, 0x21, 0x41, 0x44, 0x14]);
    const parts = some(() =>
      pick([
        () => jpegFrame(pick([0xc0, 0xc1, 0xc2]), side(), side(), some(factor)),
        () => jpegScan(pick([[1], [1, 2, 3], [2, 3]])),
        () => Buffer.from([0xff, pick([0x01, 0xd0, 0xd8, 0xff, 0xfe, 0xdc, 0x02])]),
        () => Buffer.alloc(below(70_000)),
      ])(),
    );
    return jpegOf(...parts);
  }
  return pngOf(side(), side(), {
    color: pick([0, 2, 3, 4, 6, 1]),
    depth: pick([1, 2, 4, 8, 16]),
    interlace: below(3),
    raw: Buffer.alloc(below(100_000)),
    chunks: some(() => pngChunk(pick(["IHDR", "PLTE", "tRNS", "acTL", "IDAT"]), Buffer.alloc(below(40)))),
  });
}

describe("the header of an image", () => {
  it("says what another program says of the image", async () => {
    for (const [name, image] of Object.entries(await realFiles())) {
      const header = headerOf(image);
      const { width, height, orientation = 1 } = await sharp(image).metadata();
      expect([name, header]).toEqual([name, expect.objectContaining({ width, height, orientation })]);
      const { code, memory } = await outcomeOf(image);
      const expected = name === "gif" || name === "cmyk jpeg" ? "image_unsupported" : "made";
      expect([name, code]).toEqual([name, expected]);
      expect(memory).toBeLessThanOrEqual(STARTING_BYTES + 4 * 1024 * 1024);
    }
  });

  it("knows whether the image moves", async () => {
    const frames = await noise(20, 60).raw().toBuffer();
    const moving = sharp(frames, { raw: { width: 20, height: 60, channels: 3, pageHeight: 20 } });
    const control = Buffer.alloc(8);
    control.writeUInt32BE(2, 0);
    const images = {
      gif: await bytesOf(moving.clone().gif()),
      webp: await bytesOf(moving.clone().webp()),
      png: pngOf(2, 1, { color: 0, raw: Buffer.from([0, 1, 2]), chunks: [pngChunk("acTL", control)] }),
    };
    for (const [format, image] of Object.entries(images)) {
      expect(headerOf(image)).toMatchObject({ format, animated: true });
      expect(await outcomeOf(image)).toMatchObject({
        code: "image_unsupported",
        detail: expect.stringContaining("animated"),
      });
    }
    for (const image of Object.values(await realFiles()))
      expect(headerOf(image)).not.toHaveProperty("animated");
  });

  it("rejects files in which a decoder finds another image", async () => {
    for (const [name, image] of Object.entries(lyingImages())) {
      const { code, memory } = await outcomeOf(image);
      const refused = expect.toBeOneOf(["image_unreadable", "image_too_large"]);
      expect([name, code, memory]).toEqual([name, refused, 0]);
    }
  });

  it("counts all memory of the decoder", async () => {
    for (const [name, image] of Object.entries(heavyImages())) {
      const { detail = "", memory } = await outcomeOf(image);
      expect(memory, name).toBeLessThanOrEqual(promised(image));
      expect(detail, name).not.toContain("more memory than");
    }
  });

  it("promises enough memory for every image, and the decoder never takes more", async () => {
    const random = testRandom();
    const sources = [...Object.values(await realFiles()), ...Object.values(lyingImages())];
    const codes = new Set<string>();
    for (let round = 0; round < rounds(300); round++) {
      const image = round % 2 === 0 ? damaged(random, sources) : assembled(random);
      const { code, memory } = await outcomeOf(image);
      codes.add(code);
      expect(memory).toBeLessThanOrEqual(promised(image));
      const header = headerOf(image);
      if (code === "made") expect(header === null ? undefined : shownSize(header).width).toBeGreaterThan(0);
    }
    const known = ["made", "image_unreadable", "image_too_large", "image_unsupported"];
    expect([...codes].filter((code) => !known.includes(code))).toEqual([]);
  }, 300_000);
});
