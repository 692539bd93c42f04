/** The order services of scripts/examples, in TypeScript, Python and Go. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { call } from "./auth.ts";
import { tempDir } from "./broker.ts";
import { GO_ENV, has } from "./lacking.ts";
import { pythonEnvironment } from "./python.ts";

/** Runs a program and returns its output. */
export const run = promisify(execFile);

/**
 * Places an order with the example order service in each language that is installed on this machine.
 * @param env environment variables that tell the services how to reach the broker
 */
export async function placeOrders(
  at: { origin: string },
  token: string,
  env: Record<string, string>,
): Promise<void> {
  const field = (name: string, type: string) => ({ name, type });
  const own = { create: ["handler:orders.place"] };
  const fields = [field("product", "string"), field("count", "integer"), field("total", "number")];
  const products = [{ id: "product", fields: [field("price", "number")] }];
  const document = {
    id: "market",
    uses: [
      { service: "orders", handlers: ["place"], acts: ["entries:read", "transactions:record"] },
      { service: "transactions", handlers: ["record"] },
    ],
    modules: [
      { id: "catalog", type: "CONTENT", schemas: products },
      { id: "sales", type: "TRANSACTIONS", schemas: [{ id: "order", access: own, fields }] },
    ],
  };
  let product: string | undefined;
  for (const [language, dir, ...command] of await orderServices()) {
    const child = spawn(command[0] ?? "", command.slice(1), {
      cwd: dir,
      env: { ...process.env, ...GO_ENV, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const exited = once(child, "exit");
    try {
      await new Promise<void>((resolve, reject) => {
        let said = "";
        for (const stream of [child.stdout, child.stderr]) {
          stream.on("data", (data: Buffer) => {
            said += data.toString();
            if (said.includes("ready: orders.place")) resolve();
          });
        }
        child.once("exit", () => reject(new Error(`${language}: ${said}`)));
      });
      if (product === undefined) {
        const made = await call(at, "POST", "/api/admin/orbs?publish=true", { token, body: document });
        expect(made.status, JSON.stringify(made.body)).toBe(201);
        const entry = { module: "catalog", values: { price: 49.5 } };
        const path = "/api/admin/orbs/market/entries?publish=true";
        product = (await call(at, "POST", path, { token, body: entry })).body.id;
      }
      const place = (body: object) => call(at, "POST", "/api/market/place", { token, body });
      const placed = await place({ product, count: 2 });
      expect([language, placed.status, placed.body.values]).toEqual([
        language,
        200,
        { product, count: 2, total: 99 },
      ]);
      expect(placed.body.through).toBe("orders.place");
      const unknown = await place({ product: "0unknown0", count: 1 });
      expect([language, unknown.status, unknown.body.code]).toEqual([language, 404, "entry_not_found"]);
    } finally {
      // `go run` does not forward signals to the program that it starts, so kill the whole process group.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
      await exited;
    }
  }
}

let python: Promise<string> | undefined;
let go: Promise<string> | undefined;

/** Installs the broker's client for Python, once for each test file. @returns the path of an interpreter that has it */
export function pythonClient(): Promise<string> {
  python ??= pythonEnvironment(tempDir("python"), ["nats-py"]).then((programs) => join(programs, "python"));
  return python;
}

/** Installs the broker's client for Go, once for each test file. @returns a module whose packages can import it */
export function goClient(): Promise<string> {
  go ??= (async () => {
    const dir = tempDir("go");
    await run("go", ["mod", "init", "client"], { cwd: dir });
    await run("go", ["get", "github.com/nats-io/nats.go"], { cwd: dir });
    return dir;
  })();
  return go;
}

/** Installs the example order services. Returns the language, folder and command of each service. */
async function orderServices(): Promise<string[][]> {
  const example = (name: string) => fileURLToPath(new URL(`../../scripts/examples/${name}`, import.meta.url));
  const services: string[][] = [["TypeScript", tempDir("orders-ts"), process.execPath, example("orders.ts")]];
  if (has("python3")) {
    services.push(["Python", tempDir("orders-python"), await pythonClient(), example("orders.py")]);
  }
  if (has("go")) {
    const dir = join(await goClient(), "orders");
    mkdirSync(dir);
    copyFileSync(example("orders.go"), join(dir, "main.go"));
    services.push(["Go", dir, "go", "run", "."]);
  }
  return services;
}
