/** No role gets a right in an orb that it lacks in the other system. Recorded answers, with other rights. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Source } from "../../scripts/cli/migrate/model/source.ts";
import { nameOf } from "../../scripts/cli/migrate/rows.ts";
import { openDirectus } from "../../scripts/cli/migrate/systems/directus/directus.ts";
import { openPayload } from "../../scripts/cli/migrate/systems/payload/payload.ts";
import { openStrapi } from "../../scripts/cli/migrate/systems/strapi/strapi.ts";
import { type RecordedAnswer, serveRecorded } from "../support/recorded.ts";

type Item = Record<string, unknown>;

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

/** Opens a recorded system. @param change changes the data of an answer, by the beginning of its path */
async function opened(
  system: "directus" | "strapi",
  change: Readonly<Record<string, (answer: Item) => void>>,
): Promise<Source> {
  const alter = (answers: Record<string, RecordedAnswer>) => {
    for (const [path, answer] of Object.entries(answers))
      for (const [start, act] of Object.entries(change))
        if (path.startsWith(start) && "json" in answer) act(Object(answer.json));
  };
  const served = await serveRecorded(`migrate-${system}`, "secret", alter);
  ended.push(() => served.stop());
  const options = { source: served.url, env: { SOURCE_TOKEN: "secret" } };
  return await (system === "directus" ? openDirectus(options) : openStrapi(options));
}

const accessOf = ({ document }: Source, schema: string) =>
  document.schemas.find(({ id }) => id === schema)?.access;
const toldOf = ({ losses }: Source) => losses.map(({ at, why, became }) => `${at}: ${why}: ${became}`);

const permissions = (change: (items: Item[]) => Item[]) => ({
  "/permissions": (answer: Item) => {
    answer.data = change(Object(answer.data));
  },
});
const all = ["create", "update", "publish", "delete"];

test.each([
  ["ip_access", ["10.0.0.0/8"], "it counts only at some network addresses"],
  ["enforce_tfa", true, "it asks for a second factor"],
])("Directus: a policy with %s is told, and gives no right", async (name, value, why) => {
  const limit = (answer: Item) => {
    for (const one of Object(answer.data)) if (one.admin_access !== true) one[name] = value;
  };
  const source = await opened("directus", { "/policies": limit });
  for (const schema of ["posts", "authors", "tags"])
    expect(accessOf(source, schema)).toEqual({ read: "admin" });
  expect(toldOf(source)).toContain(`policy Writing: ${why}: left out`);
  expect(toldOf(source)).toContain(
    `collection posts, update for Writers: its policy is left out: ${why}: Writers may not`,
  );
});

test("Directus: a role whose policy for everything has a limit is no role of administrators", async () => {
  const limit = (answer: Item) => {
    for (const one of Object(answer.data)) if (one.admin_access === true) one.ip_access = ["10.0.0.1"];
  };
  const source = await opened("directus", { "/policies": limit });
  expect(toldOf(source).join()).not.toContain("the role admin: invite");
  expect(toldOf(source)).toContain(
    "policy Administrator: it counts only at some network addresses: left out",
  );
});

test("Directus: rights to entries take rights to their translations", async () => {
  const part = "posts_translations";
  const none = await opened(
    "directus",
    permissions((items) => items.filter((one) => one.collection !== part)),
  );
  expect(accessOf(none, "posts")).toEqual({ read: "admin" });
  expect(toldOf(none).filter((line) => line.includes(part)).length).toBe(all.length + 1);
  // Everyone reads what is published, in the collection and in its translations.
  const filtered = (translated: Item) =>
    opened(
      "directus",
      permissions((items) =>
        items.map((one) => {
          if (Number(one.id) === 1) return { ...one, permissions: { status: { _eq: "published" } } };
          return one.action === "read" && one.collection === part && Number(one.id) < 13
            ? { ...one, permissions: translated }
            : one;
        }),
      ),
    );
  expect(accessOf(await filtered({ posts_id: { status: { _eq: "published" } } }), "posts")?.read).toBe(
    "public",
  );
  expect(accessOf(await filtered({ languages_code: { _eq: "en-US" } }), "posts")?.read).toEqual(["writers"]);
});

test("Directus: shares and presets are told", async () => {
  const source = await opened(
    "directus",
    permissions((items) => {
      const [first, ...rest] = items;
      return [...rest, { ...first, presets: { kind: "a" } }, { ...first, action: "share" }];
    }),
  );
  expect(toldOf(source)).toEqual(
    expect.arrayContaining([
      "collection posts, presets of read for everyone: an orb has no defaults for single roles: left out",
      "collection posts, share for everyone: an orb has no such right: left out",
    ]),
  );
});

/** Changes what a role of Strapi may do. Their ids: 1 Authenticated, 2 Public, 3 Editors. */
const strapiRights = (id: number, uid: string, enabled: readonly string[]) => ({
  [`/api/users-permissions/roles/${id}`]: ({ role }: Item) => {
    const [api = "", name = ""] = uid.split(".");
    const states = enabled.map((action) => [action, { enabled: true }]);
    Object(role).permissions[api] = { controllers: { [name]: Object.fromEntries(states) } };
  },
});

test("Strapi: what Authenticated may do becomes a right of all accounts only if all roles have it", async () => {
  const may = ["find", "findOne", "create", "update"];
  const source = await opened("strapi", {
    ...strapiRights(1, "api::author.author", may),
    ...strapiRights(3, "api::author.author", ["find", "findOne", "create"]),
  });
  expect(accessOf(source, "author")).toEqual({ read: "user", create: ["user"] });
  expect(toldOf(source)).toContain(
    "content type api::author.author, update for Authenticated: roles of an orb have the rights of all accounts, and Editors may not: accounts without a role may not",
  );
  const alone = await opened("strapi", {
    ...strapiRights(1, "api::author.author", may),
    "/api/users-permissions/roles": (answer: Item) => {
      if (Array.isArray(answer.roles)) answer.roles = answer.roles.filter(({ id }) => id !== 3);
    },
  });
  expect(accessOf(alone, "author")).toEqual({
    ...{ read: "user", create: ["user"], update: ["user"], publish: ["user"] },
  });
});

test("Strapi: half a right to read, and rights without a counterpart, are told", async () => {
  const source = await opened("strapi", strapiRights(3, "api::author.author", ["find", "update", "archive"]));
  expect(accessOf(source, "author")).toEqual({ read: "admin" });
  const told = toldOf(source);
  expect(told).toContain(
    "content type api::author.author, read for Editors: Strapi allows only find: Editors may not",
  );
  expect(told.some((line) => line.startsWith("content type api::author.author, update for Editors"))).toBe(
    true,
  );
  expect(told).toContain(
    "role Editors, other rights: there is no counterpart of api::author.author.archive: left out",
  );
});

/** Writes the recorded export of Payload with another configuration and other files. */
async function payload(change: (lines: Item[]) => void): Promise<Source> {
  const folder = mkdtempSync(join(tmpdir(), "payload-"));
  ended.push(() => rmSync(folder, { recursive: true }));
  const fixture = new URL("../fixtures/migrate-payload.jsonl", import.meta.url);
  const lines = readFileSync(fixture, "utf8")
    .trim()
    .split("\n")
    .map((line) => Object(JSON.parse(line)));
  change(lines);
  writeFileSync(join(folder, "payload.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
  for (const name of [".env", "package.json"]) writeFileSync(join(folder, name), "secret");
  return await openPayload({ source: join(folder, "payload.jsonl"), env: {} });
}

test("Payload: a file has no path on this computer but in the folder that the command is given", async () => {
  const source = await payload((lines) => {
    const media = lines.filter((line) => line.collection === "media").map(({ doc }) => Object(doc));
    Object.assign(media[0], { filename: "package.json", url: "https://files.example/package.json" });
    Object.assign(media[1], { filename: ".env", url: ".env" });
  });
  expect(source.folder).toBeUndefined();
  const files: (string | undefined)[] = [];
  for await (const { values } of source.entries("media"))
    files.push(nameOf(Object(values.file), source.folder));
  expect(files).toEqual(["https://files.example/package.json", undefined]);
});

test("hidden files are none, also in the folder that the command is given", () => {
  expect(nameOf({ path: ".env", address: undefined }, ".")).toBeUndefined();
  expect(nameOf({ path: "../package.json", address: undefined }, ".")).toBeUndefined();
  expect(nameOf({ path: "package.json", address: "https://a.example/b" }, ".")).toBe("package.json");
});

test("Payload: fields whose access is code are for admins, and the trash and API keys are told", async () => {
  const source = await payload(([config]) => {
    for (const one of Object(config).collections) {
      one.trash = one.slug === "posts";
      for (const field of one.fields)
        if (one.slug === "posts" && field.name === "code") field.access = { read: "code" };
    }
  });
  const fields = source.document.schemas.find(({ id }) => id === "posts")?.fields;
  expect(fields?.find(({ name }) => name === "code")?.access).toEqual({ read: ["admin"] });
  const told = toldOf(source);
  expect(told).toContain("collection posts, field code: code says who may read it: a field that admins read");
  expect(told).toContain("collection posts, its trash: the export does not have it: left out");
  expect(told).toContain("collection users, API keys: they are secrets of Payload: left out");
});
