import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { values } from "../../scripts/bench/seed.ts";
import {
  api,
  CATEGORY,
  columnsOf,
  createdAt,
  DEAR,
  installPackages,
  LIST_SIZE,
  type Peer,
  type PeerDirectory,
  run,
  serve,
  start,
  TABLES,
} from "./setup.ts";

/** The version that the benchmark compares, and the one that the test of migrations starts. */
const VERSION = "11.17.4";
export const MIGRATED = "12.4.0";
const USER = "bench@example.org";
/** Directus's built-in policy for public access. */
export const PUBLIC_POLICY = "abf8a154-5b1c-4a46-ac9c-7300570f4f17";
const FIELDS = [
  { field: "id", type: "integer", schema: { is_primary_key: true, has_auto_increment: true } },
  { field: "title", type: "string", schema: { is_nullable: false, max_length: 200 } },
  { field: "body", type: "text" },
  { field: "price", type: "float", schema: { is_nullable: false } },
  { field: "category", type: "string" },
  { field: "stock", type: "integer", schema: { default_value: 0 } },
  { field: "created", type: "timestamp", meta: { special: ["date-created"] } },
  { field: "updated", type: "timestamp", meta: { special: ["date-updated"] } },
];

const PAGE = `/items/{table}?limit=${LIST_SIZE}`;

const cli = (dir: string) => join(dir, "node_modules", "directus", "cli.js");

const settings = (at: PeerDirectory, port: number): Record<string, string> => ({
  NODE_ENV: "production",
  HOST: "127.0.0.1",
  PORT: String(port),
  DB_CLIENT: "sqlite3",
  DB_FILENAME: join(at.data, "data.db"),
  SECRET: at.secret,
  ADMIN_EMAIL: USER,
  ADMIN_PASSWORD: at.secret,
  ADMIN_TOKEN: at.secret,
  STORAGE_LOCAL_ROOT: join(at.data, "uploads"),
  EXTENSIONS_PATH: join(at.data, "extensions"),
  LOG_LEVEL: "error",
  TELEMETRY: "false",
  SERVE_APP: "false",
  // Turn off the pressure limiter, because it would reject requests under the load that the benchmark needs.
  PRESSURE_LIMITER_ENABLED: "false",
});

const install = (dir: string, version: string) =>
  installPackages(
    dir,
    // Directus's version of isolated-vm does not compile for Node 24. Only flows and extensions use it.
    { dependencies: { directus: version }, overrides: { "isolated-vm": "6.0.2" } },
    ["isolated-vm", "sqlite3"],
  );

async function serveDirectus(at: PeerDirectory, port: number, more: Record<string, string> = {}) {
  const env = { ...settings(at, port), ...more };
  await run(at.dir, "bootstrap", process.execPath, [cli(at.dir), "bootstrap"], env);
  return serve(at, process.execPath, [cli(at.dir), "start"], env);
}

/**
 * Installs Directus, and starts it without collections. Its token is that of the administrator, and also the password of
 * `user`.
 * @param more settings, such as `SERVE_APP` for its interface in the browser
 */
export async function startEmpty(dir: string, more: Record<string, string> = {}) {
  const at = { dir, data: join(dir, "data"), secret: randomBytes(24).toString("hex") };
  rmSync(at.data, { recursive: true, force: true });
  mkdirSync(at.data, { recursive: true });
  await install(dir, MIGRATED);
  const running = await start(directus, at, (port) => serveDirectus(at, port, more));
  return { ...running, token: at.secret, user: USER };
}

export const directus: Peer = {
  name: "Directus",
  version: VERSION,
  durability: "SQLite rollback journal, synchronous=FULL: survives a power cut",
  file: "data.db",
  ready: "/server/ping",
  created: "created",

  install: (dir) => install(dir, VERSION),

  serve: (at, port) => serveDirectus(at, port),

  async configure(at, url) {
    for (const collection of TABLES) {
      await api(`${url}/collections`, { collection, schema: {}, meta: {}, fields: FIELDS }, at.secret);
      const permission = {
        policy: PUBLIC_POLICY,
        collection,
        action: "read",
        fields: ["*"],
        permissions: {},
      };
      await api(`${url}/permissions`, permission, at.secret);
    }
  },

  token: async (at) => at.secret,

  key: (n) => String(n + 1),
  row(n) {
    const at = createdAt(n).getTime();
    return { id: n + 1, ...columnsOf(n), created: at, updated: at };
  },

  paths: {
    one: "/items/{table}/{any}",
    list: PAGE,
    counted: `${PAGE}&meta=filter_count`,
    dear: `${PAGE}&filter[price][_gte]=${DEAR}&sort=-price`,
    category: `${PAGE}&filter[category][_eq]=${CATEGORY}&sort=-created`,
    dearOfCategory: `${PAGE}&filter[category][_eq]=${CATEGORY}&sort=-price`,
    create: "/items/{table}",
  },
  body: values(1),
  authorization: (token) => `Bearer ${token}`,
};
