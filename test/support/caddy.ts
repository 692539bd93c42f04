import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../scripts/process/ports.ts";
import { extractProgram } from "../../scripts/tools/packages.ts";
import { tempDir } from "./broker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the path of Caddy: the program in the PATH, or one that is extracted from the distribution's package. */
function caddyProgram(): string {
  for (const folder of (process.env.PATH ?? "").split(":")) {
    if (existsSync(join(folder, "caddy"))) return join(folder, "caddy");
  }
  const target = join(root, ".data", "bin", "caddy");
  if (!existsSync(target)) extractProgram("caddy", "usr/bin/caddy", target);
  return target;
}

/** Caddy with the Caddyfile of scripts/server. */
export interface Caddy extends AsyncDisposable {
  output(): string;
}

/** @param hosts addresses of the hosts and of their streams processes, such as `127.0.0.1:8787` */
export async function startCaddy(port: number, hosts: string[], streams: string[]): Promise<Caddy> {
  const dir = tempDir("caddy");
  const file = join(dir, "Caddyfile");
  // Caddy's admin endpoint has a fixed port by default. Choose a free one, so that tests can run in parallel.
  const admin = `{\n\tadmin localhost:${await freePort()}\n}\n`;
  writeFileSync(file, admin + readFileSync(join(root, "scripts/server/Caddyfile"), "utf8"));
  const child = spawn(caddyProgram(), ["run", "--config", file, "--adapter", "caddyfile"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      HOME: dir,
      PLATFORM_ADDRESS: `http://localhost:${port}`,
      PLATFORM_HOSTS: hosts.join(" "),
      PLATFORM_STREAMS: streams.join(" "),
    },
  });
  let output = "";
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.includes("serving initial configuration")) resolve();
    });
    child.once("exit", () => reject(new Error(output)));
  });
  await ready;
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
