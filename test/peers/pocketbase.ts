import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CATEGORIES, values } from "../../scripts/bench/seed.ts";
import {
  api,
  CATEGORY,
  columnsOf,
  createdAt,
  DEAR,
  LIST_SIZE,
  type Peer,
  type PeerDirectory,
  run,
  serve,
  start,
  TABLES,
} from "./setup.ts";

const VERSION = "0.40.4";
/** The version of Go that PocketBase needs. An older one downloads it. */
const GO = "1.27.0";
const USER = "bench@example.org";
const MAIN = `package main

import (
	"log"

	"github.com/pocketbase/pocketbase"
)

func main() {
	if err := pocketbase.New().Start(); err != nil {
		log.Fatal(err)
	}
}
`;
const FIELDS = [
  { name: "title", type: "text", required: true, max: 200 },
  { name: "body", type: "text" },
  { name: "price", type: "number", min: 0 },
  {
    name: "category",
    type: "select",
    maxSelect: 1,
    values: Array.from({ length: CATEGORIES }, (_, i) => `category-${i}`),
  },
  { name: "stock", type: "number", onlyInt: true },
  { name: "created", type: "autodate", onCreate: true },
  { name: "updated", type: "autodate", onCreate: true, onUpdate: true },
];

const RECORDS = "/api/collections/{table}/records";
const PAGE = `perPage=${LIST_SIZE}&skipTotal=1`;
const OF_CATEGORY = encodeURIComponent(`category='${CATEGORY}'`);

const program = (dir: string) => join(dir, `pocketbase-${VERSION}`);

async function signIn(url: string, users: string, password: string): Promise<string> {
  const path = `${url}/api/collections/${users}/auth-with-password`;
  return ((await api(path, { identity: USER, password })) as { token: string }).token;
}

async function build(dir: string): Promise<void> {
  if (existsSync(program(dir))) return;
  writeFileSync(join(dir, "main.go"), MAIN);
  const module = "github.com/pocketbase/pocketbase";
  writeFileSync(join(dir, "go.mod"), `module peer\n\ngo ${GO}\n\nrequire ${module} v${VERSION}\n`);
  const env = { GOTOOLCHAIN: `go${GO}`, CGO_ENABLED: "0" };
  await run(dir, "tidy", "go", ["mod", "tidy"], env);
  await run(dir, "build", "go", ["build", "-o", program(dir), "."], env);
}

/** Starts a PocketBase without content. Its token is that of a superuser, who signs in with `user` and `password`. */
export async function startEmpty(dir: string) {
  const at = { dir, data: join(dir, "empty-data"), secret: randomBytes(12).toString("hex") };
  rmSync(at.data, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  await build(dir);
  const binary = program(dir);
  await run(dir, "admin", binary, ["superuser", "upsert", USER, at.secret, `--dir=${at.data}`]);
  const running = await start(pocketbase, at, (port) =>
    serve(at, binary, ["serve", `--http=127.0.0.1:${port}`, `--dir=${at.data}`]),
  );
  const token = await signIn(running.url, "_superusers", at.secret);
  await api(`${running.url}/api/settings`, { logs: { maxDays: 0 } }, token, "PATCH");
  return {
    ...running,
    token,
    user: USER,
    password: at.secret,
    version: VERSION,
    async stop() {
      await running.stop();
      rmSync(at.data, { recursive: true, force: true });
    },
  };
}

const admin = (at: PeerDirectory) =>
  run(at.dir, "admin", program(at.dir), ["superuser", "upsert", USER, at.secret, `--dir=${at.data}`]);

/** Starts a PocketBase with a collection of files. Anyone can upload and download them. */
export async function startFiles(dir: string) {
  const running = await startEmpty(dir);
  const fields = [{ name: "content", type: "file", maxSelect: 1, maxSize: 2 ** 30 }];
  const rules = { listRule: "", viewRule: "", createRule: "" };
  await api(
    `${running.url}/api/collections`,
    { name: "papers", type: "base", fields, ...rules },
    running.token,
  );
  return running;
}

export const pocketbase: Peer = {
  name: "PocketBase",
  version: VERSION,
  durability: "SQLite WAL, synchronous=NORMAL: survives the process, not always a power cut",
  file: "data.db",
  ready: "/api/health",
  created: "created",

  install: build,

  async serve(at, port) {
    await admin(at);
    return serve(at, program(at.dir), ["serve", `--http=127.0.0.1:${port}`, `--dir=${at.data}`]);
  },

  async configure(at, url) {
    const token = await signIn(url, "_superusers", at.secret);
    await api(`${url}/api/settings`, { logs: { maxDays: 0 } }, token, "PATCH");
    for (const name of TABLES) {
      const rules = { listRule: "", viewRule: "", createRule: '@request.auth.id != ""' };
      await api(`${url}/api/collections`, { name, type: "base", fields: FIELDS, ...rules }, token);
    }
    const user = { email: USER, password: at.secret, passwordConfirm: at.secret };
    await api(`${url}/api/collections/users/records`, user, token);
  },

  token: (at, url) => signIn(url, "users", at.secret),

  key: (n) => createHash("sha256").update(String(n)).digest("hex").slice(0, 15),
  row(n) {
    const at = createdAt(n).toISOString().replace("T", " ");
    return { id: this.key(n), ...columnsOf(n), created: at, updated: at };
  },

  paths: {
    one: `${RECORDS}/{any}`,
    list: `${RECORDS}?${PAGE}`,
    counted: `${RECORDS}?perPage=${LIST_SIZE}`,
    dear: `${RECORDS}?${PAGE}&filter=${encodeURIComponent(`price>=${DEAR}`)}&sort=-price`,
    category: `${RECORDS}?${PAGE}&filter=${OF_CATEGORY}&sort=-created`,
    dearOfCategory: `${RECORDS}?${PAGE}&filter=${OF_CATEGORY}&sort=-price`,
    create: RECORDS,
  },
  body: values(1),
  authorization: (token) => token,
};
