/** Installs, fills and starts other products for comparison, and keeps the results for the next run. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { values } from "../../scripts/bench/seed.ts";
import { Failure } from "../../scripts/process/failure.ts";
import { freePort } from "../../scripts/process/ports.ts";

/** Names of two tables with the same content. Only the second has the indexes that a user would add by hand. */
export const TABLES = ["products", "indexed"] as const;

/** The requests that the benchmark sends to one of the compared products. Paths contain `{table}` for the table's name. */
export interface Requests {
  paths: {
    one: string;
    list: string;
    counted: string;
    /** Path that lists the most expensive rows with a price of at least {@link DEAR}. */
    dear: string;
    category: string;
    dearOfCategory: string;
    create: string;
    publish?: string;
  };
  body: object;
  authorization(token: string): string;
}

export const LIST_SIZE = 50;
/** A price that a tenth of all rows reach. */
export const DEAR = 9_000;
export const CATEGORY = "category-7";

/** A product that can run on this machine and uses one SQLite file as its database. */
export interface Peer extends Requests {
  name: string;
  version: string;
  /** For the report: SQLite's journal settings, and whether a new row survives a power cut. */
  durability: string;
  /** @throws Failure if the product cannot be installed here */
  install(dir: string): Promise<void>;
  serve(at: PeerDirectory, port: number): Promise<ChildProcess>;
  /** A path that responds with 2xx without a token. */
  ready: string;
  token(at: PeerDirectory, url: string): Promise<string>;
  configure(at: PeerDirectory, url: string): Promise<void>;
  file: string;
  row(n: number): Record<string, string | number | null>;
  key(n: number): string;
  created: string;
}

export interface PeerDirectory {
  dir: string;
  data: string;
  secret: string;
}

export interface Running {
  peer: Peer;
  url: string;
  pid: number | undefined;
  keys: string[];
  token: string;
  stop(): Promise<void>;
}

/**
 * Runs a program and writes its output to a log file.
 * @throws Failure that contains the end of the output
 */
export async function run(
  dir: string,
  name: string,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  const log = join(dir, `${name}.log`);
  const out = openSync(log, "w");
  const child = spawn(command, args, {
    cwd: dir,
    env: { ...process.env, ...env },
    stdio: ["ignore", out, out],
  });
  const code = await new Promise<string>((resolve, reject) => {
    child.once("exit", (status, signal) => resolve(String(status ?? signal)));
    child.once("error", () => reject(new Failure(`there is no ${command} on this machine`)));
  });
  if (code === "0") return;
  const said = readFileSync(log, "utf8").trim().split("\n").at(-1) ?? "";
  throw new Failure(
    `${command} ${args.join(" ")} failed (${code}: ${said.slice(0, 200)}); all of it is in ${log}`,
  );
}

/** Installs npm packages. Runs only the install scripts that the product needs. */
export async function installPackages(
  dir: string,
  manifest: object,
  build: readonly string[],
): Promise<void> {
  const text = JSON.stringify({ private: true, ...manifest }, null, 2);
  const done = join(dir, "installed.json");
  if (existsSync(done) && readFileSync(done, "utf8") === text) return;
  writeFileSync(join(dir, "package.json"), text);
  await run(dir, "install", "npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
  // The pinned Node package contains headers, so node-gyp downloads nothing.
  const node = dirname(dirname(process.execPath));
  const headers = join(node, "node_modules", `node-${process.platform}-${process.arch}`);
  const env = existsSync(join(headers, "include")) ? { npm_config_nodedir: headers } : {};
  if (build.length > 0) await run(dir, "build", "npm", ["rebuild", ...build], env);
  writeFileSync(done, text);
}

export function serve(
  { dir }: PeerDirectory,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ChildProcess {
  const out = openSync(join(dir, "serve.log"), "w");
  return spawn(command, args, {
    cwd: dir,
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", out, out],
  });
}

/** @throws Failure for a response other than 2xx */
export async function api(url: string, body?: unknown, token?: string, method?: string): Promise<unknown> {
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Failure(`${url}: status ${answer.status}, ${text.slice(0, 300)}`);
  return text === "" ? null : JSON.parse(text);
}

export async function start(
  peer: Peer,
  at: PeerDirectory,
  serve = (port: number): ChildProcess | Promise<ChildProcess> => peer.serve(at, port),
): Promise<{ url: string; pid: number | undefined; stop(): Promise<void> }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = await serve(port);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(late);
  };
  for (const deadline = Date.now() + 120_000; ; await delay(200)) {
    const ok = await fetch(url + peer.ready).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return { url, pid: child.pid, stop };
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      await stop();
      throw new Failure(`it did not start; what it said is in ${join(at.dir, "serve.log")}`);
    }
  }
}

/** Inserts rows directly into the database, with the same content as if the API had created them. */
function fill(peer: Peer, at: PeerDirectory, count: number): void {
  const db = new DatabaseSync(join(at.data, peer.file));
  const names = Object.keys(peer.row(0));
  for (const table of TABLES) {
    const insert = db.prepare(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    db.exec("BEGIN");
    for (let n = 0; n < count; n++) insert.run(...Object.values(peer.row(n)));
    db.exec("COMMIT");
  }
  for (const columns of ["price", `category, ${peer.created}`, "category, price"]) {
    db.exec(`CREATE INDEX by_hand_${columns.replace(", ", "_")} ON indexed (${columns})`);
  }
  db.close();
}

export function columnsOf(n: number): Record<string, string | number> {
  return values(n) as Record<string, string | number>;
}

/** Creation time of a row: one per second, all in the past. */
export function createdAt(n: number): Date {
  return new Date(Date.UTC(2025, 0, 1) + n * 1000);
}

/**
 * Starts a product with a copy of its filled database.
 * @throws Failure if the product cannot be installed
 */
export async function startPeer(root: string, peer: Peer, count: number): Promise<Running> {
  const dir = join(root, peer.name.toLowerCase());
  const data = join(dir, "data");
  const filled = join(dir, `filled-${peer.version}-${count}`);
  mkdirSync(dir, { recursive: true });
  const secretPath = join(dir, "secret");
  if (!existsSync(secretPath)) writeFileSync(secretPath, randomBytes(24).toString("hex"), { mode: 0o600 });
  const at: PeerDirectory = { dir, data, secret: readFileSync(secretPath, "utf8") };
  await peer.install(dir);
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data);
  if (!existsSync(filled)) {
    console.error(`  ${peer.name}: tables and ${count} rows …`);
    const first = await start(peer, at);
    try {
      await peer.configure(at, first.url);
    } finally {
      await first.stop();
    }
    fill(peer, at, count);
    renameSync(data, filled);
  }
  cpSync(filled, data, { recursive: true });
  const server = await start(peer, at);
  const token = await peer.token(at, server.url);
  return {
    peer,
    ...server,
    keys: Array.from({ length: count }, (_, n) => peer.key(n)),
    token,
  };
}
