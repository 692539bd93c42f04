/** Imports files with the command `orb entries import`, as a process, and looks at what is stored. */
import { beforeAll, expect, test } from "vitest";
import { AT_ONCE } from "../../scripts/cli/entries/upload.ts";
import { adminToken, call } from "../support/auth.ts";
import { type OrbCommand, orbCommand, type Ran } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { type Random, testRandom } from "../support/random.ts";
import { startRelay } from "../support/relay.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;

const DOCUMENT = (id: string) => ({
  id,
  languages: ["en", "de"],
  markets: ["US", "EU"],
  modules: [
    {
      id: "stock",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          fields: [
            { name: "name", type: "string", max: 200 },
            { name: "qty", type: "integer" },
            { name: "price", type: "number" },
            { name: "ok", type: "boolean", default: true },
            { name: "code", type: "string", unique: true },
            { name: "extra", type: "json" },
            { name: "title", type: "string", translatable: true },
            { name: "secret", type: "string", sensitive: true },
          ],
        },
      ],
    },
  ],
});

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token);
});

const start = (args: readonly string[]) => orb.start(args);
const run = (...args: string[]) => orb.run(...args);

let orbs = 0;
async function newOrb(): Promise<string> {
  const id = `stock${++orbs}`;
  const body = DOCUMENT(id);
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
  return id;
}

const file = (name: string, content: string | Uint8Array) => orb.file(name, content);

type Values = Record<string, unknown>;

/** Returns the values of all entries in the order of their creation. */
async function stored(orb: string): Promise<Values[]> {
  const all: Values[] = [];
  let cursor = "";
  do {
    const path = `/api/admin/orbs/${orb}/entries?module=stock&schema=item&limit=200${cursor}`;
    const { body } = await call(platform, "GET", path, { token });
    all.push(...body.items.map(({ values }: { values: Values }) => values));
    cursor = body.nextCursor === null ? "" : `&cursor=${encodeURIComponent(body.nextCursor)}`;
  } while (cursor !== "");
  return all;
}

const importing = (orb: string, path: string, ...more: string[]) =>
  run("entries", "import", orb, "stock/item", path, ...more);

const names = async (orb: string) => (await stored(orb)).map(({ name }) => name);

test("stores nothing of a file with a bad cell, names it, and stores the corrected file in its order", async () => {
  const orb = await newOrb();
  const rows = Array.from({ length: 1_200 }, (_, at) => `Item ${at},${at % 7}`);
  const text = (some: readonly string[]) => `name,qty\r\n${some.join("\r\n")}\r\n`;
  const path = file("bad.csv", text(rows.with(998, "Item 998,many")));
  const first = await importing(orb, path);
  expect(first).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^Created 0 entries, refused 1\. Nothing was sent\./),
    err: expect.stringContaining("Entry 1000: qty must be a number such as -1234.5"),
  });
  expect(await stored(orb)).toEqual([]);
  // A fault that only the platform finds.
  file("bad.csv", text(rows.with(998, `${"x".repeat(300)},1`)));
  const second = await importing(orb, path);
  expect(second.out).toMatch(/^Created 0 entries, refused 1\. Nothing was written\./);
  expect(second.err).toContain("Entry 1000: /values/name must be at most 200");
  expect(await stored(orb)).toEqual([]);
  file("bad.csv", text(rows));
  expect(await importing(orb, path)).toMatchObject({ code: 0, out: "Created 1200 entries, refused 0.\n" });
  expect(await names(orb)).toEqual(rows.map((_, at) => `Item ${at}`));
}, 120_000);

test("finds two rows with one unique value before it writes any", async () => {
  const orb = await newOrb();
  const path = file("unique.csv", "name,code\na,1\nb,2\nc,1\n");
  const { code, err } = await importing(orb, path);
  expect([code, err]).toEqual([1, expect.stringContaining("Entry 4: /values/code is already used")]);
  expect(await stored(orb)).toEqual([]);
});

test("ends with exactly the rows of the file, in order, however often it is killed", async () => {
  const orb = await newOrb();
  // Some rows are equal on purpose.
  const rows = Array.from({ length: 500 }, (_, at) => (at % 10 === 0 ? "same" : `Row ${at}`));
  const path = file("killed.csv", `name\n${rows.join("\n")}\n`);
  const random = testRandom();
  let last: Ran | undefined;
  for (let attempt = 0; attempt < 4 && last?.code !== 0; attempt++) {
    const { child, ended } = start(["entries", "import", orb, "stock/item", path]);
    const timer = setTimeout(() => child.kill("SIGKILL"), 300 + random.below(400) + attempt * 100);
    last = await ended;
    clearTimeout(timer);
    const now = await names(orb);
    // Whatever is stored is the beginning of the file.
    expect(now).toEqual(rows.slice(0, now.length));
  }
  if (last?.code !== 0) last = await importing(orb, path);
  expect(last.code).toBe(0);
  expect(await names(orb)).toEqual(rows);
  // Another run adds nothing, and says so.
  const again = await importing(orb, path);
  expect(again.out).toMatch(/^Created 0 entries, refused 0\.\n500 of the 500 rows were stored already/);
  expect(await importing(orb, file("other.csv", "name\nsame\n"))).toMatchObject({
    out: "Created 1 entries, refused 0.\n",
  });
  expect((await importing(orb, path, "--run", "2")).out).toBe("Created 500 entries, refused 0.\n");
}, 240_000);

/** Changes a file as people correct it: some rows change, some go, some come, and some move. */
function corrected(rows: readonly string[], random: Random, from: number): string[] {
  const next = [...rows];
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = from + random.below(Math.max(1, next.length - from));
    const kind = random.below(4);
    // Codes stay unique: a row without one gets none.
    if (kind === 0) next[at] = `corrected ${next[at]}`;
    else if (kind === 1) next.splice(at, 1 + random.below(3));
    else if (kind === 2) next.splice(at, 0, `New ${random.below(1e6)},n${random.below(1e9)}`);
    else [next[at], next[at + 1]] = [next[at + 1] ?? "", next[at] ?? ""];
  }
  return next.filter((row) => row !== "");
}

/**
 * Imports a file, and kills the command after this many results, at the latest when it ends the import. The rows of an
 * import that has ended stay, whatever the file holds later.
 * @param after number of results; below 0, the command is killed when it begins to send rows
 * @returns its exit status; null after it was killed
 */
async function killedImport(id: string, path: string, after: number): Promise<number | null> {
  const kill = () => void command.child.kill("SIGKILL");
  let results = 0;
  await using relay = await startRelay(platform.origin, {
    takes: ({ url = "" }) => {
      const ends = url.includes("end=true");
      if (ends || (after < 0 && url.includes("/bulk"))) kill();
      return ends;
    },
    answers: ({ url = "" }, part) => {
      if (!url.includes("/bulk")) return;
      results += part.toString("latin1").split("\n").length - 1;
      if (results > after) kill();
    },
  });
  const through = await orbCommand(relay.origin, token);
  const command = through.start(["entries", "import", id, "stock/item", path]);
  return (await command.ended).code;
}

test("ends with exactly the rows of a file that is corrected after each kill", async () => {
  const id = await newOrb();
  const random = testRandom();
  let rows = Array.from({ length: 300 }, (_, at) => (at % 10 === 0 ? "same," : `Row ${at},code ${at}`));
  const path = file("corrected.csv", "");
  const write = () => file("corrected.csv", `name,code\n${rows.join("\n")}\n`);
  const pairs = async () => (await stored(id)).map(({ name, code }) => `${name},${code ?? ""}`);
  for (let attempt = 0; attempt < 4; attempt++) {
    write();
    const after = random.below(350) - 50;
    // While the platform still writes lines of the command that was killed before, their codes are taken.
    await expect.poll(() => killedImport(id, path, after)).toBeNull();
    rows = corrected(rows, random, 0);
  }
  write();
  // The platform may still write lines of the command that was killed last.
  await expect.poll(async () => (await importing(id, path)).code).toBe(0);
  expect(await pairs()).toEqual(rows);
  // A file that grows after it was imported adds its new rows, and takes nothing back.
  rows.push("Last,last");
  write();
  expect((await importing(id, path)).out).toMatch(/^Created 1 entries, refused 0\.\n/);
  expect(await pairs()).toEqual(rows);
});

test("sends a row again that the platform cannot check or write at the moment", async () => {
  const id = await newOrb();
  let delayed = 0;
  // Answers the first two uploads as a platform whose hook or storage is busy.
  await using busy = await startRelay(platform.origin, {
    takes: (request, response) => {
      if (request.url?.includes("/bulk") !== true || delayed++ >= 2) return false;
      const line = { line: 1, status: 503, code: "handler_unavailable", detail: "The handler is busy." };
      const end = {
        done: false,
        total: 1,
        created: 0,
        failed: 1,
        status: 422,
        code: "line_refused",
        detail: "Stopped.",
      };
      // The whole upload arrives before the answer.
      request.resume().once("end", () => {
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.end(`${JSON.stringify(line)}\n${JSON.stringify(end)}\n`);
      });
      return true;
    },
  });
  const through = await orbCommand(busy.origin, token);
  const path = through.file("busy.csv", "name\na\nb\n");
  const ran = await through.run("entries", "import", id, "stock/item", path);
  expect([ran.code, ran.out, ran.err]).toEqual([0, "Created 2 entries, refused 0.\n", ""]);
  // The last request ends the upload.
  expect(delayed).toBe(4);
  expect(await names(id)).toEqual(["a", "b"]);
});

test("imports more than the platform takes in one request, after it checked all of it", async () => {
  const rows = Array.from({ length: 24 }, (_, at) =>
    JSON.stringify({ values: { name: `Item ${at}`, title: { en: `T ${at}` }, extra: "x".repeat(100_000) } }),
  );
  expect(rows.join().length).toBeGreaterThan(AT_ONCE.characters);
  const id = await newOrb();
  const path = file("many.ndjson", `${rows.join("\n")}\n{"values":{"qty":"many"}}\n`);
  expect((await importing(id, path)).out).toMatch(/^Created 0 entries, refused 1\. Nothing was written\./);
  file("many.ndjson", `${rows.join("\n")}\n`);
  expect((await importing(id, path)).out).toBe("Created 24 entries, refused 0.\n");
});

test("imports a file again by a unique field: the entries end with exactly its rows", async () => {
  const orb = await newOrb();
  const head = "code,name,qty,ok,title.en,title.de,extra";
  const matched = (...rows: string[]) =>
    importing(orb, file("again.csv", [head, ...rows, ""].join("\n")), "--match", "code", "--publish");
  const first = await matched('a,One,1,,One,Eins,"{""x"":1}"', "b,Two,2,false,Two,,");
  expect([first.code, first.out]).toEqual([
    0,
    "Created 2 entries, changed 0, left 0 as they are, refused 0.\n",
  ]);
  const before = await stored(orb);
  const again = await matched('a,One,1,,One,Eins,"{""x"":1}"', "b,Two,2,false,Two,,");
  expect(again.out).toBe("Created 0 entries, changed 0, left 2 as they are, refused 0.\n");
  expect(await stored(orb)).toEqual(before);
  // An empty cell removes the value. A field with a default keeps it.
  const corrected = await matched("a,,,,One,,", "c,Three,3,,,Drei,", "b,Two,2,false,Two,,", "a,Uno,,,One,,");
  expect(corrected.out).toBe("Created 1 entries, changed 2, left 1 as they are, refused 0.\n");
  const empty = (values: Values) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => {
        const held =
          typeof value === "object" && value !== null
            ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null))
            : value;
        return held === null || (typeof held === "object" && Object.keys(held).length === 0)
          ? []
          : [[name, held]];
      }),
    );
  expect((await stored(orb)).map(empty)).toEqual([
    { code: "a", name: "Uno", ok: true, title: { en: "One" } },
    { code: "b", name: "Two", qty: 2, ok: false, title: { en: "Two" } },
    { code: "c", name: "Three", qty: 3, ok: true, title: { de: "Drei" } },
  ]);
  // An export that is imported again changes nothing.
  const path = file("out.csv", "");
  expect((await run("entries", "export", orb, "stock/item", "--out", path)).code).toBe(0);
  const back = await run("entries", "import", orb, "stock/item", path, "--match", "code", "--publish");
  expect(back.out).toBe("Created 0 entries, changed 0, left 3 as they are, refused 0.\n");
}, 120_000);

test("goes on with an import by a unique field after a kill, and writes no entry twice", async () => {
  const orb = await newOrb();
  const rows = Array.from({ length: 800 }, (_, at) => `K${at},Item ${at},${at}`);
  const path = file("killed.csv", `code,name,qty\n${rows.join("\n")}\n`);
  const args = ["entries", "import", orb, "stock/item", path, "--match", "code"];
  const { child, ended } = start(args);
  const first = `/api/${orb}/stock/item/by/code/K100?revision=latest`;
  await expect.poll(async () => (await call(platform, "GET", first, { token })).status).toBe(200);
  child.kill("SIGKILL");
  await ended;
  expect((await run(...args)).code).toBe(0);
  expect(await names(orb)).toEqual(rows.map((_, at) => `Item ${at}`));
  expect((await run(...args)).out).toBe("Created 0 entries, changed 0, left 800 as they are, refused 0.\n");
});

test("refuses options that cannot be combined, and fields that identify no entry", async () => {
  const orb = await newOrb();
  const path = file("options.csv", "code,name\na,One\n");
  expect((await importing(orb, path, "--on", "skip")).err).toContain("--on needs --match");
  expect((await importing(orb, path, "--match", "code", "--run", "2")).err).toContain("--run has no meaning");
  const unknown = await importing(orb, path, "--match", "name");
  expect([unknown.code, unknown.err]).toEqual([
    1,
    expect.stringContaining('Entries cannot be addressed by "name". Use a unique field: code.'),
  ]);
  expect(await stored(orb)).toEqual([]);
});

test("imports a table whose rows refer to each other by a unique value", async () => {
  const id = await newOrb();
  const fields = [
    { name: "number", type: "integer", unique: true },
    { name: "name", type: "string" },
    { name: "boss", type: "reference", ref: `${id}/staff/person` },
  ];
  const body = { id, modules: [{ id: "staff", type: "CONTENT", schemas: [{ id: "person", fields }] }] };
  const changed = await call(platform, "PUT", `/api/admin/orbs/${id}?publish=true`, { token, body });
  expect([changed.status, changed.body.errors]).toEqual([200, undefined]);
  const path = file("staff.csv", "number,name,boss.number\n1,Ann,2\n2,Ben,3\n3,Cem,\n4,Dan,1\n5,Eva,5\n");
  const args = ["entries", "import", id, "staff/person", path, "--match", "number", "--publish"];
  expect(await run(...args)).toMatchObject({
    code: 0,
    out: "Created 5 entries, changed 0, left 0 as they are, refused 0.\n",
  });
  const { items } = (await call(platform, "GET", `/api/${id}/staff/person?sort=number&expand=boss`)).body;
  const bosses = items.map(
    ({ expand }: { expand: { boss: { values: Values } | null } }) => expand.boss?.values.name,
  );
  expect(bosses).toEqual(["Ben", "Cem", undefined, "Ann", "Eva"]);
  file("staff.csv", 'number,name,boss\n1,Ann,"{""number"":3}"\n2,Ben,\n');
  expect((await run(...args)).out).toBe("Created 0 entries, changed 2, left 0 as they are, refused 0.\n");
  file("staff.csv", "number,boss.number\n1,9\n");
  expect((await run(...args)).err).toContain("Entry 2: /values/boss must be a value that an entry has");
});
