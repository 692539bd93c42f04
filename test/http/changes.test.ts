/** `/api/{orb}/changes`: change sets, and their review. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let people: Record<"writer" | "editor" | "admin" | "owner", SignedIn>;

const OWN = { read: ["public"], create: ["user"], update: ["own"], publish: ["admin"], delete: ["own"] };
const EDITED = { read: ["public"], update: ["editor"], publish: ["admin"] };
const document = (id: string, more: object = {}) => ({
  id,
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        { id: "page", access: OWN, fields: [{ name: "title", type: "string" }] },
        { id: "text", access: EDITED, fields: [{ name: "title", type: "string" }] },
      ],
    },
  ],
  ...more,
});
const WORKFLOW = {
  workflow: {
    review: [
      { by: ["editor"], notAuthor: true },
      { by: ["owner"], module: "shop" },
    ],
  },
  modules: [...document("x").modules, { id: "shop", type: "CONTENT", schemas: [] }],
};

const as = (
  who: SignedIn | string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) =>
  call(platform, method, path, {
    ...(who === undefined ? {} : { token: typeof who === "string" ? who : who.token }),
    ...(body === undefined ? {} : { body }),
    headers,
  });
const publish = async (body: object) => {
  const made = await as(root, "POST", "/api/admin/orbs?publish=true", body);
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
};
async function open(who: SignedIn | string, base = "/api/press/changes"): Promise<string> {
  const opened = await as(who, "POST", base, { title: "Spring sale" });
  expect([opened.status, opened.body.code]).toEqual([201, undefined]);
  return `${base}/${opened.body.id}`;
}

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  await publish(document("press", WORKFLOW));
  people = {
    writer: await user(platform, "press"),
    editor: await user(platform, "press", "editor"),
    admin: await user(platform, "press", "admin"),
    owner: await user(platform, "press", "owner"),
  };
});

describe.each(["/api/press/changes", "/api/admin/orbs/press/changes", "/api/_orbs/press/changes"])(
  "%s",
  (base) => {
    test("opens, lists, changes and closes a set", async () => {
      const opened = await as(root, "POST", base, { title: "Spring sale", description: "Prices" });
      expect([opened.status, opened.body]).toMatchObject([
        201,
        {
          title: "Spring sale",
          description: "Prices",
          state: "OPEN",
          revision: 1,
          approvals: [],
          entries: 0,
        },
      ]);
      const path = `${base}/${opened.body.id}`;
      expect([opened.headers.get("location"), opened.headers.get("etag")]).toEqual([path, '"1"']);
      const listed = await as(
        root,
        "GET",
        `${base}?limit=1&filter[state]=OPEN&filter[author]=${opened.body.createdBy}`,
      );
      expect(listed.body.items).toMatchObject([{ id: opened.body.id, state: "OPEN" }]);
      const changed = await as(
        root,
        "PATCH",
        path,
        { title: "Sale", description: null },
        { "if-match": '"1"' },
      );
      expect(changed.body).toMatchObject({ title: "Sale", description: null, revision: 2 });
      const late = await as(root, "PATCH", path, { title: "Late" }, { "if-match": '"1"' });
      expect([late.status, late.body.code]).toEqual([412, "revision_mismatch"]);
      expect((await as(root, "DELETE", path)).status).toBe(204);
      expect((await as(root, "GET", path)).body).toMatchObject({ state: "CLOSED", revision: 3 });
      const again = await as(root, "PATCH", path, { title: "Again" });
      expect([again.status, again.body.code, again.body.state]).toEqual([409, "wrong_state", "CLOSED"]);
    });

    test("refuses what is not valid", async () => {
      const empty = await as(root, "POST", base, { title: " ", color: "red" });
      expect([empty.status, empty.body.errors.map(({ path }: { path: string }) => path).sort()]).toEqual([
        422,
        ["/color", "/title"],
      ]);
      expect((await as(root, "GET", `${base}/unknown`)).body.code).toBe("change_not_found");
      expect((await as(root, "GET", `${base}?filter[state]=GONE`)).status).toBe(400);
      expect((await as(root, "GET", `${base}?cursor=abc`)).body.code).toBe("invalid_cursor");
    });
  },
);

test("pages lead through all sets, newest first", async () => {
  const paths = [await open(root), await open(root), await open(root)];
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null && found.length < 3; ) {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { body } = await as(root, "GET", `/api/press/changes?limit=1${more}`);
    found.push(...body.items.map(({ id }: { id: string }) => `/api/press/changes/${id}`));
    cursor = body.nextCursor;
  }
  expect(found).toEqual(paths.toReversed());
});

test("shows and changes sets by the rights on entries", async () => {
  const { writer, editor, admin } = people;
  const other = await user(platform, "press");
  const path = await open(writer);
  const statuses = async (who: SignedIn | string | undefined) => [
    (await as(who, "GET", path)).status,
    (await as(who, "GET", "/api/press/changes")).body.items?.some(({ id }: { id: string }) =>
      path.endsWith(id),
    ),
    (await as(who, "PATCH", path, { title: "Spring" })).status,
    (await as(who, "POST", `${path}/reject`, { comment: "No" })).status,
  ];
  expect(await statuses(writer)).toEqual([200, true, 200, 403]);
  expect(await statuses(other)).toEqual([404, false, 404, 403]);
  expect(await statuses(editor)).toEqual([200, true, 200, 409]);
  // Admins have all rights of editors.
  expect(await statuses(admin)).toEqual([200, true, 200, 409]);
  expect(await statuses(undefined)).toEqual([401, undefined, 401, 401]);
  const { token } = await createToken(platform, "/api/press", editor.token, [scope("press", "read")]);
  expect(await statuses(token)).toEqual([200, true, 403, 403]);
});

test("is approved by reviewers that the workflow names, other than the authors", async () => {
  const { writer, editor, owner } = people;
  const path = await open(editor);
  const before = await as(writer, "POST", `${path}/approve`, {});
  expect([before.status, before.body.code]).toEqual([403, "forbidden"]);
  const early = await as(owner, "POST", `${path}/approve`, {});
  expect([early.status, early.body.code]).toEqual([409, "wrong_state"]);
  expect((await as(editor, "POST", `${path}/review`)).body).toMatchObject({
    state: "IN_REVIEW",
    review: [{ approvals: 1, given: 0, by: ["editor"], notAuthor: true }],
  });
  const own = await as(editor, "POST", `${path}/approve`, {});
  expect([own.status, own.body.code]).toEqual([403, "own_change"]);
  const second = await user(platform, "press", "editor");
  const { hash } = (await as(second, "GET", path)).body;
  const mismatch = await as(second, "POST", `${path}/approve`, { hash: "other" });
  expect([mismatch.status, mismatch.body.code, mismatch.body.hash]).toEqual([412, "hash_mismatch", hash]);
  const approved = await as(second, "POST", `${path}/approve`, { hash, comment: "Fine" });
  expect([approved.status, approved.body]).toMatchObject([
    200,
    { state: "APPROVED", approvals: [{ by: second.id, hash, comment: "Fine" }], review: [{ given: 1 }] },
  ]);
  const rejected = await as(second, "POST", `${path}/reject`, { comment: "Not yet" });
  expect(rejected.body).toMatchObject({
    state: "OPEN",
    approvals: [],
    rejection: { by: second.id, comment: "Not yet" },
  });
  const { body } = await as(root, "GET", "/api/admin/audit?filter[realm]=press&filter[action]=change");
  expect(body.items).toMatchObject([
    { actor: second.id, target: path.split("/").at(-1), detail: `rejected ${hash}` },
    { actor: second.id, target: path.split("/").at(-1), detail: `approved ${hash}` },
  ]);
});

test("is approved by accounts that may publish, without a workflow", async () => {
  await publish(document("unreviewed"));
  const path = await open(root, "/api/unreviewed/changes");
  expect((await as(root, "POST", `${path}/approve`, {})).body.code).toBe("wrong_state");
  await as(root, "POST", `${path}/review`);
  expect((await as(root, "POST", `${path}/approve`)).body).toMatchObject({ state: "APPROVED", review: [] });
});

test("takes comments of all who may read the set, and resolves them", async () => {
  const { writer, editor } = people;
  const stranger = await user(platform, "press");
  const path = `${await open(writer)}/comments`;
  const about = { text: "Too long", entry: "pages/page/0123456789abcdefghij", field: "title" };
  const first = await as(editor, "POST", path, { ...about, mentions: [writer.id] });
  expect([first.status, first.body]).toMatchObject([
    201,
    { ...about, mentions: [writer.id], by: editor.id, resolved: null },
  ]);
  const second = await as(writer, "POST", path, { text: "All of it" });
  expect(second.body).toMatchObject({ entry: null, field: null, mentions: [] });
  const resolved = await as(writer, "POST", `${path}/${first.body.id}/resolve`);
  expect(resolved.body).toMatchObject({ id: first.body.id, text: "Too long", resolved: { by: writer.id } });
  const again = await as(editor, "POST", `${path}/${first.body.id}/resolve`);
  expect(again.body).toEqual(resolved.body);
  const page = await as(editor, "GET", `${path}?limit=1`);
  expect(page.body.items).toEqual([resolved.body]);
  const next = await as(editor, "GET", `${path}?limit=1&cursor=${page.body.nextCursor}`);
  expect(next.body).toEqual({ items: [second.body], nextCursor: null });
  const refused = await as(stranger, "POST", path, { text: "Hello" });
  expect([refused.status, refused.body.code]).toEqual([404, "change_not_found"]);
  expect((await as(stranger, "GET", path)).status).toBe(404);
  expect((await as(editor, "POST", `${path}/unknown/resolve`)).body.code).toBe("comment_not_found");
  const wrong = await as(editor, "POST", path, { text: "", field: "title", entry: "page" });
  expect(wrong.body.errors.map(({ path: at }: { path: string }) => at)).toEqual(["/text", "/entry"]);
  expect((await as(editor, "POST", path, { text: "a", field: "title" })).body.errors).toMatchObject([
    { path: "/entry", code: "required" },
  ]);
});

test("lists the sets with open comments that mention an account, as far as the caller may read them", async () => {
  const { writer, editor } = people;
  const stranger = await user(platform, "press");
  const [first, second] = [await open(writer), await open(writer)];
  const idOf = (path: string) => path.split("/").at(-1);
  const listed = async (who: SignedIn, account: string) => {
    const query = `filter[mentions]=${encodeURIComponent(account)}&limit=100`;
    const { status, body } = await as(who, "GET", `/api/press/changes?${query}`);
    expect([status, body.code]).toEqual([200, undefined]);
    return body.items.map(({ id }: { id: string }) => id);
  };
  const comment = (path: string, mentions: string[]) =>
    as(editor, "POST", `${path}/comments`, { text: "Can you look?", mentions });
  const made = await comment(first, [stranger.id, stranger.id, writer.id, "not an id"]);
  expect(made.body.mentions).toEqual([stranger.id, stranger.id, writer.id, "not an id"]);
  await comment(second, [editor.id]);
  expect(await listed(writer, writer.id)).toEqual([idOf(first)]);
  expect(await listed(writer, editor.id)).toEqual([idOf(second)]);
  expect(await listed(stranger, stranger.id)).toEqual([]);
  expect(await listed(writer, "not an id")).toEqual([]);
  const entry = await as(
    writer,
    "GET",
    `/api/press/changes?filter[mentions]=${writer.id}&filter[state]=CLOSED`,
  );
  expect(entry.body.items).toEqual([]);
  await as(writer, "POST", `${first}/comments/${made.body.id}/resolve`);
  expect(await listed(writer, writer.id)).toEqual([]);
});

test("leaves the path to a module of an older orb, and rejects methods that it does not have", async () => {
  const wrong = await as(root, "PUT", "/api/press/changes");
  expect([wrong.status, wrong.headers.get("allow")?.split(", ").sort()]).toEqual([
    405,
    ["GET", "HEAD", "POST"],
  ]);
  expect((await as(root, "GET", "/api/nowhere/changes")).status).toBe(404);
});

test("reports review rules that name nothing of the document", async () => {
  const review = [
    { by: ["chief"] },
    { by: ["admin", "admin"], schema: "page" },
    { by: ["user"], module: "x" },
  ];
  const { body } = await as(root, "POST", "/api/admin/orbs", document("wrong", { workflow: { review } }));
  expect(
    body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`).sort(),
  ).toEqual([
    "/workflow/review/0/by/0 unknown_role",
    "/workflow/review/1/by duplicate",
    "/workflow/review/1/module required",
    "/workflow/review/2/module unknown_module",
  ]);
});
