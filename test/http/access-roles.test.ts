/** Roles of an orb's own: who may get them, what they may do, and what happens when they change or end. */
import { beforeAll, describe, expect, test } from "vitest";
import { buckets } from "../../shared/store/subjects.ts";
import { adminToken, call, register, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const as = (by: SignedIn | string | undefined, method: string, path: string, body?: unknown) => {
  const sent = typeof by === "string" ? by : by?.token;
  return call(platform, method, path, {
    ...(sent === undefined ? {} : { token: sent }),
    ...(body === undefined ? {} : { body }),
  });
};

interface Role {
  id: string;
  name: string;
  extends?: "user" | "admin";
}
const EDITOR: Role = { id: "editor", name: "Editors" };
const CHIEF: Role = { id: "chief", name: "Chiefs", extends: "admin" };
const ACCESS = {
  read: ["public"],
  create: ["user"],
  update: ["own", "editor"],
  publish: ["editor"],
  delete: ["chief"],
};

const document = (id: string, roles: Role[] = [EDITOR, CHIEF], access: object = ACCESS) => ({
  id,
  ...(roles.length === 0 ? {} : { roles }),
  uses: [
    { service: "access", handlers: ["passkey", "invitations", "bootstrap"] },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access, fields: [{ name: "title", type: "string" }] }],
    },
    {
      id: "ledger",
      type: "TRANSACTIONS",
      schemas: [
        {
          id: "payment",
          access: roles.includes(EDITOR) ? { read: ["editor"], create: ["user"] } : {},
          fields: [{ name: "amount", type: "number" }],
        },
      ],
    },
    {
      id: "choices",
      type: "SETTINGS",
      schemas: [
        {
          id: "choice",
          access: roles.includes(EDITOR) ? { update: ["editor"] } : {},
          fields: [{ name: "theme", type: "string" }],
        },
      ],
    },
  ],
});

let number = 0;
async function newOrb(): Promise<string> {
  const orb = `roles${++number}`;
  expect((await as(token, "POST", "/api/admin/orbs?publish=true", document(orb))).status).toBe(201);
  return orb;
}
const republish = (orb: string, ...more: [roles?: Role[], access?: object]) =>
  as(token, "PUT", `/api/admin/orbs/${orb}?publish=true`, document(orb, ...more));

test("accounts get a role of the orb, and it decides what they may do", async () => {
  const orb = await newOrb();
  const people: Record<string, SignedIn | string | undefined> = { anonymous: undefined, platform: token };
  for (const role of ["user", "editor", "admin", "chief", "owner"])
    people[role] = await user(platform, orb, role);
  expect((await as(people.editor, "GET", `/api/${orb}/me`)).body.role).toBe("editor");
  const path = `/api/${orb}/news`;
  const made = async () =>
    (await as(people.user, "POST", path, { values: { title: "one" } })).body.id as string;
  const allowed = async (
    act: (by: SignedIn | string | undefined, id: string) => Promise<{ status: number }>,
  ) => {
    const names: string[] = [];
    for (const [name, by] of Object.entries(people)) {
      const { status } = await act(by, await made());
      if (status < 300) names.push(name);
      else expect([name, status]).toEqual([name, name === "anonymous" ? 401 : expect.toBeOneOf([403, 404])]);
    }
    return names;
  };
  const above = ["platform", "editor", "admin", "chief", "owner"];
  expect(await allowed((by, id) => as(by, "PUT", `${path}/${id}`, { values: { title: "two" } }))).toEqual([
    "platform",
    "user",
    ...above.slice(1),
  ]);
  expect(await allowed((by, id) => as(by, "POST", `${path}/${id}/publish`))).toEqual(above);
  expect(await allowed((by) => as(by, "POST", `${path}?publish=true`, { values: {} }))).toEqual(above);
  const chiefs = ["platform", "chief", "owner"];
  expect(await allowed((by, id) => as(by, "POST", `${path}/${id}/archive`))).toEqual(chiefs);
  expect(await allowed((by, id) => as(by, "DELETE", `${path}/${id}`))).toEqual(chiefs);
  const restored = async (by: SignedIn | string | undefined, id: string) => {
    await as(token, "POST", `${path}/${id}/archive`);
    return as(by, "POST", `${path}/${id}/restore`);
  };
  expect(await allowed(restored)).toEqual(chiefs);
  // Only callers who may update or publish read drafts.
  const drafts = await allowed((by, id) => as(by, "GET", `${path}/${id}?revision=latest`));
  expect(drafts).toEqual(["platform", "user", ...above.slice(1)]);
});

test("the answer of a write shows no values to callers who may not read drafts", async () => {
  const orb = await newOrb();
  const access = { read: ["admin"], create: ["user"], update: ["admin"], delete: ["editor"] };
  expect((await republish(orb, [EDITOR], access)).status).toBe(200);
  const editor = await user(platform, orb, "editor");
  const made = await as(token, "POST", `/api/${orb}/news`, { values: { title: "secret" } });
  const archived = await as(editor, "POST", `/api/${orb}/news/${made.body.id}/archive`);
  expect(archived).toMatchObject({ status: 200, body: { status: "ARCHIVED", values: {} } });
  expect(JSON.stringify(archived.body)).not.toContain("secret");
});

test("a list that names public lets anonymous callers write entries, which no account owns", async () => {
  const orb = await newOrb();
  const access = { read: ["admin"], create: ["public"], update: ["own"] };
  expect((await republish(orb, [EDITOR], access)).status).toBe(200);
  const path = `/api/${orb}/news`;
  const made = await as(undefined, "POST", path, { values: { title: "hello" } });
  expect(made).toMatchObject({ status: 201, body: { createdBy: "anonymous", values: { title: "hello" } } });
  expect((await as(undefined, "POST", `${path}?publish=true`, { values: {} })).status).toBe(401);
  for (const [by, status] of [
    [undefined, 401],
    [await user(platform, orb), 404],
    [await user(platform, orb, "editor"), 404],
    [await user(platform, orb, "admin"), 200],
  ] as const)
    expect((await as(by, "PUT", `${path}/${made.body.id}`, { values: {} })).status).toBe(status);
});

test("records and application settings are open to the roles that access names", async () => {
  const orb = await newOrb();
  const [editor, member] = [await user(platform, orb, "editor"), await user(platform, orb)];
  const record = await as(member, "POST", `/api/${orb}/record`, { values: { amount: 1 } });
  expect(record.status).toBe(200);
  const listed = async (by: SignedIn) => (await as(by, "POST", `/api/${orb}/list`, {})).body.items.length;
  expect(await listed(editor)).toBe(1);
  expect(await listed(await user(platform, orb))).toBe(0);
  const set = (by: SignedIn) =>
    as(by, "POST", `/api/${orb}/set`, { scope: "application", values: { theme: "dark" } });
  expect((await set(member)).status).toBe(403);
  expect((await set(editor)).status).toBe(200);
  const get = (by: SignedIn) => as(by, "POST", `/api/${orb}/get`, { scope: "application" });
  expect((await get(editor)).status).toBe(403);
});

describe("granting", () => {
  test("admins grant roles that extend user, owners every role", async () => {
    const orb = await newOrb();
    const [owner, admin, chief] = [
      await user(platform, orb, "owner"),
      await user(platform, orb, "admin"),
      await user(platform, orb, "chief"),
    ];
    const invite = async (by: SignedIn, role: string) =>
      (await as(by, "POST", `/api/${orb}/invitations`, { role })).status;
    for (const role of ["user", "editor", "chief", "admin", "owner"]) {
      expect(await invite(owner, role)).toBe(201);
      const low = role === "user" || role === "editor";
      expect(await invite(admin, role)).toBe(low ? 201 : 403);
      expect(await invite(chief, role)).toBe(low ? 201 : 403);
    }
    const member = await user(platform, orb);
    const change = (by: SignedIn, role: string) => as(by, "PUT", `/api/${orb}/users/${member.id}`, { role });
    expect((await change(admin, "chief")).status).toBe(403);
    expect((await change(admin, "editor")).body).toMatchObject({ role: "editor" });
    expect((await change(owner, "chief")).body).toMatchObject({ role: "chief" });
    expect((await change(admin, "user")).status).toBe(403);
    const listed = await as(owner, "GET", `/api/${orb}/users?filter[role]=chief`);
    expect(listed.body.items.map(({ id }: { id: string }) => id).sort()).toEqual(
      [chief.id, member.id].sort(),
    );
  });

  test("refuses unknown roles from every caller", async () => {
    const orb = await newOrb();
    const owner = await user(platform, orb, "owner");
    for (const role of ["ghost", "public", "own", "constructor", "Editor", ""]) {
      const refused = await as(owner, "POST", `/api/${orb}/invitations`, { role });
      expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: "/role", code: "enum" }] } });
      const unchanged = await as(owner, "PUT", `/api/${orb}/users/${owner.id}`, { role });
      expect(unchanged.status).toBe(422);
    }
    expect((await as(owner, "GET", `/api/${orb}/users?filter[role]=ghost`)).status).toBe(400);
    expect((await as(token, "POST", "/api/auth/invitations", { role: "editor" })).status).toBe(422);
  });
});

describe("changes of roles", () => {
  test("what a role extends counts at once", async () => {
    const orb = await newOrb();
    const editor = await user(platform, orb, "editor");
    const users = () => as(editor, "GET", `/api/${orb}/users`);
    expect((await users()).status).toBe(403);
    expect((await republish(orb, [{ ...EDITOR, extends: "admin" }, CHIEF])).status).toBe(200);
    expect((await users()).status).toBe(200);
    expect((await republish(orb)).status).toBe(200);
    expect((await users()).status).toBe(403);
  });

  test("a role that accounts or invitations have cannot be removed", async () => {
    const orb = await newOrb();
    const editor = await user(platform, orb, "editor");
    const invited = await as(token, "POST", `/api/${orb}/invitations`, { role: "editor" });
    const access = { ...ACCESS, update: ["own"], publish: ["admin"] };
    const remove = () => republish(orb, [CHIEF], access);
    const roles = (accounts: number, invitations: number) => ({
      status: 409,
      body: { code: "role_in_use", roles: [{ role: "editor", accounts, invitations }] },
    });
    expect(await remove()).toMatchObject(roles(1, 1));
    // A dry run says the same as the act that it stands for. A draft may leave the role out.
    const { body: stored } = await as(token, "GET", `/api/admin/orbs/${orb}`);
    const lacking = { ...stored, roles: [CHIEF], modules: document(orb, [CHIEF], access).modules };
    const dry = `/api/admin/orbs/${orb}?dryRun=true`;
    expect(await as(token, "PUT", `${dry}&publish=true`, lacking)).toMatchObject(roles(1, 1));
    expect((await as(token, "PUT", dry, lacking)).status).toBe(200);
    expect((await as(token, "DELETE", `/api/${orb}/invitations/${invited.body.token}`)).status).toBe(204);
    expect(await remove()).toMatchObject(roles(1, 0));
    // Without accounts of its own the orb has no roles either.
    const without = { ...document(orb, [], {}), uses: [] };
    expect(await as(token, "PUT", `/api/admin/orbs/${orb}?publish=true`, without)).toMatchObject(roles(1, 0));
    const moved = await as(token, "PUT", `/api/${orb}/users/${editor.id}`, { role: "user" });
    expect(moved.status).toBe(200);
    expect((await remove()).status).toBe(200);
  });

  test("of a registration and the removal of its role, at most one succeeds", async () => {
    const access = { ...ACCESS, update: ["own"], publish: ["admin"] };
    for (let round = 0; round < 6; round++) {
      const orb = await newOrb();
      const invited = await as(token, "POST", `/api/${orb}/invitations`, { role: "editor" });
      const invite = invited.body.token as string;
      const [registered, , removed] = await Promise.all([
        register(platform, `/api/${orb}`, invite).catch(() => undefined),
        round % 2 === 0 ? as(token, "DELETE", `/api/${orb}/invitations/${invite}`) : undefined,
        republish(orb, [CHIEF], access),
      ]);
      expect([200, 409]).toContain(removed.status);
      if (registered !== undefined) expect(removed.status).toBe(409);
    }
  });

  test("an account whose role is gone may do only what everyone may, and only owners manage it", async () => {
    const orb = await newOrb();
    const member = await user(platform, orb);
    const path = `/api/${orb}/news`;
    const own = (await as(member, "POST", path, { values: { title: "mine" } })).body.id as string;
    const store = platform.operatorStore();
    // This is how an account ends up if it registers while the role is removed.
    for (const [bucket, filter] of [
      [buckets.orbUsers, `${orb}.${member.id}`],
      [buckets.sessions, `${orb}.${member.id}.*`],
    ] as const)
      for (const entry of await store.kvList(bucket, filter, { maxBytes: 100_000 }))
        await store.kvPut(bucket, entry.key, JSON.stringify({ ...entry.json<object>(), role: "ghost" }));
    expect((await as(member, "GET", path)).status).toBe(200);
    expect((await as(member, "POST", path, { values: {} })).status).toBe(403);
    expect((await as(member, "PUT", `${path}/${own}`, { values: {} })).status).toBe(403);
    expect((await as(member, "POST", `/api/${orb}/list`, {})).status).toBe(403);
    expect((await as(member, "GET", `/api/${orb}/me`)).body.role).toBe("ghost");
    const admin = await user(platform, orb, "admin");
    const change = (by: SignedIn | string) =>
      as(by, "PUT", `/api/${orb}/users/${member.id}`, { role: "user" });
    expect((await change(admin)).status).toBe(403);
    expect((await change(await user(platform, orb, "owner"))).status).toBe(200);
  });
});

test("descriptions name the roles", async () => {
  const orb = await newOrb();
  const { body } = await as(undefined, "GET", `/api/openapi?orb=${orb}`);
  const publish = body.paths[`/api/${orb}/news/{id}/publish`].post;
  expect(publish["x-role"]).toBe("editor");
  expect(publish.description).toContain("The role `editor`; admins of the orb.");
  const discovered = await as(undefined, "GET", `/api/discovery?orb=${orb}`);
  const [found] = discovered.body.orbs;
  expect(found.roles).toEqual([
    { id: "editor", name: "Editors", extends: "user" },
    { id: "chief", name: "Chiefs", extends: "admin" },
  ]);
  expect(found.modules[0].schemas[0].access).toEqual(ACCESS);
});
