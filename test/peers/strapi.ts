/** Runs Strapi: a project with only two content types. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CATEGORIES, values } from "../../scripts/bench/seed.ts";
import {
  CATEGORY,
  columnsOf,
  createdAt,
  DEAR,
  installPackages,
  LIST_SIZE,
  type Peer,
  type PeerDirectory,
  serve,
  start,
  TABLES,
} from "./setup.ts";

export const VERSION = "5.54.0";

const PAGE = `/api/{table}?pagination[limit]=${LIST_SIZE}&pagination[withCount]=false`;

const TYPES: Record<(typeof TABLES)[number], { singular: string; plural: string }> = {
  products: { singular: "product", plural: "products" },
  indexed: { singular: "indexed-product", plural: "indexed" },
};

function contentType(table: (typeof TABLES)[number]): object {
  const { singular, plural } = TYPES[table];
  return {
    kind: "collectionType",
    collectionName: table,
    info: { singularName: singular, pluralName: plural, displayName: singular },
    options: { draftAndPublish: false },
    attributes: {
      title: { type: "string", required: true, maxLength: 200 },
      body: { type: "text" },
      price: { type: "float", required: true, min: 0 },
      category: {
        type: "enumeration",
        enum: Array.from({ length: CATEGORIES }, (_, i) => `category-${i}`),
      },
      stock: { type: "integer", default: 0 },
    },
  };
}

/** Returns a project's files, without those of its content types. */
function projectFiles(): Record<string, string> {
  const config = (value: string) => `module.exports = ({ env }) => (${value});\n`;
  return {
    "config/server.js": config(
      '{ host: "127.0.0.1", port: env.int("PORT"), app: { keys: [env("KEY")] }, logger: { updates: { enabled: false } } }',
    ),
    "config/admin.js": config(
      '{ auth: { secret: env("KEY") }, apiToken: { salt: env("KEY") }, transfer: { token: { salt: env("KEY") } }, secrets: { encryptionKey: env("KEY") }, serveAdminPanel: false, flags: { nps: false, promoteEE: false } }',
    ),
    "config/database.js": config(
      '{ connection: { client: "sqlite", connection: { filename: env("DATABASE") }, useNullAsDefault: true } }',
    ),
    // The middlewares of a new project, without the one that logs every request.
    "config/middlewares.js":
      'module.exports = ["errors", "security", "cors", "poweredBy", "query", "body", "session", "favicon", "public"].map((name) => `strapi::$' +
      "{name}`);\n",
    "config/logger.js": 'module.exports = { level: "error" };\n',
    "public/uploads/.keep": "",
    "server.js": `const { renameSync, writeFileSync } = require("node:fs");
const { createStrapi } = require("@strapi/strapi");
createStrapi({ appDir: __dirname, distDir: __dirname, autoReload: false, serveAdminPanel: false })
  .start()
  .then(async (strapi) => {
    const token = await strapi.service("admin::api-token").create({
      name: String(Date.now()), description: "", type: "full-access", lifespan: null,
    });
    writeFileSync(process.env.TOKEN_FILE + ".part", token.accessKey, { mode: 0o600 });
    renameSync(process.env.TOKEN_FILE + ".part", process.env.TOKEN_FILE);
  });
`,
  };
}

/** Returns the files of a content type. @param router further arguments of its routes */
function typeFiles(singular: string, schema: object, router = ""): Record<string, string> {
  const uid = `api::${singular}.${singular}`;
  const at = `src/api/${singular}`;
  const factory = (kind: string, more = "") =>
    `module.exports = require("@strapi/strapi").factories.${kind}("${uid}"${more});\n`;
  return {
    [`${at}/content-types/${singular}/schema.json`]: JSON.stringify(schema),
    [`${at}/controllers/${singular}.js`]: factory("createCoreController"),
    [`${at}/services/${singular}.js`]: factory("createCoreService"),
    [`${at}/routes/${singular}.js`]: factory("createCoreRouter", router),
  };
}

/** Makes reading public, like the checkboxes "find" and "findOne" of the public role. */
const OPEN = ", { config: { find: { auth: false }, findOne: { auth: false } } }";

/** Installs Strapi, and writes a project. */
async function install(
  dir: string,
  files: Readonly<Record<string, string>>,
  more: object = {},
): Promise<void> {
  const dependencies = {
    "@strapi/strapi": VERSION,
    ...more,
    "better-sqlite3": "13.2.0",
    react: "18.3.1",
    "react-dom": "18.3.1",
    "react-router-dom": "6.30.3",
    "styled-components": "6.3.12",
  };
  await installPackages(dir, { name: "peer", version: "1.0.0", dependencies }, []);
  rmSync(join(dir, "src"), { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

const PLUGINS =
  'module.exports = ({ env }) => ({ "users-permissions": { config: { jwtSecret: env("KEY") } } });\n';

export interface StrapiProject {
  /** Schemas of content types by their names in the singular. */
  types: Readonly<Record<string, object>>;
  /** Schemas of components by their categories and names, such as `shared.quote`. */
  components: Readonly<Record<string, object>>;
}

/** Installs Strapi, and starts it without content. Its token is one with full access. */
export async function startEmpty(dir: string, { types, components }: StrapiProject) {
  const at = { dir, data: join(dir, "data"), secret: randomBytes(24).toString("hex") };
  rmSync(at.data, { recursive: true, force: true });
  mkdirSync(at.data, { recursive: true });
  const parts = Object.entries(components).map(([uid, schema]) => [
    `src/components/${uid.replace(".", "/")}.json`,
    JSON.stringify(schema),
  ]);
  await install(
    dir,
    Object.assign(
      projectFiles(),
      { "config/plugins.js": PLUGINS },
      Object.fromEntries(parts),
      ...Object.entries(types).map(([singular, schema]) => typeFiles(singular, schema)),
    ),
    { "@strapi/plugin-users-permissions": VERSION },
  );
  const running = await start(strapi, at, (port) => serveStrapi(at, port));
  return { ...running, token: await tokenOf(at) };
}

async function serveStrapi(at: PeerDirectory, port: number) {
  rmSync(join(at.data, "token"), { force: true });
  return serve(at, process.execPath, ["server.js"], {
    PORT: String(port),
    KEY: at.secret,
    DATABASE: join(at.data, "data.db"),
    TOKEN_FILE: join(at.data, "token"),
    STRAPI_TELEMETRY_DISABLED: "true",
  });
}

async function tokenOf(at: PeerDirectory): Promise<string> {
  const path = join(at.data, "token");
  // Strapi creates the token only after it has begun to listen, so try again for a while.
  for (const deadline = Date.now() + 10_000; !existsSync(path) && Date.now() < deadline; ) await delay(50);
  return readFileSync(path, "utf8");
}

export const strapi: Peer = {
  name: "Strapi",
  version: VERSION,
  durability: "SQLite rollback journal, synchronous=FULL: survives a power cut",
  file: "data.db",
  ready: "/_health",
  created: "created_at",

  install: (dir) =>
    install(
      dir,
      Object.assign(
        projectFiles(),
        ...TABLES.map((table) => typeFiles(TYPES[table].singular, contentType(table), OPEN)),
      ),
    ),

  serve: serveStrapi,

  // Strapi creates its tables from the project's files when it starts.
  configure: async () => undefined,

  token: tokenOf,

  key: (n) => createHash("sha256").update(String(n)).digest("hex").slice(0, 24),
  row(n) {
    const at = createdAt(n).getTime();
    return { document_id: this.key(n), ...columnsOf(n), created_at: at, updated_at: at, published_at: at };
  },

  paths: {
    one: "/api/{table}/{any}",
    list: PAGE,
    counted: PAGE.replace("=false", "=true"),
    dear: `${PAGE}&filters[price][$gte]=${DEAR}&sort=price:desc`,
    category: `${PAGE}&filters[category][$eq]=${CATEGORY}&sort=createdAt:desc`,
    dearOfCategory: `${PAGE}&filters[category][$eq]=${CATEGORY}&sort=price:desc`,
    create: "/api/{table}",
  },
  body: { data: values(1) },
  authorization: (token) => `Bearer ${token}`,
};
