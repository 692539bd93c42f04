/** `?change={set}`: writes into change sets, reads within them, and their publication. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { until } from "../support/hooks.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let people: Record<"writer" | "other" | "editor" | "reviewer", SignedIn>;

const WRITTEN = {
  read: ["public"],
  create: ["user"],
  update: ["own", "editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const DOCUMENT = {
  id: "sets",
  languages: ["en", "de"],
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [
    { id: "editor", name: "Editors" },
    { id: "reviewer", name: "Reviewers" },
  ],
  workflow: { review: [{ by: ["reviewer"], module: "press" }] },
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          access: WRITTEN,
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "rank", type: "integer" },
            { name: "code", type: "string", unique: true },
          ],
        },
      ],
    },
    {
      id: "press",
      type: "CONTENT",
      schemas: [{ id: "release", access: WRITTEN, fields: [{ name: "text", type: "string" }] }],
    },
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "price",
          access: { ...WRITTEN, publish: ["reviewer"] },
          fields: [{ name: "amount", type: "integer" }],
        },
      ],
    },
  ],
};

const as = async (
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
const pages = "/api/sets/pages/page";

async function opened(who: SignedIn | string): Promise<string> {
  const made = await as(who, "POST", "/api/sets/changes", { title: "Spring sale" });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  return made.body.id;
}
async function page(title: string, rank: number): Promise<string> {
  const made = await as(people.editor, "POST", `${pages}?publish=true`, {
    values: { title: { en: title }, rank },
  });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  return made.body.id;
}
const titles = (body: { items: { values: { title: string } }[] }) =>
  body.items.map(({ values }) => values.title);

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const made = await as(root, "POST", "/api/admin/orbs?publish=true", DOCUMENT);
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  people = {
    writer: await user(platform, "sets"),
    other: await user(platform, "sets"),
    editor: await user(platform, "sets", "editor"),
    reviewer: await user(platform, "sets", "reviewer"),
  };
});

describe("a write with ?change", () => {
  test("goes into the set until it is published", async () => {
    const [changed, gone] = [await page("B", 2), await page("C", 3)];
    const set = await opened(people.editor);
    const within = `change=${set}`;
    const patched = await as(people.editor, "PATCH", `${pages}/${changed}?${within}`, {
      values: { title: { en: "Z" }, rank: 9 },
    });
    expect([patched.status, patched.body]).toMatchObject([200, { revision: 2, status: "PUBLISHED" }]);
    const stale = await as(
      people.editor,
      "PATCH",
      `${pages}/${changed}?${within}`,
      { values: { rank: 8 } },
      { "if-match": '"1"' },
    );
    expect([stale.status, stale.body.code]).toEqual([412, "revision_mismatch"]);
    const made = await as(
      people.editor,
      "POST",
      `${pages}?${within}`,
      { values: { title: { en: "A" }, rank: 1 } },
      { "idempotency-key": "a" },
    );
    expect(made.status).toBe(201);
    const again = await as(
      people.editor,
      "POST",
      `${pages}?${within}`,
      { values: { title: { en: "A" }, rank: 1 } },
      { "idempotency-key": "a" },
    );
    expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([made.body.id, "true"]);
    expect((await as(people.editor, "DELETE", `${pages}/${gone}?${within}`)).status).toBe(204);

    const plain = await as(undefined, "GET", `${pages}?sort=rank&locale=en`);
    expect(titles(plain.body)).toEqual(["B", "C"]);
    const shown = await as(people.editor, "GET", `${pages}?sort=rank&locale=en&count=true&${within}`);
    expect([titles(shown.body), shown.body.total]).toEqual([["A", "Z"], 2]);
    expect(shown.headers.get("cache-control")).toContain("private");
    const first = await as(people.editor, "GET", `${pages}?sort=rank&locale=en&limit=1&${within}`);
    const next = await as(
      people.editor,
      "GET",
      `${pages}?sort=rank&locale=en&limit=1&cursor=${first.body.nextCursor}&${within}`,
    );
    expect([...titles(first.body), ...titles(next.body)]).toEqual(["A", "Z"]);
    expect(
      (await as(people.editor, "GET", `${pages}/${changed}?locale=en&${within}`)).body.values.title,
    ).toBe("Z");
    expect((await as(people.editor, "GET", `${pages}/${gone}?${within}`)).status).toBe(404);
    expect((await as(undefined, "GET", `${pages}/${changed}?${within}`)).status).toBe(401);
    expect((await as(people.other, "GET", `${pages}/${changed}?${within}`)).body.code).toBe(
      "change_not_found",
    );

    const diff = await as(people.editor, "GET", `/api/sets/changes/${set}/diff`);
    expect(diff.body.items.map(({ id, act }: { id: string; act: string }) => [id, act])).toEqual([
      [changed, "publish"],
      [gone, "delete"],
      [made.body.id, "publish"],
    ]);
    expect((await as(people.editor, "GET", `/api/sets/changes/${set}`)).body.entries).toBe(3);
    const { status, body } = await as(people.editor, "POST", `/api/sets/changes/${set}/publish`, {});
    expect([status, body.change.state, body.items.length]).toEqual([200, "PUBLISHED", 3]);
    expect(titles((await as(undefined, "GET", `${pages}?sort=rank&locale=en`)).body)).toEqual(["A", "Z"]);
    const history = await as(people.editor, "GET", `${pages}/${changed}/revisions`);
    expect(history.body.items.at(-1)).toMatchObject({ operation: "publish", change: set });

    const back = await as(people.editor, "POST", `/api/sets/changes/${set}/revert`, {});
    expect([back.status, back.body.entries]).toEqual([201, 3]);
    await as(people.editor, "POST", `/api/sets/changes/${back.body.id}/publish`, {});
    expect(titles((await as(undefined, "GET", `${pages}?sort=rank&locale=en`)).body)).toEqual(["B", "C"]);
    expect((await as(people.editor, "GET", `/api/sets/changes/${set}`)).body.state).toBe("REVERTED");
  });

  test("solves a conflict by the value that the caller keeps, or leaves the set", async () => {
    const [id, other] = [await page("Old", 1), await page("Other", 1)];
    const set = await opened(people.editor);
    const change = `/api/sets/changes/${set}`;
    await as(people.editor, "PATCH", `${pages}/${id}?change=${set}`, {
      values: { title: { en: "Mine" }, rank: 5 },
    });
    await as(people.editor, "PATCH", `${pages}/${other}?change=${set}`, { values: { rank: 5 } });
    await as(people.editor, "PATCH", `${pages}/${id}?publish=true`, { values: { title: { en: "Theirs" } } });
    const refused = await as(people.editor, "POST", `${change}/publish`, {});
    expect([
      refused.status,
      refused.body.code,
      refused.body.errors.map(({ path }: { path: string }) => path),
    ]).toEqual([409, "change_conflict", [`/pages/page/${id}/values/title/en`]]);
    const open = await as(people.editor, "POST", `${change}/entries/${id}/rebase`, {});
    expect([open.status, open.body.code]).toEqual([409, "change_conflict"]);
    const solved = await as(people.editor, "POST", `${change}/entries/${id}/rebase`, {
      keep: { "/values/title/en": "live" },
    });
    expect(solved.status).toBe(200);
    expect((await as(people.editor, "DELETE", `${change}/entries/${other}`)).status).toBe(204);
    expect((await as(people.editor, "DELETE", `${change}/entries/${other}`)).body.code).toBe(
      "entry_not_found",
    );
    expect((await as(people.editor, "POST", `${change}/publish`, {})).status).toBe(200);
    const now = await as(undefined, "GET", `${pages}/${id}?locale=en`);
    expect(now.body.values).toMatchObject({ title: "Theirs", rank: 5 });
    await as(people.editor, "DELETE", `${pages}/${id}`);
    await as(people.editor, "DELETE", `${pages}/${other}`);
  });

  test("needs the approval of exactly what is published", async () => {
    const releases = "/api/sets/press/release";
    const set = await opened(people.writer);
    const change = `/api/sets/changes/${set}`;
    const made = await as(people.writer, "POST", `${releases}?change=${set}`, { values: { text: "News" } });
    expect(made.status).toBe(201);
    expect((await as(people.editor, "POST", `${change}/publish`, {})).body.code).toBe("approval_missing");
    await as(people.writer, "POST", `${change}/review`);
    const { body } = await as(people.editor, "GET", change);
    expect((await as(people.reviewer, "POST", `${change}/approve`, { hash: body.hash })).body.state).toBe(
      "APPROVED",
    );
    await as(people.writer, "PATCH", `${releases}/${made.body.id}?change=${set}`, {
      values: { text: "Fake" },
    });
    const voided = await as(people.editor, "POST", `${change}/publish`, {});
    expect([voided.status, voided.body.code]).toEqual([409, "approval_void"]);
    await as(people.writer, "POST", `${change}/review`);
    await as(people.reviewer, "POST", `${change}/approve`, {});
    for (const who of [people.writer, people.reviewer])
      expect((await as(who, "POST", `${change}/publish`, {})).status).toBe(403);
    expect((await as(people.editor, "POST", `${change}/publish`, { hash: body.hash })).body.code).toBe(
      "hash_mismatch",
    );
    expect((await as(people.editor, "POST", `${change}/publish`, {})).status).toBe(200);
    expect((await as(undefined, "GET", `${releases}/${made.body.id}`)).body.values).toEqual({ text: "Fake" });
  });

  test.each(["PUT", "PATCH"])("repeats no %s with the same key and revision", async (method) => {
    const id = await page(`Keyed ${method}`, 1);
    const set = await opened(people.editor);
    const write = (headers: Record<string, string>, rank = 2) =>
      as(people.editor, method, `${pages}/${id}?change=${set}`, { values: { rank } }, headers);
    const first = await write({ "if-match": '"1"', "idempotency-key": "k" });
    expect([first.status, first.body.revision]).toEqual([200, 2]);
    const again = await write({ "if-match": '"1"', "idempotency-key": "k" });
    expect([again.status, again.body.revision, again.headers.get("idempotent-replayed")]).toEqual([
      200,
      2,
      "true",
    ]);
    const other = await write({ "if-match": '"1"', "idempotency-key": "k" }, 3);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_mismatch"]);
    const stale = await write({ "if-match": '"1"', "idempotency-key": "l" });
    expect([stale.status, stale.body.code]).toEqual([412, "revision_mismatch"]);
    // The same key of the entry itself is another one.
    const plain = await as(
      people.editor,
      method,
      `${pages}/${id}`,
      { values: { rank: 4 } },
      { "if-match": '"1"', "idempotency-key": "k" },
    );
    expect([plain.status, plain.body.revision, plain.headers.get("idempotent-replayed")]).toEqual([
      200,
      2,
      null,
    ]);
    await as(people.editor, "DELETE", `${pages}/${id}`);
  });

  test("finds an entry by the unique value that it has in the set", async () => {
    const coded = (code: string) => ({ values: { title: { en: code }, code } });
    const by = (code: string, change?: string) =>
      `${pages}/by/code/${code}${change === undefined ? "" : `?change=${change}`}`;
    const [kept, gone] = await Promise.all(
      ["k-1", "g-1"].map(
        async (code) => (await as(people.editor, "POST", `${pages}?publish=true`, coded(code))).body.id,
      ),
    );
    const set = await opened(people.editor);
    const made = await as(people.editor, "POST", `${pages}?change=${set}`, coded("n-1"));
    const moved = await as(people.editor, "PATCH", by("k-1", set), { values: { code: "k-2" } });
    expect([moved.status, moved.body.id, moved.body.revision]).toEqual([200, kept, 2]);
    const [deleted, again] = [
      await as(people.editor, "DELETE", by("g-1", set)),
      await as(people.editor, "DELETE", by("g-1", set)),
    ];
    expect([deleted.status, again.status]).toEqual([204, 404]);
    for (const [code, id] of [
      ["n-1", made.body.id],
      ["k-2", kept],
      ["k-1", undefined],
      ["g-1", undefined],
    ]) {
      const { status, body } = await as(people.editor, "GET", by(code, set));
      expect([code, status, body.values === undefined ? undefined : body.id]).toEqual([
        code,
        id === undefined ? 404 : 200,
        id,
      ]);
    }
    for (const [code, id] of [
      ["k-1", kept],
      ["g-1", gone],
    ])
      expect((await as(undefined, "GET", by(code))).body.id).toBe(id);
    const same = await as(
      people.editor,
      "PATCH",
      by("n-1", set),
      { values: { rank: 4 } },
      { "if-match": '"9"' },
    );
    expect([same.status, same.body.code]).toEqual([412, "revision_mismatch"]);
    expect((await as(people.other, "GET", by("n-1", set))).body.code).toBe("change_not_found");
    expect((await as(people.other, "PATCH", by("n-1", set), { values: {} })).status).toBe(404);
    const put = await as(people.editor, "PUT", by("n-2", set), coded("n-2"));
    expect([put.status, put.body.code]).toEqual([201, undefined]);
    expect((await as(people.editor, "POST", `/api/sets/changes/${set}/publish`, {})).status).toBe(200);
    expect((await as(undefined, "GET", by("k-2"))).body.id).toBe(kept);
    expect((await as(undefined, "GET", by("g-1"))).status).toBe(404);
    for (const id of [kept, made.body.id, put.body.id]) await as(people.editor, "DELETE", `${pages}/${id}`);
  });

  test("finds a live entry by its live value, although a draft beside it has another one", async () => {
    const by = (code: string) => `${pages}/by/code/${code}?change=${set}`;
    const set = await opened(people.editor);
    const ids: string[] = [];
    for (const code of ["live-1", "live-2"]) {
      const values = { title: { en: code }, code };
      const { body } = await as(people.editor, "POST", `${pages}?publish=true`, { values });
      const draft = await as(people.editor, "PATCH", `${pages}/${body.id}`, {
        values: { code: `${code}-draft` },
      });
      expect(draft.status).toBe(200);
      ids.push(body.id);
    }
    const ofDraft = await as(people.editor, "PATCH", by("live-1-draft"), { values: { rank: 3 } });
    expect([ofDraft.status, ofDraft.body.code]).toEqual([404, "entry_not_found"]);
    const patched = await as(people.editor, "PATCH", by("live-1"), { values: { rank: 3, code: "live-3" } });
    expect([patched.status, patched.body.id, patched.body.values?.rank]).toEqual([200, ids[0], 3]);
    expect((await as(people.editor, "PATCH", by("live-1"), { values: { rank: 4 } })).status).toBe(404);
    expect((await as(people.editor, "PATCH", by("live-3"), { values: { rank: 4 } })).body.id).toBe(ids[0]);
    expect((await as(people.editor, "DELETE", by("live-2"))).status).toBe(204);
    expect((await as(people.editor, "DELETE", by("live-2"))).status).toBe(404);
    for (const id of ids) await as(people.editor, "DELETE", `${pages}/${id}`);
  });

  test("is refused where a set has no meaning", async () => {
    const id = await page("P", 1);
    const set = await opened(people.editor);
    const within = `change=${set}`;
    const refusals = [
      await as(people.editor, "POST", `${pages}?publish=true&${within}`, { values: {} }),
      await as(people.editor, "GET", `${pages}/${id}?at=2020-01-01T00:00:00Z&${within}`),
      await as(people.editor, "GET", `${pages}?aggregate[n]=count()&${within}`),
      await as(people.editor, "POST", `${pages}/${id}/revisions/1/restore?${within}`),
      await as(people.editor, "GET", `${pages}/${id}/revisions?${within}`),
      await as(root, "DELETE", `/api/admin/orbs/sets/entries/${id}?purge=true&${within}`),
      await as(root, "GET", `/api/admin/orbs/sets?revision=published&${within}`),
      await as(root, "PUT", `/api/admin/orbs/sets?publish=true&${within}`, DOCUMENT),
    ];
    expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 400));
    expect((await as(people.editor, "PATCH", `${pages}/${id}?change=none`, { values: {} })).body.code).toBe(
      "change_not_found",
    );
    await as(people.editor, "DELETE", `${pages}/${id}`);
  });

  test("works for platform admins, also with operations", async () => {
    const id = await page("P", 1);
    const set = await opened(root);
    const entries = "/api/admin/orbs/sets/entries";
    expect((await as(root, "POST", `${entries}/${id}/unpublish?change=${set}`)).body.status).toBe(
      "UNPUBLISHED",
    );
    expect((await as(root, "GET", `${entries}/${id}?change=${set}`)).body.status).toBe("UNPUBLISHED");
    const listed = await as(
      root,
      "GET",
      `${entries}?module=pages&schema=page&status=UNPUBLISHED&change=${set}`,
    );
    expect(listed.body.items.map((one: { id: string }) => one.id)).toContain(id);
    expect((await as(root, "GET", `${entries}/${id}`)).body.status).toBe("PUBLISHED");
    const { body } = await as(root, "POST", `/api/admin/orbs/sets/changes/${set}/publish`, {});
    expect(body.items).toMatchObject([{ id, status: "UNPUBLISHED" }]);
    expect(
      (await as(root, "POST", `/api/admin/orbs/sets/changes/${await opened(root)}/publish`, {})).body.code,
    ).toBe("change_empty");
  });
});

test("schedules a set for callers who may publish it, and lists the sets of an entry", async () => {
  const { writer, editor } = people;
  const id = await page("Old", 1);
  const publishAt = new Date(Date.now() + 3_600_000).toISOString();
  const refused = await as(writer, "POST", "/api/sets/changes", { title: "Sale", publishAt });
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  const made = await as(editor, "POST", "/api/sets/changes", { title: "Sale", publishAt });
  expect(made.body).toMatchObject({
    state: "OPEN",
    publishAt,
    plannedBy: made.body.createdBy,
    refused: null,
  });
  const path = `/api/sets/changes/${made.body.id}`;
  const empty = await as(editor, "PATCH", path, { publishAt });
  expect([empty.status, empty.body.code]).toEqual([409, "change_empty"]);
  const write = { values: { title: { en: "New" } } };
  expect((await as(editor, "PATCH", `${pages}/${id}?change=${made.body.id}`, write)).status).toBe(200);
  const past = await as(editor, "PATCH", path, { publishAt: "2020-01-01T00:00:00Z" });
  expect([past.status, past.body.errors]).toMatchObject([422, [{ path: "/publishAt", code: "range" }]]);
  expect((await as(editor, "PATCH", path, { publishAt: "tomorrow" })).status).toBe(422);
  const other = await as(editor, "PATCH", path, { publishAt, hash: "other" });
  expect([other.status, other.body.code]).toEqual([412, "hash_mismatch"]);
  const alone = await as(editor, "PATCH", path, { hash: made.body.hash });
  expect([alone.status, alone.body.errors]).toMatchObject([422, [{ path: "/publishAt", code: "required" }]]);
  const { hash } = (await as(editor, "GET", path)).body;
  expect((await as(editor, "PATCH", path, { publishAt, hash })).body).toMatchObject({
    state: "SCHEDULED",
    publishAt,
  });
  const list = async (entry: string) => as(editor, "GET", `/api/sets/changes?filter[entry]=${entry}`);
  const found = await list(`pages/page/${id}`);
  expect(found.body.items).toMatchObject([{ id: made.body.id, state: "SCHEDULED", publishAt }]);
  expect((await list(`press/release/${id}`)).body).toEqual({ items: [], nextCursor: null });
  expect((await list(`pages/page/${"0".repeat(24)}`)).body.items).toEqual([]);
  const unknown = await list(`attic/page/${id}`);
  expect([unknown.status, unknown.body.code]).toEqual([404, "schema_not_found"]);
  expect((await list(id)).status).toBe(400);
  const given = await as(editor, "PATCH", path, { publishAt: null });
  expect(given.body).toMatchObject({ state: "OPEN", publishAt: null, plannedBy: null });
});

test("lets only callers plan a publication who may publish each entry", async () => {
  const { editor, reviewer } = people;
  const id = await page("Old", 1);
  const set = await opened(editor);
  const path = `/api/sets/changes/${set}`;
  await as(editor, "PATCH", `${pages}/${id}?change=${set}`, { values: { rank: 2 } });
  const price = { values: { amount: 1 } };
  const made = await as(editor, "POST", `/api/sets/shop/price?change=${set}`, price);
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  const publishAt = new Date(Date.now() + 3_600_000).toISOString();
  const refused = await as(editor, "PATCH", path, { publishAt });
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  expect((await as(editor, "GET", path)).body).toMatchObject({ state: "OPEN", publishAt: null });
  await as(editor, "DELETE", `${path}/entries/${made.body.id}`);
  expect((await as(editor, "PATCH", path, { publishAt })).body.state).toBe("SCHEDULED");
  // A reviewer may read the set, but not the draft in it.
  const list = (who: SignedIn, entry: string) =>
    as(who, "GET", `/api/sets/changes?filter[entry]=pages/page/${entry}`);
  const draft = await as(editor, "POST", `${pages}?change=${set}`, { values: { rank: 3 } });
  expect(draft.status).toBe(201);
  expect((await as(reviewer, "GET", path)).status).toBe(200);
  expect((await list(editor, draft.body.id)).body.items).toMatchObject([{ id: set }]);
  expect((await list(reviewer, draft.body.id)).body).toEqual({ items: [], nextCursor: null });
  expect((await list(reviewer, id)).body.items).toMatchObject([{ id: set }]);
});

test("publishes an overdue set after a request has read it, where no hooks process runs", async () => {
  const { editor } = people;
  const id = await page("Old", 1);
  const set = await opened(editor);
  await as(editor, "PATCH", `${pages}/${id}?change=${set}`, { values: { title: { en: "Late" } } });
  const publishAt = new Date(Date.now() + 1_000).toISOString();
  const planned = await as(editor, "PATCH", `/api/sets/changes/${set}`, { publishAt });
  expect(planned.body.state).toBe("SCHEDULED");
  await until(
    async () => (await as(editor, "GET", `/api/sets/changes/${set}`)).body.state,
    (state) => state === "PUBLISHED",
  );
  expect((await as(undefined, "GET", `${pages}/${id}`)).body.values.title).toBe("Late");
});

test("takes back what an agent has proposed, if it was published", async () => {
  const { editor } = people;
  const id = await page("Old", 1);
  const agent = await createToken(platform, "/api/sets", editor.token, [scope("sets", "read", "propose")]);
  const undo = `/api/sets/changes/tokens/${agent.id}/undo`;
  const nothing = await as(editor, "POST", undo);
  expect([nothing.status, nothing.body.code]).toEqual([409, "change_empty"]);
  for (const rank of [2, 3]) {
    const set = await opened(agent.token);
    const wrote = await as(agent.token, "PATCH", `${pages}/${id}?change=${set}`, { values: { rank } });
    expect(wrote.status).toBe(200);
    expect((await as(editor, "POST", `/api/sets/changes/${set}/publish`, {})).status).toBe(200);
  }
  const made = await as(editor, "POST", undo);
  expect([made.status, made.body.more, made.body.undoes.length]).toEqual([201, false, 2]);
  expect(made.headers.get("location")).toBe(`/api/sets/changes/${made.body.id}`);
  expect((await as(undefined, "GET", `${pages}/${id}`)).body.values.rank).toBe(3);
  expect((await as(editor, "POST", `/api/sets/changes/${made.body.id}/publish`, {})).status).toBe(200);
  expect((await as(undefined, "GET", `${pages}/${id}`)).body.values.rank).toBe(1);
  const other = await as(editor, "GET", `/api/sets/changes/${made.body.undoes[0]}`);
  expect(other.body).toMatchObject({ state: "REVERTED", revertedBy: made.body.id, token: agent.id });
});
