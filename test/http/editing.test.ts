/** The routes of forms at both addresses: unsaved changes that nobody else gets, and who edits an entry. */
import { beforeAll, expect, test } from "vitest";
import { unsavedKeys } from "../../shared/store/editing.ts";
import { buckets } from "../../shared/store/subjects.ts";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { createOrb } from "../support/orbs.ts";
import { createToken, scope } from "../support/tokens.ts";

const { platform, token: root, as, store } = await fileAdmin();
const ORB = "editing-forms";
const WORDS = "xylophone";

let ada: { id: string; token: string };
let bo: { id: string; token: string };
let entry: string;

const path = (base = `/api/${ORB}`) => `${base}/editing/news/article`;
const MANAGED = `/api/admin/orbs/${ORB}`;
const typed = (title: string) => ({ revision: 1, base: { values: {} }, draft: { values: { title } } });
const send = async (
  method: string,
  at: string,
  body: unknown,
  by: string,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${platform.origin}${at}`, {
    method,
    headers: { authorization: `Bearer ${by}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
};

beforeAll(async () => {
  await createOrb(platform, root, {
    id: ORB,
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "article",
            access: { read: "public", write: "admin" },
            fields: [{ name: "title", type: "string", search: true }],
          },
        ],
      },
    ],
  });
  [ada, bo] = await Promise.all([user(platform, ORB, "admin"), user(platform, ORB, "admin")]);
  const made = await as("POST", `/api/${ORB}/news`, { values: { title: "One" } }, ada.token);
  entry = made.body.id;
});

test("keeps unsaved changes for their account, at both addresses, and in no other answer", async () => {
  const at = `${path()}/${entry}/unsaved`;
  const made = await send("PUT", at, typed(WORDS), ada.token);
  expect(made).toMatchObject({ status: 200, body: { entry, draft: { values: { title: WORDS } }, left: [] } });
  const again = await send("PUT", at, typed(WORDS), ada.token);
  expect([again.status, again.body.code]).toEqual([412, "unsaved_mismatch"]);
  const { version } = made.body;
  expect((await send("PUT", at, typed(WORDS), ada.token, { "if-match": `"${version}"` })).status).toBe(200);
  const list = (by: string, base?: string, query = "") => send("GET", `${path(base)}${query}`, undefined, by);
  expect((await list(ada.token)).body.items).toHaveLength(1);
  expect((await list(ada.token, undefined, `?entry=${entry}`)).body.items).toHaveLength(1);
  expect((await list(ada.token, undefined, "?entry=9other")).body.items).toEqual([]);
  expect((await list(bo.token)).body.items).toEqual([]);
  expect((await list(root)).body.items).toEqual([]);
  expect((await list(root, MANAGED)).body.items).toEqual([]);
  expect((await list(ada.token, MANAGED)).status).toBe(403);
  const others = [
    `${MANAGED}/entries`,
    `${MANAGED}/entries/${entry}/revisions`,
    `${MANAGED}/search?q=${WORDS}`,
    `${MANAGED}/activity`,
    `${MANAGED}/export`,
    `/api/${ORB}/search?q=${WORDS}&revision=latest`,
  ];
  for (const other of others) {
    const response = await fetch(`${platform.origin}${other}`, {
      headers: { authorization: `Bearer ${root}` },
    });
    expect([other, response.status, (await response.text()).includes(WORDS)]).toEqual([other, 200, false]);
  }
  expect((await send("PUT", `${path(MANAGED)}/new-1/unsaved`, typed("root"), root)).status).toBe(200);
  expect((await list(root)).body.items).toMatchObject([{ entry: "new-1" }]);
  expect((await send("DELETE", `${path(MANAGED)}/new-1/unsaved`, undefined, root)).status).toBe(204);
  expect((await send("DELETE", at, undefined, ada.token)).status).toBe(204);
  expect((await list(ada.token)).body.items).toEqual([]);
});

test("is for sessions of editors, and takes no parameter without meaning", async () => {
  const at = `${path()}/${entry}`;
  const visitor = await user(platform, ORB, "user");
  const program = await createToken(platform, "/api/_auth", root, [scope("*", "read", "write", "manage")]);
  for (const [method, place, body] of [
    ["GET", path(), undefined],
    ["PUT", `${at}/unsaved`, typed("x")],
    ["DELETE", `${at}/unsaved`, undefined],
    ["PUT", `${at}/presence`, {}],
    ["DELETE", `${at}/presence`, undefined],
  ] as const) {
    const managed = place.replace(`/api/${ORB}`, MANAGED);
    const answers = [
      [place, "", 401],
      [place, visitor.token, 403],
      [place, program.token, 403],
      [managed, program.token, 403],
      [managed, ada.token, 403],
      [`${place}?locale=de`, ada.token, 400],
      [place.replace("article", "other"), ada.token, 404],
    ] as const;
    for (const [where, by, status] of answers) {
      const answer = await send(method, where, body, by);
      expect([method, where, by === program.token, answer.status]).toEqual([
        method,
        where,
        by === program.token,
        status,
      ]);
      if (by === program.token) expect(answer.body.code).toBe("session_required");
    }
  }
  expect((await send("PUT", `${at}/presence`, { field: "title", more: 1 }, ada.token)).status).toBe(422);
  expect((await send("PUT", `${path()}/new-1/presence`, {}, ada.token)).status).toBe(404);
  expect((await send("PUT", `${at}/unsaved`, { draft: {} }, ada.token)).status).toBe(422);
});

test("shows people who edit an entry to each other, whichever address they use", async () => {
  const at = (base?: string) => `${path(base)}/${entry}/presence`;
  expect((await send("PUT", at(), { field: "title" }, ada.token)).body).toEqual({ items: [], every: 10 });
  const seen = await send("PUT", at(MANAGED), {}, root);
  expect(seen.body.items).toMatchObject([{ by: { id: ada.id }, field: "title" }]);
  expect(seen.body.items[0].by.name).toEqual(expect.any(String));
  expect((await send("PUT", at(), { field: null }, ada.token)).body.items).toHaveLength(1);
  expect((await send("DELETE", at(MANAGED), undefined, root)).status).toBe(204);
  expect((await send("PUT", at(), {}, ada.token)).body.items).toEqual([]);
});

test("keeps nothing for a change set that does not exist, and touches nothing else", async () => {
  const at = `${path()}/${entry}/unsaved`;
  expect((await send("PUT", at, typed("mine"), ada.token)).status).toBe(200);
  for (const set of ["-", "~", "_", "none", "9none"]) {
    const anyway = { "if-match": "*" };
    const answer = await send("PUT", `${at}?change=${set}`, typed("other"), ada.token, anyway);
    expect([set, answer.status]).toEqual([set, 404]);
  }
  const { body } = await send("GET", `${path()}?entry=${entry}`, undefined, ada.token);
  expect(body.items).toMatchObject([{ draft: { values: { title: "mine" } } }]);
  expect((await send("DELETE", at, undefined, ada.token)).status).toBe(204);
});

test("is erased with the orb", async () => {
  const orb = "editing-gone";
  const modules = [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", fields: [{ name: "title", type: "string" }] }],
    },
  ];
  await createOrb(platform, root, { id: orb, modules });
  const at = `/api/admin/orbs/${orb}/editing/news/article/new-1/unsaved`;
  expect((await send("PUT", at, typed(WORDS), root)).status).toBe(200);
  const stored = () => store.kvList(buckets.unsaved, unsavedKeys.ofOrb(orb), { maxBytes: 1e6 });
  expect(await stored()).toHaveLength(1);
  expect((await as("DELETE", `/api/admin/orbs/${orb}`)).status).toBe(204);
  expect(await stored()).toEqual([]);
});
