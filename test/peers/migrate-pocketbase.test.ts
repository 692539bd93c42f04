/** Moves a running PocketBase into an orb. Outside of `.ci/run`, because it builds PocketBase: `npm test -- test/peers`. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { type MigratedEntry, migratedEntries } from "../support/migrated.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { startEmpty } from "./pocketbase.ts";
import { api } from "./setup.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;
let peer: Awaited<ReturnType<typeof startEmpty>>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const POSTS = 250;
const records = new Map<string, string>();

beforeAll(async () => {
  peer = await startEmpty(join(root, ".data/peers/pocketbase"));
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: peer.token });
  await fill();
}, 900_000);

afterAll(() => peer?.stop());

async function collection(name: string, fields: object[], more: object = {}): Promise<string> {
  const dates = [
    { name: "created", type: "autodate", onCreate: true },
    { name: "updated", type: "autodate", onCreate: true, onUpdate: true },
  ];
  const body = { name, type: "base", fields: [...fields, ...dates], ...more };
  return ((await api(`${peer.url}/api/collections`, body, peer.token)) as { id: string }).id;
}

async function record(collection: string, values: object): Promise<string> {
  const path = `${peer.url}/api/collections/${collection}/records`;
  return ((await api(path, values, peer.token)) as { id: string }).id;
}

async function withFiles(collection: string, values: object, files: [string, string][]): Promise<string> {
  const form = new FormData();
  form.set("@jsonPayload", JSON.stringify(values));
  for (const [field, name] of files) form.append(field, new Blob([`content of ${name}`]), name);
  const response = await fetch(`${peer.url}/api/collections/${collection}/records`, {
    ...{ method: "POST", body: form, headers: { authorization: peer.token } },
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

async function fill(): Promise<void> {
  const authors = await collection("authors", [{ name: "name", type: "text", required: true }]);
  const posts = await collection(
    "posts",
    [
      { name: "title", type: "text", required: true },
      { name: "slug", type: "text" },
      { name: "body", type: "editor" },
      { name: "price", type: "number" },
      { name: "stock", type: "number", onlyInt: true },
      { name: "open", type: "bool" },
      { name: "mail", type: "email" },
      { name: "site", type: "url" },
      { name: "day", type: "date" },
      { name: "kind", type: "select", maxSelect: 1, values: ["a", "b"] },
      { name: "tags", type: "select", maxSelect: 3, values: ["x", "y", "z"] },
      { name: "author", type: "relation", maxSelect: 1, collectionId: authors },
      { name: "photo", type: "file", maxSelect: 1 },
      { name: "more", type: "file", maxSelect: 5 },
      { name: "hidden", type: "file", maxSelect: 1, protected: true },
      { name: "extra", type: "json" },
      { name: "place", type: "geoPoint" },
    ],
    { listRule: "", viewRule: "", indexes: ["CREATE UNIQUE INDEX `by_slug` ON `posts` (`slug`)"] },
  );
  const related = { name: "related", type: "relation", maxSelect: 9, collectionId: posts };
  const found = (await api(`${peer.url}/api/collections/posts`, undefined, peer.token)) as {
    fields: object[];
  };
  await api(`${peer.url}/api/collections/posts`, { fields: [...found.fields, related] }, peer.token, "PATCH");
  records.set("ann", await record("authors", { name: "Ann" }));
  const full = {
    ...{ title: "Full", slug: "full", body: "<p>Read <b>this</b></p><table><tr><td>c</td></tr></table>" },
    ...{ price: 12.5, stock: 3, open: true, mail: "ann@example.org", site: "https://example.org" },
    ...{ day: "2022-03-04 05:06:07.000Z", kind: "a", tags: ["x", "z"], author: records.get("ann") },
    ...{ extra: { a: [1, null] }, place: { lat: 52.5, lon: 13.4 } },
  };
  records.set(
    "full",
    await withFiles("posts", full, [
      ["photo", "photo.txt"],
      ["more", "one.txt"],
      ["more", "two.txt"],
      ["hidden", "hidden.txt"],
    ]),
  );
  for (let at = 1; at < POSTS; at++)
    records.set(
      `p${at}`,
      await record("posts", { title: `Post ${at}`, slug: `p${at}`, related: [records.get("full")] }),
    );
  const path = `${peer.url}/api/collections/posts/records/${records.get("full")}`;
  await api(path, { related: [records.get("p1"), records.get("full")] }, peer.token, "PATCH");
  const user = { email: "ben@example.org", password: "a long password", passwordConfirm: "a long password" };
  await record("users", { ...user, name: "Ben" });
  await api(
    `${peer.url}/api/collections`,
    { name: "titles", type: "view", viewQuery: "SELECT id, title FROM posts" },
    peer.token,
  );
}

const stored = (schema: string): Promise<Map<string, MigratedEntry>> =>
  migratedEntries(platform, token, "pocket", schema);

test("carries every type of field, dates, references in circles and files", async () => {
  const ran = await orb.run("migrate-from", "pocketbase", peer.url, "pocket", "--json");
  const { schemas, differences, losses } = JSON.parse(ran.out);
  expect(differences).toEqual([]);
  const counts = Object.fromEntries(
    schemas.map((one: { schema: string; stored: number }) => [one.schema, one.stored]),
  );
  expect(counts).toMatchObject({ authors: 1, posts: POSTS, users: 1 });
  const [posts, authors] = [await stored("posts"), await stored("authors")];
  const full = posts.get(records.get("full") ?? "");
  expect(full?.values).toMatchObject({
    ...{ title: "Full", slug: "full", price: 12.5, stock: 3, open: true, mail: "ann@example.org" },
    ...{ site: "https://example.org", day: "2022-03-04T05:06:07.000Z", kind: "a", tags: ["x", "z"] },
    ...{ author: authors.get(records.get("ann") ?? "")?.id, extra: { a: [1, null] } },
    ...{ place: { lat: 52.5, lon: 13.4 }, photo: { size: "content of photo.txt".length } },
    related: [posts.get(records.get("p1") ?? "")?.id, full?.id],
    body: [{ children: [{ text: "Read " }, { text: "this", marks: ["strong"] }] }, { _type: "html" }],
  });
  expect(full?.values.more).toHaveLength(2);
  const source = (await api(
    `${peer.url}/api/collections/posts/records/${records.get("full")}`,
    undefined,
    peer.token,
  )) as { created: string };
  expect(Date.parse(full?.createdAt ?? "")).toBe(Date.parse(source.created));
  // Everyone could read the posts.
  const live = await call(platform, "GET", `/api/pocket/content/posts/${full?.id}`);
  expect(live.status).toBe(200);
  const lines = losses.map(({ at, why }: { at: string; why: string }) => `${at}: ${why}`);
  expect(lines).toContain("collection titles: views are computed of other collections");
  expect(lines).toContain("collection users, field password: PocketBase does not show it");
  const hidden = `posts ${records.get("full")}, hidden: the file is protected. Turn this off while you migrate`;
  expect(lines).toContain(hidden);
}, 300_000);

test("changes nothing when it is run again, and refuses a wrong token", async () => {
  const before = await stored("posts");
  await orb.run("migrate-from", "pocketbase", peer.url, "pocket");
  expect(await stored("posts")).toEqual(before);
  const other = await orbCommand(platform.origin, token, { SOURCE_TOKEN: "wrong" });
  const refused = await other.run("migrate-from", "pocketbase", peer.url, "never");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("answered with the status 40")]);
}, 300_000);
