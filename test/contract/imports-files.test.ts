/** Imports rows that name files by their paths and addresses with the command `orb`. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;
let photos = "";
let requests = 0;

const ORB = "import-gallery";
const document = {
  id: ORB,
  modules: [
    {
      id: "art",
      type: "CONTENT",
      schemas: ["work", "few", "many"].map((id) => ({
        id,
        fields: [
          { name: "title", type: "string", unique: true },
          { name: "photo", type: "file", accept: ["text/*"] },
          { name: "more", type: "file", list: true },
        ],
      })),
    },
  ],
};

const server = createServer((_, response) => {
  requests++;
  response.end("from the web");
});
afterAll(() => server.close());

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token);
  photos = join(orb.folder, "photos");
  mkdirSync(photos);
  for (const name of ["a", "b", "same"]) writeFileSync(join(photos, `${name}.txt`), name === "b" ? "b" : "a");
  writeFileSync(join(photos, "large.txt"), "large ".repeat(1_500_000));
  writeFileSync(join(photos, "page.html"), "<!doctype html><p>page");
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status).toBe(201);
});

const importing = (schema: string, path: string, ...more: string[]) =>
  orb.run("entries", "import", ORB, `art/${schema}`, path, ...more);

interface Stored {
  values: {
    title: string;
    photo?: { file: string; sha256: string; name: string };
    more?: { file: string }[];
  };
  revision: number;
}

async function stored(schema: string): Promise<Stored[]> {
  const all: Stored[] = [];
  for (let cursor = ""; ; ) {
    const path = `/api/admin/orbs/${ORB}/entries?module=art&schema=${schema}&limit=200${cursor}`;
    const { body } = await call(platform, "GET", path, { token });
    all.push(...body.items);
    if (body.nextCursor === null) return all;
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
}

test("uploads each content once, and changes nothing the second time", async () => {
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/web.txt`;
  const rows = `title,photo,more\nA,a.txt,\nB,./b.txt,"[""a.txt"",""${address}""]"\nC,same.txt,\nD,large.txt,\n`;
  const path = orb.file("works.csv", rows);
  const args = ["--files", photos, "--match", "title", "--local-files"];
  const first = await importing("work", path, ...args);
  expect([first.code, first.out]).toEqual([0, expect.stringContaining("Created 4 entries")]);
  const entries = await stored("work");
  const [a, b, c, d] = entries.map(({ values }) => values);
  expect(a?.photo?.name).toBe("a.txt");
  expect(c?.photo?.file).toBe(a?.photo?.file);
  expect(b?.more?.[0]?.file).toBe(a?.photo?.file);
  const web = await call(platform, "GET", `/api/${ORB}/files/${b?.more?.[1]?.file}`, { token });
  expect(web.status).toBe(200);
  expect(d?.photo?.name).toBe("large.txt");
  const again = await importing("work", path, ...args);
  expect(again.out).toContain("changed 0, left 4 as they are");
  expect((await stored("work")).map(({ values }) => values)).toEqual(entries.map(({ values }) => values));
  expect(requests).toBe(1);
});

test("names row, column and remedy of files that it cannot upload, and writes no row", async () => {
  writeFileSync(join(orb.folder, "secret.txt"), "secret");
  symlinkSync(join(orb.folder, "secret.txt"), join(photos, "link.txt"));
  const path = orb.file("few.csv", "title,photo\nA,a.txt\nB,missing.txt\nC,../secret.txt\nD,link.txt\n");
  const { code, err, out } = await importing("few", path, "--files", photos);
  expect([code, out]).toEqual([
    1,
    expect.stringContaining("Created 0 entries, refused 3. No row was written."),
  ]);
  expect(err).toContain(`Entry 3: photo names "missing.txt", which is not in ${photos}. Add the file`);
  expect(err).toContain('Entry 4: photo names "../secret.txt", which is not in');
  expect(err).toContain('Entry 5: photo names "link.txt", which is not in');
  const without = await importing("few", path);
  expect(without.err).toContain("is a path. Add --files with the folder");
  const local = orb.file("local.csv", "title,photo\nA,http://127.0.0.1:1/a\n");
  expect((await importing("few", local)).err).toContain("is not a public address");
  const html = orb.file("html.csv", "title,photo\nA,a.txt\nB,page.html\n");
  rmSync(join(photos, "link.txt"));
  expect(await importing("few", html, "--files", photos)).toMatchObject({ code: 0 });
  expect((await stored("few")).map(({ values }) => values.title)).toEqual(["A", "B"]);
});

test("gives a file that more than 100 rows name enough copies", async () => {
  const rows = Array.from({ length: 230 }, (_, at) => `Row ${at},${at % 2 === 0 ? "a" : "same"}.txt`);
  const path = orb.file("many.csv", `title,photo\n${rows.join("\n")}\n`);
  const first = await importing("many", path, "--files", photos);
  expect(first).toMatchObject({ code: 0, out: "Created 230 entries, refused 0.\n" });
  const photosOf = (await stored("many")).map(({ values }) => values.photo);
  expect(new Set(photosOf.map((photo) => photo?.sha256)).size).toBe(1);
  expect(new Set(photosOf.map((photo) => photo?.file)).size).toBe(3);
  const again = await importing("many", path, "--files", photos);
  expect(again.out).toContain("230 of the 230 rows were stored already");
});

test("goes on after it was killed at any moment, and ends with exactly the rows", async () => {
  const rows = Array.from({ length: 60 }, (_, at) => {
    writeFileSync(join(photos, `n${at}.txt`), `file ${at}`.repeat(1000));
    return `Killed ${at},n${at}.txt`;
  });
  const path = orb.file("killed.csv", `title,photo\n${rows.join("\n")}\n`);
  const args = ["entries", "import", ORB, "art/work", path, "--files", photos, "--match", "title"];
  let code: number | null = null;
  for (let attempt = 0; attempt < 4 && code !== 0; attempt++) {
    const { child, ended } = orb.start(args);
    const timer = setTimeout(() => child.kill("SIGKILL"), 400 + attempt * 500);
    ({ code } = await ended);
    clearTimeout(timer);
  }
  expect(await orb.run(...args)).toMatchObject({ code: 0 });
  const killed = (await stored("work")).filter(({ values }) => values.title.startsWith("Killed"));
  expect(killed.map(({ values }) => `${values.title},${values.photo?.name}`)).toEqual(rows);
  expect(killed.every(({ revision }) => revision === 1)).toBe(true);
});
