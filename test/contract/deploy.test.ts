import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** Returns the output of `wrangler deploy --dry-run` for a configuration. */
async function dryRun(toml: string): Promise<string> {
  const path = join(root, ".wrangler", `deploy-${process.pid}.toml`);
  mkdirSync(join(root, ".wrangler"), { recursive: true });
  writeFileSync(
    path,
    toml
      .replace('main = ".wrangler/', 'main = "')
      .replace('base_dir = ".wrangler/', 'base_dir = "')
      .replace('directory = ".wrangler/assets"', 'directory = "assets"'),
  );
  try {
    const args = [join(root, "scripts/deploy.ts"), "--dry-run", "-c", path];
    return (await run(process.execPath, args, { cwd: root })).stdout;
  } finally {
    rmSync(path, { force: true });
  }
}

test("the functions can be deployed, with and without the image worker and the Durable Object link", async () => {
  const toml = readFileSync(join(root, "wrangler.toml"), "utf8");
  // The build fails if a size exceeds its limit.
  const plain = await dryRun(toml);
  const sizes = plain.match(/^.*: [\d.]+ KiB of [\d.]+ KiB$/gm) ?? [];
  console.log([...new Set(sizes)].join("\n"));
  expect(sizes.length).toBeGreaterThan(5);
  expect(plain).toContain("env.ASSETS");
  expect(plain).not.toContain("BROKER_LINK");
  expect(plain).toContain("env.IMAGES (composable-platform-images)");
  expect(plain).toMatch(/webp_enc_simd\.wasm +│ compiled-wasm/);

  const [block = ""] = /# \[\[durable_objects(?:.*\n)+?(?=\n)/.exec(toml) ?? [];
  const [images = ""] = /\[\[services\]\]\n.+\n.+\n/.exec(toml) ?? [];
  // The files are those of the first build.
  const built = toml.replace(/\[build\]\n(.+\n)+/, "");
  expect(built).not.toBe(toml);
  const linked = await dryRun(built.replace(block, block.replaceAll(/^# /gm, "")).replace(images, ""));
  expect(linked).not.toMatch(/IMAGES|wasm/);
  expect(linked).toMatch(/env\.BROKER_LINK \(BrokerLink\)\s+Durable Object/);
}, 120_000);
