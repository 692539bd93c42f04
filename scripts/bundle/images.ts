import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface ImageWorker {
  code: string;
  /** Content of the codecs' .wasm files, keyed by the name that the code imports. */
  codecs: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/**
 * Bundles the image worker. The codecs stay separate files, because Workers runtimes compile WebAssembly only before a
 * worker starts. The caller stops the bundler.
 */
export async function bundleImages(): Promise<ImageWorker> {
  const codecs = new Map<string, Uint8Array<ArrayBuffer>>();
  const keep: Plugin = {
    name: "codecs",
    setup(builder) {
      builder.onResolve({ filter: /^@jsquash\/.*\.wasm$/ }, ({ path }) => {
        const name = `./${basename(path)}`;
        codecs.set(name, new Uint8Array(readFileSync(join(root, "node_modules", path))));
        return { path: name, external: true };
      });
    },
  };
  const { outputFiles } = await build({
    entryPoints: [join(root, "functions/images/worker.ts")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    plugins: [keep],
    minify: true,
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error("esbuild gave no output");
  return { code: output.text, codecs };
}
