import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";

const COUNT = 2000;
const PORTS = fileURLToPath(new URL("../../scripts/process/ports.ts", import.meta.url));

/** Runs in a separate process, which prints the ports that it gets. */
const OTHER = `
  const { freePort } = await import(${JSON.stringify(PORTS)});
  const ports = [];
  while (ports.length < ${COUNT}) ports.push(await freePort());
  console.log(JSON.stringify(ports));
  process.exit();
`;

test("no two processes get the same free port, though nothing listens on it yet", async () => {
  const ports = new Set<number>();
  for (let i = 0; i < COUNT; i++) ports.add(await freePort());
  expect(ports.size).toBe(COUNT);
  const output = execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", OTHER]);
  const others = JSON.parse(output.toString("utf8")) as number[];
  expect(others.filter((port) => ports.has(port))).toEqual([]);
});
