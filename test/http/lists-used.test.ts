/** The parameter `used`: entries to which others refer, and those to which none does. */
import { beforeAll, expect, test } from "vitest";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";

const { platform, as } = await fileAdmin();
const ORB = "usedlists";
const entries = `/api/admin/orbs/${ORB}/entries`;
const authors = `${entries}?module=lib&schema=author`;
/** Ids of the authors by their names. */
const ids = new Map<string, string>();
let book: string;

const made = async (schema: string, values: object, publish = false) => {
  const answer = await as("POST", `${entries}${publish ? "?publish=true" : ""}`, {
    module: "lib",
    schema,
    values,
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.id as string;
};
const named = async (query: string) => {
  const found: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const answer = await as("GET", `${authors}&${query}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    found.push(...answer.body.items.map(({ values }: { values: { name: string } }) => values.name));
    cursor = answer.body.nextCursor;
  }
  return found.sort();
};

beforeAll(async () => {
  const name = { name: "name", type: "string" };
  const author = `${ORB}/lib/author`;
  const answer = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules: [
      {
        id: "lib",
        type: "CONTENT",
        schemas: [
          { id: "author", fields: [name, { name: "teacher", type: "reference", ref: author }] },
          {
            id: "book",
            fields: [
              { name: "author", type: "reference", ref: author },
              {
                name: "parts",
                type: "object",
                list: true,
                fields: [{ name: "by", type: "reference", ref: author }],
              },
            ],
          },
        ],
      },
    ],
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  for (const each of ["Ada", "Ben", "Cleo", "Dora", "Eve"])
    ids.set(each, await made("author", { name: each }, true));
  book = await made("book", { author: ids.get("Ada"), parts: [{ by: ids.get("Ben") }] }, false);
  // An entry that refers to itself is not used by another one.
  const eve = ids.get("Eve") ?? "";
  expect((await as("PATCH", `${entries}/${eve}`, { values: { teacher: eve } })).status).toBe(200);
});

test("finds what is used, also inside objects and by drafts, and what is used nowhere", async () => {
  expect(await named("used=true")).toEqual(["Ada", "Ben"]);
  expect(await named("used=false")).toEqual(["Cleo", "Dora", "Eve"]);
});

test("works with filters, orders, pages and totals", async () => {
  expect(await named("used=false&limit=1")).toEqual(["Cleo", "Dora", "Eve"]);
  expect(await named("used=false&limit=1&sort=-name")).toEqual(["Cleo", "Dora", "Eve"]);
  expect(await named("used=false&filter[name][in]=Ada,Cleo")).toEqual(["Cleo"]);
  expect((await as("GET", `${authors}&used=false&count=true&limit=1`)).body.total).toBe(3);
});

test("follows a change: a removed reference, a live revision that still has it, and a deleted referrer", async () => {
  const other = await made("book", { author: ids.get("Cleo") }, true);
  expect(await named("used=false")).toEqual(["Dora", "Eve"]);
  // The draft has no author any more, and readers still see the one of the live revision.
  expect((await as("PATCH", `${entries}/${other}`, { values: { author: null } })).status).toBe(200);
  expect(await named("used=false")).toEqual(["Dora", "Eve"]);
  expect((await as("POST", `${entries}/${other}/publish`)).status).toBe(200);
  expect(await named("used=false")).toEqual(["Cleo", "Dora", "Eve"]);
  expect((await as("DELETE", `${entries}/${book}`)).status).toBe(204);
  expect(await named("used=false")).toEqual(["Ada", "Ben", "Cleo", "Dora", "Eve"]);
});

test("is refused where it has no meaning", async () => {
  for (const query of ["used=maybe", "used=false&at=2020-01-01T00:00:00Z", "used=false&change=x"]) {
    const answer = await as("GET", `${authors}&${query}`);
    expect([query, answer.status]).toEqual([query, answer.body.code === "change_not_found" ? 404 : 400]);
  }
  const { token } = await user(platform, ORB, "owner");
  expect((await as("GET", `/api/${ORB}/lib/author?used=false`, undefined, token)).status).toBe(400);
});
