/** What the command `orb entries import` makes of files that rows name: addresses, columns, and its progress. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { barText, Pace } from "../../scripts/cli/command/progress.ts";
import { FetchFault, fetchFile } from "../../scripts/cli/entries/files/fetch.ts";
import { type FileField, withFiles } from "../../scripts/cli/entries/files/named.ts";
import { tempDir } from "../support/broker.ts";

const server = createServer((request, response) => {
  const [, path = ""] = (request.url ?? "").split("/");
  if (path === "to") response.writeHead(302, { location: decodeURIComponent((request.url ?? "").slice(4)) });
  else if (path === "again") response.writeHead(302, { location: "/again" });
  else if (path === "gone") response.writeHead(404);
  else if (path === "zipped") response.writeHead(200, { "content-encoding": "gzip" });
  else if (path === "large") response.write("x".repeat(2000));
  else if (path === "cut") {
    response.writeHead(200, { "content-length": 10 });
    response.write("12345", () => response.destroy());
    return;
  }
  response.end(path === "cms" ? `${request.headers.authorization}` : path);
});
let origin = "";
let folder = "";

beforeAll(async () => {
  folder = tempDir("import-files");
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const fetched = (address: string, loopback = true, limit = 1000) =>
  fetchFile(address, join(folder, "file"), { loopback, limit, signal: AbortSignal.timeout(60_000) }).catch(
    (error: unknown) => (error instanceof FetchFault ? error.message : Promise.reject(error)),
  );

describe("addresses of files", () => {
  it("are downloaded, also after redirects", async () => {
    expect(await fetched(`${origin}/a%20b.txt`)).toMatchObject({ size: 9, name: "a b.txt" });
    expect(await fetched(`${origin}/to/${encodeURIComponent(`${origin}/c`)}`)).toMatchObject({ size: 1 });
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("c");
  });

  it("get the token of their system, and no address elsewhere does", async () => {
    const credentials = { url: `${origin}/cms`, headers: { authorization: "token" } };
    const read = async (address: string, given = credentials) => {
      const signal = AbortSignal.timeout(60_000);
      const options = { loopback: true, limit: 1000, signal, credentials: given };
      await fetchFile(address, join(folder, "file"), options);
      return readFileSync(join(folder, "file"), "utf8");
    };
    expect(await read(`${origin}/cms/a`)).toBe("token");
    const elsewhere = origin.replace("127.0.0.1", "localhost");
    expect(await read(`${elsewhere}/cms/a`)).toBe("undefined");
    const whole = { ...credentials, url: origin };
    expect(await read(`${origin}/to/${encodeURIComponent(`${elsewhere}/cms/a`)}`, whole)).toBe("undefined");
    expect(await read(`${origin}/cms/a`, { ...credentials, url: `${origin}/cm` })).toBe("undefined");
    expect(await read(`${origin}/x/../cms/a`, { ...credentials, url: `${origin}/x` })).toBe("undefined");
  });

  it("that lead to private addresses are refused, also by a redirect or a name", async () => {
    expect(await fetched(`${origin}/a`, false)).toContain("is not a public address");
    for (const address of [
      "http://10.0.0.1/",
      "http://[::1]/",
      "http://169.254.169.254/",
      "http://localhost:1/",
    ])
      expect(
        await fetched(`${origin}/to/${encodeURIComponent(address)}`, address.includes("localhost") === false),
      ).toMatch(address.includes("[::1]") ? /cannot be read|not a public/ : /is not a public address/);
    const resolve = (_: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
      done(null, [
        { address: "93.184.216.34", family: 4 },
        { address: "192.168.0.1", family: 4 },
      ]);
    const options = { loopback: false, limit: 1, signal: AbortSignal.timeout(60_000), resolve };
    const reading = fetchFile("http://files.example/", join(folder, "file"), options);
    await expect(reading).rejects.toThrow("leads to 192.168.0.1, which is not a public address");
  });

  it("are refused if the server sends something else than a file of a possible size", async () => {
    expect(await fetched(`${origin}/gone`)).toBe("answered with the status 404");
    expect(await fetched(`${origin}/again`)).toBe("redirects more than 5 times");
    expect(await fetched(`${origin}/to/file%3A%2F%2F%2Fetc%2Fpasswd`)).toContain("must be http or https");
    expect(await fetched(`${origin}/zipped`)).toBe("is encoded with gzip");
    expect(await fetched(`${origin}/large`)).toBe("has more than 0 MiB");
    expect(await fetched(`${origin.replace("//", "//user:password@")}/a`)).toContain("contains a password");
    expect(await fetched(`${origin}/cut`)).toContain("cannot be read");
  });
});

describe("files in rows", () => {
  const fields: FileField[] = [
    { name: "photo", type: "file" },
    { name: "photos", type: "file", list: true },
    { name: "each", type: "file", translatable: true, marketSpecific: true },
    { name: "title", type: "string" },
    { name: "card", type: "object", fields: [{ name: "icon", type: "file", translatable: true }] },
    { name: "cards", type: "object", list: true, fields: [{ name: "icon", type: "file" }] },
    {
      name: "body",
      type: "blocks",
      list: true,
      blocks: [{ component: "image", fields: [{ name: "src", type: "file" }] }],
    },
  ];

  it("are found in lists, places, objects and blocks", () => {
    const values = {
      photo: "a",
      photos: ["b", { file: "id" }],
      each: { US: { en: "c" } },
      title: "d",
      card: { icon: { en: "e" } },
      cards: [{ icon: "f" }, null],
      body: [
        { _type: "image", src: "g" },
        { _type: "other", src: "h" },
      ],
    };
    const found: string[] = [];
    const row = { line: 1, members: new Map([["values", JSON.stringify(values)]]) };
    const replaced = withFiles(row, fields, (named, column) => {
      found.push(`${column} ${named}`);
      return { file: named };
    });
    expect(found).toEqual([
      ...["photo a", "photos b", "each.US.en c", "card.icon.en e", "cards.icon f", "body.src g"],
    ]);
    expect(JSON.parse(replaced.members.get("values") ?? "")).toEqual({
      ...values,
      photo: { file: "a" },
      photos: [{ file: "b" }, { file: "id" }],
      each: { US: { en: { file: "c" } } },
      card: { icon: { en: { file: "e" } } },
      cards: [{ icon: { file: "f" } }, null],
      body: [{ _type: "image", src: { file: "g" } }, values.body[1]],
    });
    expect(withFiles({ line: 1, members: new Map() }, fields, () => 1).members.size).toBe(0);
  });
});

describe("progress", () => {
  it("shows the share, the pace of the last seconds, and the remaining time", () => {
    const pace = new Pace();
    pace.at(0, 0);
    expect(pace.perSecond).toBeUndefined();
    pace.at(9000, 1000);
    pace.at(9500, 11_000);
    pace.at(10_000, 12_000);
    expect(pace.perSecond).toBe(500);
    expect(barText(5000, 10_000, "entries", 500)).toBe(
      "██████████░░░░░░░░░░ 50% · 5,000 of 10,000 entries · 500/s · 10 s left",
    );
    expect(barText(1, 10_000, "files", 0.25)).toContain("· 0.3/s · 11 h 7 min left");
    expect(barText(0, 0, "files", undefined)).toContain("100% · 0 of 0 files");
  });
});
