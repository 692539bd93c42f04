/** Names of accounts: who changed something, also after the account was removed. */
import { beforeAll, describe, expect, test } from "vitest";
import { bucketsOf, keys } from "../../shared/access/realms.ts";
import { kvSubject, streams } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let rootId: string;

const document = (id: string, own: boolean) => ({
  id,
  uses: own ? [{ service: "access", handlers: ["passkey", "invitations"] }] : [],
  ...(own ? { roles: [{ id: "editor", name: "Editors" }] } : {}),
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: {
            read: ["public"],
            create: ["user"],
            update: [own ? "editor" : "admin"],
            publish: [own ? "editor" : "admin"],
            delete: ["admin"],
          },
          fields: [{ name: "title", type: "text" }],
        },
      ],
    },
  ],
});

interface Named {
  id: string;
  name: string;
  realm: string;
  removed?: true;
}
const ask = (token: string | undefined, query: string) =>
  call(platform, "GET", `/api/discovery/names?${query}`, token === undefined ? {} : { token });
const names = async (token: string, query: string): Promise<Named[]> => {
  const { status, body } = await ask(token, query);
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.items;
};
const rename = async (realm: string, token: string, name: string) =>
  expect((await call(platform, "PUT", `/api/${realm}/me`, { token, body: { name } })).status).toBe(200);

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  root = await adminToken(platform);
  rootId = (await call(platform, "GET", "/api/_auth/me", { token: root })).body.id;
  for (const [id, own] of [
    ["named", true],
    ["namedtoo", true],
    ["sharing", false],
  ] as const)
    await createOrb(platform, root, document(id, own));
});

describe("names by id", () => {
  test("are of users, of platform admins and of removed accounts; unknown ids are left out", async () => {
    const editor = await user(platform, "named", "editor");
    const other = await user(platform, "named", "user");
    await rename("named", editor.token, "Ada Lovelace");
    await rename("named", other.token, "Grace Hopper");
    const query = `orb=named&ids=${[editor.id, other.id, rootId, "scheduler", "0".repeat(32), "a.b", ""].join()}`;
    const { name: rootName } = (await call(platform, "GET", "/api/_auth/me", { token: root })).body;
    const expected = [
      { id: editor.id, name: "Ada Lovelace", realm: "named" },
      { id: other.id, name: "Grace Hopper", realm: "named" },
      { id: rootId, name: rootName, realm: "platform" },
    ];
    const sorted = (all: Named[]) => all.toSorted((a, b) => a.name.localeCompare(b.name));
    expect(sorted(await names(root, query))).toEqual(sorted(expected));
    expect(sorted(await names(editor.token, query))).toEqual(sorted(expected));

    expect((await call(platform, "DELETE", `/api/named/users/${other.id}`, { token: root })).status).toBe(
      204,
    );
    expect(await names(editor.token, `orb=named&ids=${other.id}`)).toEqual([
      { id: other.id, name: "Grace Hopper", realm: "named", removed: true },
    ]);
    // A removed account is in no list of accounts.
    const { body } = await call(platform, "GET", "/api/named/users?limit=100", { token: root });
    expect(body.items.map(({ id }: Named) => id)).not.toContain(other.id);
  });

  test("are of removed platform admins too", async () => {
    const made = await call(platform, "POST", "/api/_auth/admins", {
      token: root,
      body: { name: "Robot", service: true },
    });
    expect(
      (await call(platform, "DELETE", `/api/_auth/admins/${made.body.id}`, { token: root })).status,
    ).toBe(204);
    expect(await names(root, `ids=${made.body.id}`)).toEqual([
      { id: made.body.id, name: "Robot", realm: "platform", removed: true },
    ]);
    const { body } = await call(platform, "GET", "/api/_auth/admins", { token: root });
    expect(body.map(({ id }: Named) => id)).not.toContain(made.body.id);
  });

  test("are kept for a year after the removal of an account that belongs to no single orb", async () => {
    const shared = await user(platform, "auth", "user");
    const own = await user(platform, "named", "user");
    for (const [realm, { id }] of [
      ["auth", shared],
      ["named", own],
    ] as const)
      expect((await call(platform, "DELETE", `/api/${realm}/users/${id}`, { token: root })).status).toBe(204);
    const store = platform.operatorStore();
    const ttlOf = async (realm: string, id: string) => {
      const bucket = bucketsOf(realm).accounts;
      const subject = kvSubject(bucket, keys.former({ name: realm }, id));
      return (await store.get(streams.kv(bucket), subject))?.header("Nats-TTL");
    };
    expect(await ttlOf("auth", shared.id)).toBe(`${365 * 86_400}s`);
    expect(await ttlOf("named", own.id)).toBeUndefined();
    expect(await names(root, `ids=${shared.id}`)).toMatchObject([{ id: shared.id, removed: true }]);
  });

  test("are of shared accounts in an orb without accounts of its own", async () => {
    const shared = await user(platform, "auth", "user");
    await rename("auth", shared.token, "Shared Sam");
    const expected = [{ id: shared.id, name: "Shared Sam", realm: "auth" }];
    expect(await names(root, `orb=sharing&ids=${shared.id}`)).toEqual(expected);
    expect(await names(root, `ids=${shared.id}`)).toEqual(expected);
  });

  test("are not of accounts of another orb", async () => {
    const editor = await user(platform, "named", "editor");
    const stranger = await user(platform, "namedtoo", "user");
    expect(await names(editor.token, `orb=named&ids=${stranger.id}`)).toEqual([]);
    const { status, body } = await ask(editor.token, `orb=namedtoo&ids=${stranger.id}`);
    expect([status, body.code]).toEqual([403, "other_realm"]);
  });

  test("are only for callers who may read the history of entries", async () => {
    const plain = await user(platform, "named", "user");
    expect((await ask(plain.token, `orb=named&ids=${rootId}`)).status).toBe(403);
    const editor = await user(platform, "named", "editor");
    expect((await ask(editor.token, `ids=${rootId}`)).status).toBe(403);
    expect((await ask(undefined, `orb=named&ids=${rootId}`)).status).toBe(401);
    expect((await ask(undefined, `orb=nobody&ids=${rootId}`)).status).toBe(401);
    for (const [path, owner] of [
      ["/api/named", editor.token],
      ["/api/_auth", root],
    ] as const) {
      const reading = await createToken(platform, path, owner, [scope("named", "read", "write")]);
      const refused = await ask(reading.token, `orb=named&ids=${rootId}`);
      expect([refused.status, refused.body.code]).toEqual([403, "missing_scope"]);
      const managing = await createToken(platform, path, owner, [scope("named", "read", "manage")]);
      expect((await ask(managing.token, `orb=named&ids=${rootId}`)).status).toBe(200);
    }
  });

  test("have a limit", async () => {
    const many = Array.from({ length: 101 }, (_, at) => String(at)).join();
    for (const query of ["", "orb=named", `ids=${many}`, "ids=a&search=b", "ids=a&foo=1"])
      expect([query, (await ask(root, query)).status]).toEqual([query, 400]);
    expect(await names(root, `ids=${many.slice(0, many.lastIndexOf(","))}`)).toEqual([]);
  });
});

describe("a search by name", () => {
  test("finds accounts of all realms, also removed ones, for those who may list accounts", async () => {
    const one = await user(platform, "named", "user");
    const two = await user(platform, "namedtoo", "admin");
    await rename("named", one.token, "Searched One");
    await rename("namedtoo", two.token, "Searched Two");
    await call(platform, "DELETE", `/api/named/users/${one.id}`, { token: root });
    expect(await names(root, "search=sEArched")).toEqual(
      expect.arrayContaining([
        { id: one.id, name: "Searched One", realm: "named", removed: true },
        { id: two.id, name: "Searched Two", realm: "namedtoo" },
      ]),
    );
    expect(await names(two.token, "orb=namedtoo&search=searched")).toEqual([
      { id: two.id, name: "Searched Two", realm: "namedtoo" },
    ]);
    const editor = await user(platform, "named", "editor");
    expect((await ask(editor.token, "orb=named&search=searched")).status).toBe(403);
    const { token } = await createToken(platform, "/api/_auth", root, [scope("*", "read")]);
    expect((await ask(token, "search=searched")).status).toBe(403);
  });

  test("returns at most 20 accounts", async () => {
    for (let at = 0; at < 21; at++)
      await call(platform, "POST", "/api/namedtoo/users", {
        token: root,
        body: { name: `Crowd ${at}`, service: true, role: "user" },
      });
    expect(await names(root, "orb=namedtoo&search=crowd")).toHaveLength(20);
  });
});

test("names of removed accounts go with their orb", async () => {
  await createOrb(platform, root, document("leftnames", true));
  const someone = await user(platform, "leftnames", "user");
  await call(platform, "DELETE", `/api/leftnames/users/${someone.id}`, { token: root });
  expect(await names(root, `orb=leftnames&ids=${someone.id}`)).toHaveLength(1);
  const orb = await call(platform, "GET", "/api/admin/orbs/leftnames", { token: root });
  await call(platform, "POST", "/api/admin/orbs/leftnames/archive", {
    token: root,
    headers: { "if-match": orb.headers.get("etag") ?? "" },
  });
  const archived = await call(platform, "GET", "/api/admin/orbs/leftnames", { token: root });
  const removed = await call(platform, "DELETE", "/api/admin/orbs/leftnames", {
    token: root,
    headers: { "if-match": archived.headers.get("etag") ?? "" },
  });
  expect([removed.status, removed.body?.errors]).toEqual([204, undefined]);
  expect(await names(root, `orb=leftnames&ids=${someone.id}`)).toEqual([]);
});
