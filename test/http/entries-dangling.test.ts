/** What a publication says of references whose entries were deleted or archived by force. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
const ORB = "/api/shelf/all";
const ADMIN = "/api/admin/orbs/shelf/entries";

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const to = { type: "reference", ref: "shelf/all/author" };
  const fields = [
    { name: "author", ...to },
    { name: "cited", ...to, list: true },
    { name: "title", type: "string" },
    { name: "reviewer", ...to, access: { read: ["owner"], write: ["owner"] } },
  ];
  await createOrb(platform, token, {
    id: "shelf",
    modules: [
      {
        id: "all",
        type: "CONTENT",
        schemas: [
          { id: "author", fields: [{ name: "name", type: "string" }] },
          { id: "book", access: { write: "admin" }, fields },
        ],
      },
    ],
  });
});

const send = (method: string, path: string, body?: unknown, as = token) =>
  call(platform, method, path, { token: as, ...(body === undefined ? {} : { body }) });
const warning = (path: string) => ({
  path,
  code: "unknown_reference",
  message: expect.stringContaining("was deleted or archived"),
});

/** Creates a live book with three references, two of which lose their targets. */
async function bookWithGone(): Promise<string> {
  const ids: string[] = [];
  for (const name of ["deleted", "archived", "stays"])
    ids.push((await send("POST", `${ORB}/author?publish=true`, { values: { name } })).body.id);
  const [deleted, archived, stays] = ids;
  const values = { author: deleted, cited: [stays, archived], reviewer: deleted, title: "one" };
  const book = (await send("POST", `${ORB}/book?publish=true`, { values })).body.id;
  expect((await send("DELETE", `${ORB}/author/${deleted}?force=true`)).status).toBe(204);
  expect((await send("POST", `${ORB}/author/${archived}/archive?force=true`)).status).toBe(200);
  return book;
}
const GONE = ["/values/author", "/values/cited/1", "/values/reviewer"].map(warning);

test.each([
  ["runtime", `${ORB}/book`],
  ["management", ADMIN],
])("publishing on the %s API names the references whose entries are gone", async (_, base) => {
  const one = `${base}/${await bookWithGone()}`;
  const draft = await send("PATCH", one, { values: { title: "two" } });
  expect(draft.body).not.toHaveProperty("warnings");
  const published = await send("POST", `${one}/publish`);
  expect(published).toMatchObject({ status: 200, body: { status: "PUBLISHED", warnings: GONE } });
  const patched = await send("PATCH", `${one}?publish=true`, { values: { title: "three" } });
  expect(patched).toMatchObject({ status: 200, body: { warnings: GONE } });
  // A client may send the whole response back.
  const back = await send("PUT", `${one}?publish=true`, { ...patched.body, validTo: null });
  expect(back).toMatchObject({ status: 200, body: { warnings: GONE } });
  const mended = await send("PATCH", `${one}?publish=true`, {
    values: { author: null, cited: [], reviewer: null },
  });
  expect(mended.status).toBe(200);
  expect(mended.body).not.toHaveProperty("warnings");
  expect((await send("GET", one)).body).not.toHaveProperty("warnings");
});

test("does not mention fields that the caller may not read", async () => {
  const one = `${ORB}/book/${await bookWithGone()}`;
  const editor = await user(platform, "auth", "admin");
  await send("PATCH", one, { values: { title: "two" } }, editor.token);
  const published = await send("POST", `${one}/publish`, undefined, editor.token);
  expect(published).toMatchObject({ status: 200, body: { warnings: GONE.slice(0, 2) } });
});
