import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CATEGORIES, values } from "../seed.ts";
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
  TABLES,
} from "./setup.ts";

const VERSION = "0.28.2";
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

const admin = (at: PeerDirectory) =>
  run(at.dir, "admin", program(at.dir), ["superuser", "upsert", USER, at.secret, `--dir=${at.data}`]);

export const pocketbase: Peer = {
  name: "PocketBase",
  version: VERSION,
  durability: "SQLite WAL, synchronous=NORMAL: survives the process, not always a power cut",
  file: "data.db",
  ready: "/api/health",
  created: "created",

  async install(dir) {
    if (existsSync(program(dir))) return;
    writeFileSync(join(dir, "main.go"), MAIN);
    const module = "github.com/pocketbase/pocketbase";
    writeFileSync(join(dir, "go.mod"), `module peer\n\ngo 1.23\n\nrequire ${module} v${VERSION}\n`);
    await run(dir, "tidy", "go", ["mod", "tidy"]);
    await run(dir, "build", "go", ["build", "-o", program(dir), "."], { CGO_ENABLED: "0" });
  },

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
