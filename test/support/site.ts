/** Example sites, for tests of the preview in the console. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { freePort } from "../../scripts/process/ports.ts";
import { tempDir } from "./broker.ts";
import { root } from "./guide.ts";

const SITES = join(root, "scripts/examples/sites");

/** Returns the example orb under another id, with the page at an origin. */
export function newsroom(id: string, site: string): object {
  const text = readFileSync(join(SITES, "newsroom.json"), "utf8");
  return JSON.parse(text.replace('"newsroom"', `"${id}"`).replace("http://127.0.0.1:4320", site)) as object;
}

/** Copies an example site into a folder of its own, and installs the package there. */
export async function copySite(name: string): Promise<string> {
  const folder = tempDir(`site-${name}`);
  cpSync(join(SITES, name), folder, { recursive: true });
  const installed = join(folder, "node_modules/composable-platform");
  mkdirSync(installed, { recursive: true });
  await build({
    entryPoints: [join(root, "shared/site/index.ts")],
    outfile: join(installed, "dist/preview.js"),
    ...{ bundle: true, format: "esm", target: "es2022" },
  });
  const { name: own, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    name: string;
    exports: object;
  };
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: own, type: "module", exports }));
  return folder;
}

export interface RunningSite extends AsyncDisposable {
  origin: string;
}

/** Starts a site in a folder, and waits until it answers. */
export async function startSite(
  folder: string,
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  port?: number,
): Promise<RunningSite> {
  const chosen = port ?? (await freePort());
  const child: ChildProcess = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env, PORT: String(chosen) },
    stdio: "inherit",
  });
  const origin = `http://127.0.0.1:${chosen}`;
  const ended = new Promise<never>((_, fail) =>
    child.once("exit", (code) => fail(new Error(`site ended: ${code}`))),
  );
  ended.catch(() => undefined);
  const answers = async () => {
    for (;;) {
      if ((await fetch(origin).catch(() => undefined)) !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await Promise.race([answers(), ended]);
  return {
    origin,
    async [Symbol.asyncDispose]() {
      child.kill();
    },
  };
}
