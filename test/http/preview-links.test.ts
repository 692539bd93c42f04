/** Preview links: what their holders see, and when they end. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, signIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let editor: SignedIn;
let reader: SignedIn;

const ACCESS = {
  read: ["public"],
  create: ["editor"],
  update: ["editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const FIELDS = [
  { name: "title", type: "string", translatable: true },
  { name: "slug", type: "slug", unique: true },
  { name: "notes", type: "string", access: { read: ["editor"], write: ["editor"] } },
  { name: "writer", type: "reference", ref: "previewed/news/writer" },
];
const document = (id: string) => ({
  id,
  languages: ["en", "de"],
  roles: [{ id: "editor", name: "Editors" }],
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          access: ACCESS,
          preview: { url: "https://site.example/{locale}/news/{address}?from=console" },
          fields: FIELDS.map((field) =>
            field.name === "slug"
              ? { ...field, was: "address" }
              : field.name === "writer"
                ? { ...field, ref: `${id}/news/writer` }
                : field,
          ),
        },
        { id: "writer", access: { ...ACCESS, read: ["editor"] }, fields: [{ name: "name", type: "string" }] },
      ],
    },
  ],
});

const as = (who: SignedIn | string | undefined, method: string, path: string, body?: unknown) =>
  call(platform, method, path, {
    ...(who === undefined ? {} : { token: typeof who === "string" ? who : who.token }),
    ...(body === undefined ? {} : { body }),
  });
const posts = "/api/previewed/news/post";

async function post(slug: string, title: string, isLive = true, more: object = {}): Promise<string> {
  const values = { title: { en: title }, slug, notes: "internal", ...more };
  const made = await as(editor, "POST", `${posts}${isLive ? "?publish=true" : ""}`, { values });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  return made.body.id;
}
const draft = (id: string, title: string) =>
  as(editor, "PATCH", `${posts}/${id}`, { values: { title: { en: title } } });

interface Link {
  id: string;
  url: string;
  token: string;
  expiresAt: string;
}
async function linked(entry: string, more: object = {}, who: SignedIn | string = editor): Promise<Link> {
  const body = { module: "news", schema: "post", entry, ...more };
  const made = await as(who, "POST", "/api/previewed/_previews", body);
  expect([made.status, made.body.detail]).toEqual([201, undefined]);
  return { ...made.body, token: new URL(made.body.url).searchParams.get("orb-preview") ?? "" };
}
const seen = async (token: string | undefined, path: string) => {
  const { status, body } = await as(token, "GET", path);
  return status === 200 ? body.values.title : status;
};

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  for (const id of ["previewed", "unseen"]) {
    const made = await as(root, "POST", "/api/admin/orbs?publish=true", document(id));
    expect([made.status, made.body.errors]).toEqual([201, undefined]);
  }
  editor = await user(platform, "previewed", "editor");
  reader = await user(platform, "previewed");
});

describe("a link", () => {
  test("leads to the page of the entry, whose address follows renames", async () => {
    const id = await post("a-page", "A");
    const { url } = await linked(id, { locale: "de" });
    expect(url).toMatch(/^https:\/\/site\.example\/de\/news\/a-page\?from=console&orb-preview=ey/);
    const { url: other } = await linked(id);
    expect(new URL(other).pathname).toBe("/en/news/a-page");
  });

  test("shows the draft of its entry, by id and by key, and no field that visitors may not read", async () => {
    const id = await post("b", "Live");
    await draft(id, "Draft");
    const { token } = await linked(id);
    const found = await as(token, "GET", `${posts}/${id}?locale=en`);
    expect([found.status, found.body.values]).toEqual([200, { title: "Draft", slug: "b" }]);
    expect(await seen(token, `${posts}/by/slug/b?locale=en`)).toBe("Draft");
    expect(await seen(token, `${posts}/${id}?locale=en&revision=published`)).toBe("Live");
    expect(await seen(undefined, `${posts}/${id}?locale=en`)).toBe("Live");
    expect(found.headers.get("cache-control")).toContain("private");
  });

  test("shows an entry that was never published, and nothing else to its holder than to visitors", async () => {
    const writer = await as(editor, "POST", "/api/previewed/news/writer?publish=true", {
      values: { name: "Ann" },
    });
    const [id, live, hidden] = [
      await post("c", "Never", false, { writer: writer.body.id }),
      await post("d", "Other"),
      await post("e", "Hidden", false),
    ];
    await draft(live, "Other draft");
    const { token } = await linked(id);
    expect(await seen(token, `${posts}/${id}?locale=en`)).toBe("Never");
    expect(await seen(token, `${posts}/${live}?locale=en`)).toBe("Other");
    expect(await seen(token, `${posts}/by/slug/d?locale=en`)).toBe("Other");
    expect(await seen(token, `${posts}/${hidden}`)).toBe(404);
    expect(await seen(token, `${posts}/by/slug/e`)).toBe(404);
    const expanded = await as(token, "GET", `${posts}/${id}?expand=writer`);
    expect(expanded.body.expand).toEqual({ writer: null });
    const list = await as(token, "GET", `${posts}?locale=en&limit=200`);
    expect(list.body.items.map((one: { id: string }) => one.id)).not.toContain(id);
    for (const path of [
      `${posts}?revision=latest`,
      `${posts}/${id}/revisions`,
      `${posts}/${id}?at=2026-01-01T00:00:00Z`,
      `${posts}/${id}?reveal=true`,
      "/api/previewed/news/writer",
      `/api/previewed/news/writer/${writer.body.id}`,
      "/api/previewed/changes",
      "/api/discovery/me",
      "/api/previewed/tokens",
      "/api/admin/orbs",
      "/api/streams",
    ])
      expect([path, [401, 403].includes((await as(token, "GET", path)).status)]).toEqual([path, true]);
    for (const [method, path] of [
      ["PUT", `${posts}/${id}`],
      ["PATCH", `${posts}/${id}`],
      ["DELETE", `${posts}/${id}`],
      ["POST", `${posts}/${id}/publish`],
      ["POST", posts],
      ["POST", "/api/previewed/_previews"],
    ] as const)
      expect([method, [401, 403].includes((await as(token, method, path, { values: {} })).status)]).toEqual([
        method,
        true,
      ]);
  });

  test("shows a change set, in which other entries look as visitors will see them", async () => {
    const [id, other] = [await post("f", "F"), await post("g", "G")];
    const set = (await as(editor, "POST", "/api/previewed/changes", { title: "Spring" })).body.id;
    for (const [entry, title] of [
      [id, "F in set"],
      [other, "G in set"],
    ])
      await as(editor, "PATCH", `${posts}/${entry}?change=${set}`, { values: { title: { en: title } } });
    const { token } = await linked(id, { change: set });
    expect(await seen(token, `${posts}/${id}?locale=en`)).toBe("F in set");
    expect(await seen(token, `${posts}/by/slug/g?locale=en`)).toBe("G in set");
    const list = await as(token, "GET", `${posts}?locale=en&filter[slug]=g`);
    expect(list.body.items[0].values.title).toBe("G in set");
    expect((await as(token, "GET", `/api/previewed/changes/${set}`)).status).toBe(403);
    const outside = await linked(id);
    expect(await seen(outside.token, `${posts}/${id}?change=${set}`)).toBe(403);
    expect(await seen(outside.token, `/api/previewed/search?q=set&change=${set}`)).toBe(403);
  });

  test("is for accounts that may read drafts, of schemas that name a page", async () => {
    const id = await post("h", "H");
    const body = { module: "news", schema: "post", entry: id };
    const made = async (who: SignedIn | string | undefined, more: object = {}) => {
      const { status, body: told } = await as(who, "POST", "/api/previewed/_previews", { ...body, ...more });
      return [status, told.code];
    };
    expect(await made(undefined)).toEqual([401, "authentication_required"]);
    expect(await made(reader)).toEqual([403, "forbidden"]);
    expect(await made(editor, { schema: "writer" })).toEqual([404, "preview_not_found"]);
    expect(await made(editor, { entry: "01k00000000000000000000000" })).toEqual([404, "entry_not_found"]);
    expect(await made(editor, { expiresIn: 7 * 86_400 + 1 })).toEqual([422, "validation_failed"]);
    expect(await made(root)).toEqual([201, undefined]);
    const noSlug = await as(editor, "POST", posts, { values: { title: { en: "No slug" } } });
    expect(await made(editor, { entry: noSlug.body.id })).toEqual([409, "preview_incomplete"]);
  });
});

describe("a link shows nothing", () => {
  test("after its author has ended it", async () => {
    const id = await post("i", "I", false);
    const [first, second] = [await linked(id), await linked(id)];
    expect((await as(root, "DELETE", `/api/previewed/_previews/${first.id}`)).status).toBe(204);
    expect(await seen(first.token, `${posts}/${id}?locale=en`)).toBe("I");
    expect((await as(editor, "DELETE", `/api/previewed/_previews/${first.id}`)).status).toBe(204);
    expect(await seen(first.token, `${posts}/${id}?locale=en`)).toBe(401);
    expect(await seen(second.token, `${posts}/${id}?locale=en`)).toBe("I");
  });

  test("after the session or the API token of its author has ended", async () => {
    const id = await post("j", "J", false);
    const session = await signIn(platform, "/api/previewed", editor.authenticator);
    const { token } = await linked(id, {}, session);
    const program = await createToken(platform, "/api/_auth", root, [scope("previewed", "read")]);
    const byProgram = await linked(id, {}, program.token);
    expect(await seen(token, `${posts}/${id}?locale=en`)).toBe("J");
    expect(await seen(byProgram.token, `${posts}/${id}?locale=en`)).toBe("J");
    expect((await as(session, "POST", "/api/previewed/signout")).status).toBe(204);
    await as(root, "DELETE", `/api/_auth/tokens/${program.id}`);
    expect(await seen(token, `${posts}/${id}`)).toBe(401);
    expect(await seen(byProgram.token, `${posts}/${id}`)).toBe(401);
  });

  test("if it was changed, is of another orb, or is another kind of token", async () => {
    const id = await post("k", "K", false);
    const { token } = await linked(id);
    const [head = "", payload = "", signature = ""] = token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const forged = (change: object) =>
      [head, Buffer.from(JSON.stringify({ ...claims, ...change })).toString("base64url"), signature].join(
        ".",
      );
    for (const changed of [
      forged({ exp: claims.exp + 1 }),
      forged({ entry: await post("l", "L", false) }),
      forged({ orb: "unseen" }),
      `${head}.${payload}.${"A".repeat(signature.length)}`,
      `${head}.${payload}.`,
      `${Buffer.from(JSON.stringify({ alg: "none", typ: "preview+jwt" })).toString("base64url")}.${payload}.`,
    ])
      expect(await seen(changed, `${posts}/${id}`)).toBe(401);
    expect(await seen(token, `/api/unseen/news/post/${id}`)).toBe(403);
    expect(Object.keys(claims)).not.toContain("name");
  });
});
