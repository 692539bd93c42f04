/** Installs the npm package into an empty project, as a user does, and works with it. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { ALBUM, NAMED } from "../support/misnamed.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { compileWith } from "../support/typed-program.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const shop = readFileSync(join(root, "scripts/examples/shop.json"), "utf8");

const PROGRAM = `import { createClient } from "composable-platform/client";
import type { Orbs } from "./orbs.d.ts";

const { PLATFORM: url = "", ORB_TOKEN: token = "" } = process.env;
const shop = createClient<Orbs>({ url, token, locale: "en" }).orb("shop");
const made = await shop.catalog.category.create({ title: "Chairs", slug: "chairs" }, { publish: true });
const title: string = made.values.title;
console.log(title);
declare const process: { env: Record<string, string | undefined> };
`;

interface Ran {
  code: number;
  out: string;
  err: string;
}

let platform: TestPlatform;
let token: string;
let project: string;

/** Runs the installed command line in the project. */
function orb(
  args: readonly string[],
  env: Record<string, string> = {},
  to: readonly string[] = ["--url", platform.origin],
): Promise<Ran> {
  return new Promise((resolve) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    execFile(
      process.execPath,
      [join(project, "node_modules/composable-platform/dist/orb.js"), ...to, ...args],
      {
        cwd: project,
        env: { PATH, NODE_COMPILE_CACHE, XDG_CONFIG_HOME: join(project, "config"), ORB_TOKEN: token, ...env },
      },
      (error, out, err) => resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    );
  });
}

const fileOf = (id: string) => join(project, "orbs", `${id}.json`);
const edit = (id: string, change: (text: string) => string) =>
  writeFileSync(fileOf(id), change(readFileSync(fileOf(id), "utf8")));

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  for (const body of [JSON.parse(shop) as unknown, ALBUM])
    expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
  project = tempDir("project");
  mkdirSync(project, { recursive: true });
  execFileSync("npm", ["pack", "--pack-destination", project], { cwd: root, stdio: "pipe" });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const packed = join(project, `composable-platform-${version}.tgz`);
  writeFileSync(join(project, "package.json"), '{ "name": "project", "private": true, "type": "module" }');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", packed], {
    cwd: project,
    stdio: "pipe",
  });
});

test("contains the client and the command line without the platform, and cannot be published", () => {
  const folder = join(project, "node_modules/composable-platform");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const names = files.map((file) => relative(folder, join(file.parentPath, file.name))).sort();
  expect(names.filter((name) => !name.startsWith("dist/types/"))).toEqual([
    "LICENSE",
    "README.md",
    "dist/client.js",
    "dist/orb.js",
    "dist/preview.js",
    "package.json",
  ]);
  // npm refuses to publish a private package.
  const manifest = readFileSync(join(folder, "package.json"), "utf8");
  expect(JSON.parse(manifest)).toMatchObject({ private: true });
  expect(JSON.parse(manifest)).not.toHaveProperty("dependencies");
});

test("installs one package and the command orb", () => {
  const installed = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8")) as {
    packages: Record<string, unknown>;
  };
  expect(Object.keys(installed.packages)).toEqual(["", "node_modules/composable-platform"]);
  const help = execFileSync("npx", ["--offline", "orb", "--help"], { cwd: project }).toString();
  expect(help).toContain("orb push [orbs..]");
});

test("type-checks and runs a program with generated types", async () => {
  expect(await orb(["types"])).toMatchObject({
    code: 0,
    out: "Wrote the types of album, shop to orbs.d.ts\n",
  });
  const programs = { "program.ts": PROGRAM, "right.ts": NAMED.right, "wrong.ts": NAMED.wrong };
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(project, name), text);
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", ""];
  compileWith([...options, ...Object.keys(programs)], project);
  const out = execFileSync(process.execPath, ["program.ts"], {
    cwd: project,
    env: { ...process.env, PLATFORM: platform.origin, ORB_TOKEN: token },
  });
  expect(out.toString()).toBe("Chairs\n");
});

describe("schemas in files", () => {
  test("pulls an orb into a file that differs in nothing", async () => {
    expect((await orb(["pull", "shop"])).out).toMatch(/^shop revision 1 → orbs\/shop\.json\n$/);
    expect(await orb(["diff", "shop"])).toEqual({ code: 0, out: "shop: no differences\n", err: "" });
    const lines = readFileSync(fileOf("shop"), "utf8").split("\n");
    expect(lines[1]).toBe('  "id": "shop",');
    expect(lines.join()).not.toContain("createdAt");
  });

  test("shows a change with exit code 2, and pushes it as a draft", async () => {
    edit("shop", (text) =>
      text.replace('"id": "carrier"', '"id": "carrier", "description": "Parcel services"'),
    );
    const { code, out } = await orb(["diff", "shop"]);
    expect(code).toBe(2);
    expect(out).toContain("shop:\n");
    expect((await orb(["push", "shop"])).out).toMatch(/^shop: revision 2 \(draft;/);
    expect((await orb(["push", "shop", "--publish"])).out).toMatch(/^shop: revision \d \(published\)/);
    expect((await orb(["push", "shop", "--publish"])).out).toMatch(/^shop: no changes/);
  });

  test("shows renames, conversions, moves, and each entry that would lose a value", async () => {
    const schema = (fields: object[]) => ({
      id: "desk",
      modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
    });
    const own = (name: string, more: object = {}) => ({ name, type: "string", ...more });
    const before = schema([own("title"), own("rank"), own("metaTitle"), own("note")]);
    expect(
      (await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: before })).status,
    ).toBe(201);
    const values = { title: "a", rank: "first", metaTitle: "b", note: "c" };
    const { body: entry } = await call(platform, "POST", "/api/desk/m/s?publish=true", {
      token,
      body: { values },
    });
    const after = schema([
      own("headline", { was: "title" }),
      { ...own("rank"), type: "integer" },
      { name: "seo", type: "object", fields: [own("title")], from: { fields: { title: "metaTitle" } } },
      own("remark"),
    ]);
    await orb(["pull", "desk"]);
    edit("desk", () => JSON.stringify(after));
    const { code, out } = await orb(["diff", "desk"]);
    expect(code).toBe(2);
    const lines = out.split("\n").map((line) => line.trim());
    const place = (kind: string, message: string) => `${kind} m/s: ${message} (1 entries)`;
    expect(lines).toEqual(
      expect.arrayContaining([
        place("effect", "Field title becomes headline. It keeps its values."),
        place("effect", "Field metaTitle becomes seo.title. It keeps its values."),
        place(
          "refused",
          "Field rank: type changes from string to integer. Stored values are converted when they are read.",
        ),
        `${entry.id} cannot become integer: "first"`,
        expect.stringMatching(/^refused m\/s: Rename or remove\? Field note is removed, and remark/),
      ]),
    );
  });

  test("creates an orb from a new file, and prints JSON for programs", async () => {
    expect((await orb(["init", "blog"])).code).toBe(0);
    expect((await orb(["init", "blog"])).err).toBe(
      "orbs/blog.json exists already. Choose another id, or edit the file.\n",
    );
    expect((await orb(["init", "My Blog"])).err).toContain('begin with a letter (is "My Blog")');
    expect((await orb(["diff", "blog"])).out).toBe("blog: new orb\n");
    const pushed = await orb(["push", "blog", "--publish", "--json"]);
    expect(JSON.parse(pushed.out)).toEqual([{ orb: "blog", revision: 1, published: true, changed: true }]);
    expect((await fetch(`${platform.origin}/api/blog/pages`)).status).toBe(200);
  });

  test("names every fault of a document, and changes nothing", async () => {
    edit("blog", (text) => text.replace('"type": "string"', '"type": "strin"'));
    const { code, err } = await orb(["push", "blog"]);
    expect(code).toBe(1);
    expect(err).toContain("/modules/0/schemas/0/fields/0/type must be one of");
    expect((await orb(["pull", "blog"])).out).toContain("revision 1");
  });

  test("pushes each saved file with dev, and writes the types", async () => {
    const child = spawn(
      process.execPath,
      [
        join(project, "node_modules/composable-platform/dist/orb.js"),
        "dev",
        "--publish",
        "--url",
        platform.origin,
      ],
      { cwd: project, env: { PATH: process.env.PATH, ORB_TOKEN: token }, stdio: ["ignore", "pipe", "pipe"] },
    );
    try {
      const lines = createInterface({ input: child.stdout });
      const printed = lines[Symbol.asyncIterator]();
      const next = async (pattern: RegExp) => {
        for (let line = await printed.next(); line.done !== true; line = await printed.next())
          if (pattern.test(line.value)) return;
        throw new Error(`orb dev ended before it printed ${String(pattern)}`);
      };
      await next(/^shop: /);
      edit("blog", (text) => text.replace('"title"', '"heading"'));
      await next(/^blog: revision \d+ \(published\)$/);
    } finally {
      child.kill("SIGINT");
    }
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect(code).toBe(0);
    expect((await orb(["types"])).code).toBe(0);
    expect(readFileSync(join(project, "orbs.d.ts"), "utf8")).toContain("heading: {");
  });
});

describe("entries in files", () => {
  const write = (name: string, text: string) => writeFileSync(join(project, name), text);

  test("are imported once, although the command runs twice, and are exported as JSON Lines", async () => {
    const lines = [1, 2, 3].map((n) =>
      JSON.stringify({ values: { slug: `file-${n}`, title: { en: `File ${n}` } } }),
    );
    write("categories.ndjson", `${lines.join("\n")}\n`);
    const command = ["entries", "import", "shop", "catalog/category", "categories.ndjson", "--publish"];
    const first = await orb(command);
    expect(first).toMatchObject({ code: 0, out: "Created 3 entries, refused 0.\n" });
    expect((await orb(command)).code).toBe(0);
    const { out } = await orb(["entries", "export", "shop", "catalog/category"]);
    const exported = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { values: { slug: string } })
      .filter(({ values }) => values.slug.startsWith("file-"));
    expect(exported).toMatchObject([
      {
        module: "catalog",
        schema: "category",
        values: { slug: "file-1", title: { en: "File 1" }, position: 0 },
      },
      { values: { slug: "file-2" } },
      { values: { slug: "file-3" } },
    ]);
  });

  test("are imported from a table and exported as one", async () => {
    write(
      "products.csv",
      'sku,title.en,title.de,price.US,tags,available\nAB-2001,"Lamp, tall",Lampe,12.5,"[""light""]",false\nAB-2002,Table,,80,,\n',
    );
    const imported = await orb(["entries", "import", "shop", "catalog/product", "products.csv"]);
    expect(imported).toMatchObject({ code: 0, out: "Created 2 entries, refused 0.\n" });
    const { code, err } = await orb(["entries", "export", "shop", "catalog/product", "--out", "all.csv"]);
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining("Left out sensitive fields: supplierNote."),
    });
    const [head = "", ...rows] = readFileSync(join(project, "all.csv"), "utf8").trim().split("\n");
    expect(head).toMatch(/^title.en,title.de,body.en,body.de,sku,price.US,price.EU,/);
    expect(rows.find((row) => row.includes("AB-2001"))).toMatch(/^"Lamp, tall",Lampe,,,AB-2001,12.5,/);
  });

  test("name each refused entry, and the fault in a file", async () => {
    write(
      "faulty.ndjson",
      '{"values":{"slug":"ok-1","title":{"en":"Fine"}}}\n{"values":{"slug":"Not a slug"}}\n',
    );
    const refused = await orb(["entries", "import", "shop", "catalog/category", "faulty.ndjson"]);
    expect(refused).toMatchObject({
      code: 1,
      out: "Created 0 entries, refused 1. Nothing was written. Correct the file, and run the command again.\n",
    });
    expect(refused.err).toMatch(
      /^Entry 2: \/values\/title\/en is required; \/values\/slug .* \(validation_failed\)$/m,
    );
    write("faulty.csv", "sku,weight\nAB-3001,5\n");
    expect((await orb(["entries", "import", "shop", "catalog/product", "faulty.csv"])).err).toContain(
      "There is no field for the column weight. The fields are title,",
    );
    const missing = await orb(["entries", "import", "shop", "catalog/product", "missing.csv"]);
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Cannot read missing\.csv: .*\n$/),
    });
    expect((await orb(["entries", "export", "shop", "catalog/nothing"])).err).toContain(
      "The orb shop has no collection catalog/nothing. It has catalog/category,",
    );
  });
});

describe("changes of several entries", () => {
  const write = (name: string, text: string) => writeFileSync(join(project, name), text);
  const product = (sku: string, price: number) => ({
    create: "catalog/product",
    values: { sku, title: { en: `Chair ${sku}` }, price: { US: price } },
  });

  test("are written together from a file, or not at all", async () => {
    const items = [{ ...product("BA-1001", 10), publish: true }, product("BA-1002", 20)];
    write("items.ndjson", `${items.map((item) => JSON.stringify(item)).join("\n")}\n\n`);
    const { code, out } = await orb(["batch", "shop", "items.ndjson"]);
    const form =
      /^PUBLISHED catalog\/product\/(\w+) \(revision 1\)\nSAVED catalog\/product\/\w+ \(revision 1\)\n$/;
    expect([code, out]).toEqual([0, expect.stringMatching(form)]);
    const again = await orb(["batch", "shop", "items.ndjson"]);
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringMatching(/^ {2}\/do\/0\/values\/sku .*already/m),
    ]);
    const id = form.exec(out)?.[1] ?? "";
    const update = { update: `catalog/product/${id}`, values: { tags: ["wood"] }, publish: true };
    write("one.json", JSON.stringify({ do: [update, product("BA-1003", 1)] }, null, 2));
    const changed = JSON.parse((await orb(["batch", "shop", "one.json", "--json"])).out) as object[];
    expect(changed).toMatchObject([
      { id, revision: 2, status: "PUBLISHED" },
      { revision: 1, status: "SAVED" },
    ]);
    write("wrong.ndjson", `${JSON.stringify(items[0])}\n5\n`);
    expect(await orb(["batch", "shop", "wrong.ndjson"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("Line 2 of wrong.ndjson must be a JSON object"),
    });
    expect((await orb(["batch", "shop", "none.ndjson"])).err).toContain("Cannot read none.ndjson");
  });

  test("have all their comments shown, however many there are", async () => {
    const made = await call(platform, "POST", "/api/shop/changes", { token, body: { title: "Discussed" } });
    const comments = `/api/shop/changes/${made.body.id}/comments`;
    // A page has at most 200 of them.
    for (let at = 0; at <= 200; at++)
      expect((await call(platform, "POST", comments, { token, body: { text: `No. ${at}` } })).status).toBe(
        201,
      );
    const { out } = await orb(["change", "show", "shop", made.body.id]);
    expect(out.match(/^comment .*$/gm)).toHaveLength(201);
    expect(out).toMatch(/: No\. 200\n$/);
  });

  test("are proposed, compared, reviewed, published and taken back", async () => {
    const category = { token, body: { values: { title: { en: "Old lamps" }, slug: "set-lamps" } } };
    const lamp = await call(platform, "POST", "/api/shop/catalog/category?publish=true", category);
    const { id } = lamp.body;
    const opened = await orb(["change", "open", "shop", "Spring sale", "--description", "For April"]);
    const set = opened.out.trim();
    expect([opened.code, opened.err]).toEqual([0, expect.stringContaining(`?change=${set}`)]);
    const into = (method: string, path: string, values: object) =>
      call(platform, method, `/api/shop/catalog/category${path}?change=${set}`, { token, body: { values } });
    expect((await into("PATCH", `/${id}`, { title: { en: "New lamps" }, position: 7 })).status).toBe(200);
    const made = await into("POST", "", { title: { en: "Chairs" }, slug: "set-chairs" });
    expect(made.status).toBe(201);

    const shown = await orb(["change", "show", "shop", set]);
    expect(shown.out).toMatch(/^Spring sale \(\w+\)\nFor April\nOPEN, 2 entries\nopened /);
    const hash = /^content (\S+)$/m.exec(shown.out)?.[1] ?? "";
    const asJson = async (...words: string[]) => JSON.parse((await orb(["change", ...words, "--json"])).out);
    expect(await asJson("diff", "shop", set)).toMatchObject({ items: [{}, {}], hidden: 0, nextCursor: null });
    expect(await asJson("list", "shop", "--limit", "1")).toMatchObject({ items: [{ id: set }] });
    const { code, out } = await orb(["change", "diff", "shop", set]);
    expect([code, out.split("\n")]).toEqual([
      0,
      expect.arrayContaining([
        `change catalog/category/${id}`,
        "  title.en: [-Old-]{+New+} lamps",
        "  position: 0 → 7",
        `create catalog/category/${made.body.id}`,
      ]),
    ]);
    expect((await orb(["change", "diff", "shop", set, "--exit-code"])).code).toBe(1);
    await into("PATCH", `/${id}`, { position: 8 });
    expect((await orb(["change", "review", "shop", set])).out).toBe("IN_REVIEW, 2 entries\n");
    const other = await orb(["change", "approve", "shop", set, "--hash", hash]);
    expect([other.code, other.err]).toEqual([1, expect.stringContaining("(hash_mismatch)")]);
    expect((await orb(["change", "reject", "shop", set, "Too early"])).out).toBe("OPEN, 2 entries\n");
    expect((await orb(["change", "show", "shop", set])).out).toMatch(/^rejected \S+ by \w+: Too early$/m);
    expect((await orb(["change", "review", "shop", set])).code).toBe(0);
    const listed = await orb(["change", "list", "shop", "--state", "IN_REVIEW"]);
    expect(listed.out).toMatch(new RegExp(`^${set} {2}IN_REVIEW {2}\\d{4}-\\d\\d-\\d\\d {2}Spring sale\\n$`));
    expect((await orb(["change", "approve", "shop", set, "--comment", "Good"])).out).toContain("APPROVED");

    await call(platform, "PATCH", `/api/shop/catalog/category/${id}?publish=true`, {
      token,
      body: { values: { position: 3 } },
    });
    const conflict = await orb(["change", "diff", "shop", set]);
    expect([conflict.code, conflict.out]).toEqual([
      2,
      expect.stringContaining("  conflict position is now 3\n"),
    ]);
    const refused = await orb(["change", "publish", "shop", set]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("(change_conflict)")]);
    expect(
      (await orb(["change", "rebase", "shop", set, id, "--keep", "/values/position=mine"])).err,
    ).toContain("--keep takes a conflict and a side");
    expect((await orb(["change", "rebase", "shop", set, id])).err).toContain("(change_conflict)");
    const rebased = await orb(["change", "rebase", "shop", set, id, "--keep", "/values/position=change"]);
    expect([rebased.code, rebased.out]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^catalog/category/${id} \\(revision \\d+\\)\n$`)),
    ]);
    await orb(["change", "approve", "shop", set]);
    const published = await orb(["change", "publish", "shop", set]);
    expect([published.code, published.out]).toEqual([
      0,
      expect.stringContaining(`PUBLISHED catalog/category/${made.body.id} (revision 1)\n`),
    ]);
    const back = await orb(["change", "revert", "shop", set]);
    expect([back.code, back.err]).toEqual([
      0,
      expect.stringContaining(`orb change publish shop ${back.out}`),
    ]);
    const undone = JSON.parse(
      (await orb(["change", "show", "shop", back.out.trim(), "--json"])).out,
    ) as object;
    expect(undone).toMatchObject({ reverts: set, entries: 2, comments: [] });
    expect((await orb(["change", "close", "shop", back.out.trim()])).out).toBe(
      `Closed ${back.out.trim()}.\n`,
    );
    const planned = await orb(["change", "open", "shop", "Later"]);
    write(
      "in-set.json",
      JSON.stringify({ do: [{ update: `catalog/category/${id}`, add: { position: 1 } }] }),
    );
    expect((await orb(["batch", "shop", "in-set.json", "--change", planned.out.trim()])).out).toMatch(
      new RegExp(`^PUBLISHED catalog/category/${id} \\(revision \\d+\\)\\n$`),
    );
    const at = "2999-03-01T09:00:00+01:00";
    const about = ["--entry", `catalog/category/${id}`, "--field", "position"];
    expect((await orb(["change", "comment", "shop", planned.out.trim(), "Too far?", ...about])).code).toBe(0);
    expect((await orb(["change", "show", "shop", planned.out.trim()])).out).toContain(
      ` on catalog/category/${id} position: Too far?\n`,
    );
    const unseen = await orb(["change", "schedule", "shop", planned.out.trim(), at, "--hash", hash]);
    expect([unseen.code, unseen.err]).toEqual([1, expect.stringContaining("(hash_mismatch)")]);
    expect((await orb(["change", "schedule", "shop", planned.out.trim(), at])).out).toMatch(
      /^SCHEDULED, 1 entry\npublication at 2999-03-01T08:00:00(\.000)?Z by \w+\n$/,
    );
    expect((await orb(["change", "schedule", "shop", planned.out.trim(), "none"])).out).toBe(
      "OPEN, 1 entry\n",
    );
    expect((await orb(["change", "show", "shop", "none"])).err).toContain("(change_not_found)");
    expect((await orb(["change", "opne", "shop"])).err).not.toBe("");
  });
});

describe("tokens and the doctor", () => {
  const config = () => join(project, "config/orb");
  const fileFor = (url: string) => join(config(), `${encodeURIComponent(url)}.json`);
  /** Stores a token as `orb login` does. */
  function store(stored: object, mode = 0o600): void {
    mkdirSync(config(), { recursive: true });
    const url = platform.origin;
    const rest = { v: 1, url, id: "x", account: "Ann", expiresAt: "2100-01-01T00:00:00.000Z" };
    const path = fileFor(url);
    writeFileSync(path, JSON.stringify({ ...rest, savedAt: "2026-01-01T00:00:00.000Z", ...stored }));
    chmodSync(path, mode);
  }
  const without = { ORB_TOKEN: "" };
  const levels = ({ out }: Ran) =>
    (JSON.parse(out) as { findings: { about: string; level: string }[] }).findings.map(
      ({ about, level }) => `${about} ${level}`,
    );

  test("are created, listed and revoked, and only the text goes to the standard output", async () => {
    const made = await orb(["token", "create", "ci", "--scopes", "shop:read,publish *:read", "--days", "7"]);
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^orbtok_platform_\S+\n$/),
      err: expect.stringMatching(
        /^Created \w{20}: it may read and publish in shop and read in all orbs, until \d{4}-\d\d-\d\d\.\nStore the token now\. It is not shown again\.\n$/,
      ),
    });
    const list = JSON.parse((await orb(["token", "list", "--json"])).out) as { id: string; name: string }[];
    const id = list.find(({ name }) => name === "ci")?.id ?? "";
    expect((await orb(["token", "list"])).out).toContain(`${id}  ci: read and publish in shop and read`);
    const created = made.out.trim();
    expect((await orb(["types", "--out", "x.d.ts"], { ORB_TOKEN: created })).code).toBe(0);
    expect(await orb(["token", "revoke", id])).toMatchObject({ code: 0, err: `Revoked ${id}.\n` });
    expect(await orb(["pull"], { ORB_TOKEN: created })).toMatchObject({
      code: 1,
      err: expect.stringContaining("Set ORB_TOKEN to a token of an account that may do this."),
    });
    expect((await orb(["token", "create", "ci", "--scopes", "everything"])).err).toContain(
      "--scopes must name read, propose, write, publish, manage",
    );
    expect((await orb(["token", "create", "ci", "--days", "0"])).err).toContain(
      "--days must be a whole number",
    );
    expect((await orb(["token", "list"], without)).err).toContain(
      `You are not signed in. Run: orb login --url ${platform.origin}. In CI,`,
    );
  });

  test("belong to a service account if the caller names one", async () => {
    const body = { name: "Robot", service: true };
    const { id } = (await call(platform, "POST", "/api/_auth/admins", { token, body })).body;
    const made = await orb(["token", "create", "robot", "--never", "--account", id, "--json"]);
    const { token: text } = JSON.parse(made.out) as { token: string };
    const me = await call(platform, "GET", "/api/_auth/me", { token: text });
    expect(me.body).toMatchObject({ id, name: "Robot" });
    expect((await orb(["token", "list", "--account", id])).out).toMatch(/robot: read in all orbs, no end/);
  });

  test("publish from CI, created as the guide says", async () => {
    const guide = readFileSync(join(root, "docs/guides/schemas-in-git.md"), "utf8");
    const [, section = ""] = guide.split("## In CI\n");
    const blocks = [...(section.split("\n## ")[0] ?? "").matchAll(/```sh\n(.*?)```/gs)].map(
      ([, text]) => text ?? "",
    );
    const [login = "", account = "", create = "", ...others] = blocks;
    expect([login.startsWith("npx orb login"), others]).toEqual([true, []]);
    const shell = (script: string) =>
      execFileSync("bash", ["-euc", script.replaceAll("http://localhost:8787", platform.origin)], {
        cwd: project,
        env: { ...process.env, ORB_URL: platform.origin, ORB_TOKEN: token, npm_config_offline: "true" },
        stdio: ["ignore", "pipe", "pipe"],
      }).toString();
    const { id } = JSON.parse(shell(account)) as { id: string };
    const ci = shell(create.replace("ROBOT=…", `ROBOT=${id}`)).trim();
    const job = (...args: string[]) => orb(args, { ORB_TOKEN: ci, ORB_URL: platform.origin }, []);
    expect((await job("pull")).code).toBe(0);
    expect((await job("diff", "shop")).code).toBe(0);
    edit("shop", (text) => text.replace('"id": "catalog"', '"id": "catalog", "description": "From CI"'));
    expect(await job("diff", "shop")).toMatchObject({ code: 2, out: expect.stringContaining("From CI") });
    expect(await job("push", "shop", "--publish")).toMatchObject({
      code: 0,
      out: expect.stringContaining("published"),
    });
  });

  test("end with the token that creates them if the caller does not name a number of days", async () => {
    const { out } = await orb([
      "token",
      "create",
      "short",
      "--scopes",
      "read,manage",
      "--days",
      "2",
      "--json",
    ]);
    const own = JSON.parse(out) as { token: string; expiresAt: string };
    const made = await orb(["token", "create", "agent"], { ORB_TOKEN: own.token });
    expect(made).toMatchObject({ code: 0, err: expect.stringContaining("The new token ends with yours.") });
    expect(made.err).toContain(`until ${own.expiresAt.slice(0, 10)}.`);
  });

  test("are stored for each platform, and the last one is the default", async () => {
    const { out } = await orb(["token", "create", "stored", "--scopes", "read,manage", "--days", "2"]);
    store({ token: out.trim() });
    const pulled = await orb(["pull", "shop"], without, []);
    expect(pulled).toMatchObject({ code: 0, out: expect.stringContaining("shop revision") });
    const checked = await orb(["doctor", "--json"], without, []);
    expect(checked.code).toBe(0);
    // The token ends in two days.
    expect(levels(checked)).toEqual(
      expect.arrayContaining([
        "config ok",
        "address ok",
        "version ok",
        "clock ok",
        "token warn",
        "orbs ok",
        "streams ok",
      ]),
    );
    const people = await orb(["doctor"], without, []);
    expect(people.out).toMatch(
      /^WARN {2}token +"stored" of .* may read and manage in all orbs, until .* UTC\.\n +→ It ends soon\. Run: orb login$/m,
    );
    expect(people.out + checked.out).not.toContain(out.trim());
    expect((await orb(["logout"], without, [])).out).toContain(`You are signed out of ${platform.origin}.`);
    expect(existsSync(fileFor(platform.origin))).toBe(false);
    const { status } = await call(platform, "GET", "/api/_auth/me", { token: out.trim() });
    expect(status).toBe(401);
    expect((await orb(["logout"], without)).out).toBe(`You were not signed in to ${platform.origin}.\n`);
  });

  test("the doctor says what is wrong, with exit code 1", async () => {
    store({ token });
    edit("blog", (text) => `${text}!`);
    const broken = await orb(["doctor"], without);
    expect(broken).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^FAIL {2}orbs +orbs\/blog\.json is not JSON:/m),
    });
    edit("blog", (text) => text.slice(0, -1));
    store({ token }, 0o644);
    const open = await orb(["doctor"], without);
    expect(open.code).toBe(1);
    expect(open.out).toMatch(
      /^FAIL {2}config +Other users of this computer can read .*\n +→ Run: chmod 600 "/m,
    );
    store({ token: `${token}x` });
    const ended = await orb(["doctor", "--json"], without);
    expect([ended.code, levels(ended).at(-1)]).toEqual([1, "token fail"]);
    writeFileSync(fileFor(platform.origin), "{");
    expect(await orb(["pull"], without)).toMatchObject({
      code: 1,
      err: `${fileFor(platform.origin)} is damaged. Delete it, and run: orb login\n`,
    });
    rmSync(fileFor(platform.origin));
    const nothing = await orb(["doctor", "--url", "http://127.0.0.1:9", "--json"], without, []);
    expect([nothing.code, levels(nothing)]).toEqual([1, ["config fail", "address fail"]]);
  });
});

describe("other commands", () => {
  test("call a handler and print its response", async () => {
    const input = '{"module":"orders","values":{"total":5,"currency":"EUR","items":[1]}}';
    const { code, out, err } = await orb(["call", "shop", "transactions.record", input]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ values: { total: 5 } });
    expect((await orb(["call", "shop", "transactions.record", "{"])).err).toContain("The input must be JSON");
  });

  test("print the messages of a stream up to now", async () => {
    const body = { stream: "øblog", subjectFilter: "blog.*.public.>", description: "Published pages" };
    await call(platform, "PUT", "/api/admin/streams/blog-live", { token, body });
    const made = await call(platform, "POST", "/api/blog/pages?publish=true", {
      token,
      body: { values: { heading: "Hello" } },
    });
    expect(made.status).toBe(201);
    const { out, err } = await orb(["tail", "blog-live", "--offset", "-1", "--until-now"]);
    expect(JSON.parse(out.split("\n")[0] ?? "")).toMatchObject({ values: { heading: "Hello" } });
    expect(err).toMatch(/^Continue with: orb tail blog-live --offset \d{20}\n$/);
  });

  test("explain what to do when there is no access, or no platform", async () => {
    expect(await orb(["pull"], { ORB_TOKEN: "" })).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `Run: orb login --url ${platform.origin}. In CI, set ORB_TOKEN to a token of an account`,
      ),
    });
    expect(await orb(["pull"], {}, ["--url", "http://127.0.0.1:9"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("Cannot reach http://127.0.0.1:9"),
    });
    expect(await orb(["login"], {}, ["--url", "http://127.0.0.1:9"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Cannot reach http:\/\/127\.0\.0\.1:9\./),
    });
    expect((await orb(["pulll"])).err).toContain("Did you mean pull?");
  });
});
