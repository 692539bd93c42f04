/** API tokens and service accounts over HTTP. `credentials-walk.test.ts` tries every route with every credential. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { crc32 } from "../../shared/access/credentials/token-text.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, adminToken, begin, call, complete, type SignedIn, user } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { createService, createToken, inSeconds, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let store: Store;
let root: string;

const document = (id: string, own: boolean, more: object[] = []) => ({
  id,
  uses: own ? [{ service: "access", handlers: ["passkey", "invitations"] }] : [],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: { read: "user", write: "user" },
          fields: [{ name: "title", type: "string" }, ...more],
        },
      ],
    },
  ],
});

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  store = platform.operatorStore();
  root = await adminToken(platform);
  for (const [id, own] of [
    ["shop", true],
    ["blog", false],
  ] as const) {
    const body = document(id, own);
    expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token: root, body })).status).toBe(
      201,
    );
  }
});
// All tests share one client address. Clear the rate limits between them.
beforeEach(async () => {
  await store.purge(streams.limits, "_limit.>");
});

const as = (token: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  call(platform, method, path, {
    token,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  });
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code];
const me = (token: string, base = "/api/_auth") => as(token, "GET", `${base}/me`);

test("an end takes every form of a moment that values take, and so does a filter of the audit log", async () => {
  const day = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  for (const [text, instant] of [
    [`${day}T10:00:00+0200`, `${day}T08:00:00.000Z`],
    [`${day} 10:00+02`, `${day}T08:00:00.000Z`],
    [`${day}T10:00:30,5Z`, `${day}T10:00:30.500Z`],
  ] as const) {
    const body = { name: "ci", scopes: [scope("shop", "read")], expiresAt: text };
    const made = await as(root, "POST", "/api/_auth/tokens", body);
    expect([made.status, made.body.expiresAt]).toEqual([201, instant]);
    const query = `filter[at][lte]=${encodeURIComponent(text)}&limit=1`;
    expect((await as(root, "GET", `/api/admin/audit?${query}`)).body.items).toHaveLength(1);
  }
  for (const text of [`${day}T10:00:00`, `${day}T25:00Z`, "2026-02-30T10:00:00Z", "tomorrow"]) {
    const body = { name: "ci", scopes: [scope("shop", "read")], expiresAt: text };
    const refused = await as(root, "POST", "/api/_auth/tokens", body);
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, "/expiresAt"]);
    const query = `filter[at][gte]=${encodeURIComponent(text)}`;
    expect((await as(root, "GET", `/api/admin/audit?${query}`)).status).toBe(400);
  }
});

async function secondAdmin(): Promise<SignedIn> {
  const { body } = await as(root, "POST", "/api/_auth/invitations");
  const { register } = await import("../support/auth.ts");
  return register(platform, "/api/_auth", body.token);
}

describe("an API token", () => {
  test.each(["/api/_auth", "/api/auth", "/api/shop"])(
    "is created, listed, used and revoked at %s",
    async (base) => {
      const realm = base.slice("/api/".length);
      const owner = realm === "_auth" ? await admin(platform) : await user(platform, realm);
      const expiresAt = inSeconds(86_400);
      const body = {
        name: "CI of the shop",
        expiresAt,
        scopes: [scope(realm === "shop" ? "shop" : "*", "read")],
      };
      const made = await as(owner.token, "POST", `${base}/tokens`, body);
      expect(made.status).toBe(201);
      expect(made.headers.get("cache-control")).toBe("no-store");
      const { id, token, ...rest } = made.body;
      expect(rest).toEqual({ ...body, createdAt: expect.any(String), createdBy: owner.id });
      const listed = await as(owner.token, "GET", `${base}/tokens`);
      expect(listed.status).toBe(200);
      expect(listed.body.at(-1)).toEqual({ id, ...rest, lastUsedAt: null });
      expect(JSON.stringify(listed.body)).not.toContain(token.slice(-50));
      const one = await as(owner.token, "GET", `${base}/tokens/${id}`);
      expect(one.body).toEqual({ id, ...rest, lastUsedAt: null });
      expect((await me(token, base)).body).toMatchObject({ id: owner.id });
      expect((await as(owner.token, "DELETE", `${base}/tokens/${id}`)).status).toBe(204);
      expect(outcome(await me(token, base))).toEqual([401, "invalid_token"]);
      expect(outcome(await as(owner.token, "GET", `${base}/tokens/${id}`))).toEqual([
        404,
        "api_token_not_found",
      ]);
      expect((await as(owner.token, "DELETE", `${base}/tokens/${id}`)).status).toBe(404);
    },
  );

  test("is stored as a hash", async () => {
    const { token } = await createToken(platform, "/api/_auth", root, [scope("*", "read")]);
    const stored = await store.kvList(buckets.apiTokens, ">", { maxBytes: 1_000_000 });
    const text = stored.map((entry) => entry.key + entry.text()).join("\n");
    expect(text).not.toContain(token.slice(-49));
    expect(text).not.toContain(token.slice(-49, -6));
  });

  test("is refused with one text for every reason", async () => {
    const owner = await user(platform, "shop");
    const good = await createToken(platform, "/api/shop", owner.token, [scope("shop", "read")]);
    const other = await createToken(platform, "/api/shop", owner.token, [scope("shop", "read")]);
    const withChecksum = (body: string) => {
      const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
      let rest = crc32(body);
      let sum = "";
      for (let i = 0; i < 6; i++) {
        sum = `${digits[rest % 62]}${sum}`;
        rest = Math.floor(rest / 62);
      }
      return body + sum;
    };
    const body = good.token.slice(0, -6);
    const secret = body.slice(-43);
    expect(withChecksum(body)).toBe(good.token);
    const wrong = {
      "another secret": withChecksum(body.slice(0, -43) + "A".repeat(43)),
      "the secret of another token": withChecksum(body.slice(0, -43) + other.token.slice(-49, -6)),
      "another id": withChecksum(body.replace(good.id, "0".repeat(20))),
      "another account": withChecksum(body.replace(owner.id, "0".repeat(32))),
      "another realm": withChecksum(body.replace("orbtok_shop_", "orbtok_auth_")),
      "the platform's realm": withChecksum(body.replace("orbtok_shop_", "orbtok_platform_")),
      "a wrong checksum": `${body}000000`,
      "no checksum": body,
      "the secret alone": `orbtok_${secret}`,
      "other characters": "orbtok_~_+_.",
    };
    const answers = new Set<string>();
    for (const [name, token] of Object.entries(wrong)) {
      const { status, body: problem, headers } = await me(token, "/api/shop");
      expect([name, status]).toEqual([name, 401]);
      expect(headers.get("www-authenticate")).toContain("invalid_token");
      answers.add(JSON.stringify(problem));
    }
    expect(answers.size).toBe(1);
    expect((await me(good.token, "/api/shop")).status).toBe(200);
  });

  test("ends at its expiry, and is no cookie", async () => {
    const short = await createToken(platform, "/api/_auth", root, [scope("*", "read")], {
      expiresAt: inSeconds(2),
    });
    expect((await me(short.token)).status).toBe(200);
    for (const name of ["session_platform", "session_auth"]) {
      const { status } = await call(platform, "GET", "/api/_auth/me", {
        headers: { cookie: `${name}=${short.token}` },
      });
      expect(status).toBe(401);
    }
    await until(async () => (await me(short.token)).status === 401);
    const { body } = await as(root, "GET", "/api/_auth/tokens");
    await until(
      async () => !JSON.stringify((await as(root, "GET", "/api/_auth/tokens")).body).includes(short.id),
    );
    expect(Array.isArray(body)).toBe(true);
  });

  test("follows the account: role, status and removal count at the time of use", async () => {
    const owner = await user(platform, "auth", "admin");
    const { token } = await createToken(platform, "/api/auth", owner.token, [scope("*", "manage")]);
    const list = () => as(token, "GET", "/api/auth/users");
    const change = (body: object) => as(root, "PUT", `/api/auth/users/${owner.id}`, body);
    expect((await list()).status).toBe(200);
    expect((await change({ role: "user" })).status).toBe(200);
    expect(outcome(await list())).toEqual([403, "forbidden"]);
    expect((await change({ role: "admin" })).status).toBe(200);
    expect((await list()).status).toBe(200);
    expect((await change({ status: "disabled" })).status).toBe(200);
    expect(outcome(await list())).toEqual([401, "invalid_token"]);
    expect((await change({ status: "active" })).status).toBe(200);
    expect((await list()).status).toBe(200);
    expect((await as(root, "DELETE", `/api/auth/users/${owner.id}`)).status).toBe(204);
    expect(outcome(await list())).toEqual([401, "invalid_token"]);
    const left = await store.kvList(buckets.apiTokens, `auth.${owner.id}.*`, { maxBytes: 100_000 });
    expect(left).toEqual([]);
  });

  test("ends with the orb that its account belongs to", async () => {
    const body = document("gone", true);
    expect((await as(root, "POST", "/api/admin/orbs?publish=true", body)).status).toBe(201);
    const owner = await user(platform, "gone");
    const { token } = await createToken(platform, "/api/gone", owner.token, [scope("gone", "read")]);
    expect((await me(token, "/api/gone")).status).toBe(200);
    expect((await as(root, "DELETE", "/api/admin/orbs/gone")).status).toBe(204);
    expect((await as(root, "POST", "/api/admin/orbs?publish=true", body)).status).toBe(201);
    expect(outcome(await me(token, "/api/gone"))).toEqual([401, "invalid_token"]);
    expect(await store.kvList(buckets.apiTokens, "gone.>", { maxBytes: 100_000 })).toEqual([]);
  });

  test("records its last use once an hour, and the audit log names it with its owner", async () => {
    const owner = await secondAdmin();
    const made = await createToken(platform, "/api/_auth", owner.token, [scope("*", "manage")]);
    const used = async () =>
      (await as(owner.token, "GET", `/api/_auth/tokens/${made.id}`)).body.lastUsedAt as string | null;
    await Promise.all(Array.from({ length: 20 }, () => me(made.token)));
    await until(async () => (await used()) !== null);
    const [first] = await store.kvList(buckets.apiTokens, `platform.${owner.id}.*`, { maxBytes: 100_000 });
    await Promise.all(Array.from({ length: 20 }, () => me(made.token)));
    const invited = await as(made.token, "POST", "/api/_auth/invitations");
    expect(invited.status).toBe(201);
    const [last] = await store.kvList(buckets.apiTokens, `platform.${owner.id}.*`, { maxBytes: 100_000 });
    expect(last?.revision).toBe(first?.revision);
    const filter = `filter[actor]=${owner.id}&limit=10`;
    const { items } = (await as(root, "GET", `/api/admin/audit?${filter}`)).body;
    const records = items as { action: string; token?: string; target: string; detail: string }[];
    expect(records.find(({ action }) => action === "invitation")).toMatchObject({ token: made.id });
    const created = records.find(({ action }) => action === "token");
    expect(created).toMatchObject({ target: `${owner.id}/${made.id}`, detail: "created" });
    expect(created).not.toHaveProperty("token");
  });
});

describe("creating an API token", () => {
  const faultsOf = async (by: string, base: string, body: object) => {
    const valid = {
      name: "ci",
      expiresAt: inSeconds(60),
      scopes: [scope(base === "/api/shop" ? "shop" : "*", "read")],
    };
    const answer = await as(by, "POST", `${base}/tokens`, { ...valid, ...body });
    if (answer.status !== 422) return [String(answer.status)];
    return (answer.body.errors as { path: string; code: string }[]).map(
      ({ path, code }) => `${path} ${code}`,
    );
  };

  test("refuses invalid input, and reports every fault", async () => {
    const member = await user(platform, "shop", "owner");
    const bad: [object, RegExp][] = [
      [{ name: "" }, /^\/name too_short$/],
      [{ name: "a\nb" }, /^\/name /],
      [{ expiresAt: inSeconds(-1) }, /^\/expiresAt too_early$/],
      [{ expiresAt: inSeconds(367 * 86_400) }, /^\/expiresAt too_late$/],
      [{ expiresAt: "tomorrow" }, /^\/expiresAt/],
      [{ expiresAt: null }, /^\/expiresAt/],
      [{ expiresAt: undefined }, /^\/expiresAt/],
      [{ scopes: [] }, /^\/scopes /],
      [{ scopes: [{ orb: "*", can: [] }] }, /^\/scopes\/0\/can /],
      [{ scopes: [{ orb: "*", can: ["read", "read"] }] }, /^\/scopes\/0\/can duplicate$/],
      [{ scopes: [{ orb: "*", can: ["fly"] }] }, /^\/scopes\/0\/can\/0 /],
      [{ scopes: [{ orb: "*.>", can: ["read"] }] }, /^\/scopes\/0\/orb /],
      [{ scopes: [{ orb: "*", can: ["read"], more: 1 }] }, /^\/scopes\/0\/more unknown_property$/],
      [{ token: "mine" }, /^\/token unknown_property$/],
    ];
    for (const [body, expected] of bad)
      expect((await faultsOf(root, "/api/_auth", body))[0]).toMatch(expected);
    // A user names the own orb alone, and never creates a token without an end.
    for (const orb of ["*", "blog", "platform"])
      expect(await faultsOf(member.token, "/api/shop", { scopes: [scope(orb, "read")] })).toEqual([
        "/scopes/0/orb not_allowed",
      ]);
    expect(await faultsOf(member.token, "/api/shop", { expiresAt: "never" })).toEqual([
      "/expiresAt not_allowed",
    ]);
    expect(await faultsOf(member.token, "/api/shop", {})).toEqual(["201"]);
    expect(await faultsOf(root, "/api/_auth", { expiresAt: "never" })).toEqual(["201"]);
    expect(await faultsOf(root, "/api/_auth", { expiresAt: inSeconds(365 * 86_400) })).toEqual(["201"]);
    const shared = await user(platform, "auth");
    expect(await faultsOf(shared.token, "/api/auth", { scopes: [scope("blog", "read")] })).toEqual(["201"]);
  });

  test("is possible with a token that has the scope manage, and grants no right that this token lacks", async () => {
    const owner = await secondAdmin();
    const parent = await createToken(platform, "/api/_auth", owner.token, [
      scope("*", "manage", "read"),
      scope("blog", "write"),
    ]);
    const reader = await createToken(platform, "/api/_auth", owner.token, [
      scope("*", "read", "write", "publish"),
    ]);
    const make = (by: string, scopes: object[], expiresAt = inSeconds(60)) =>
      as(by, "POST", "/api/_auth/tokens", { name: "child", expiresAt, scopes });
    expect(outcome(await make(reader.token, [scope("*", "read")]))).toEqual([403, "missing_scope"]);
    expect((await make(parent.token, [scope("*", "read"), scope("blog", "write")])).status).toBe(201);
    for (const scopes of [[scope("*", "write")], [scope("shop", "write")], [scope("blog", "publish")]])
      expect(outcome(await make(parent.token, scopes))).toEqual([403, "missing_scope"]);
    for (const late of [inSeconds(7200), "never"]) {
      const answer = await make(parent.token, [scope("*", "read")], late);
      expect(answer.body.errors).toMatchObject([{ path: "/expiresAt", code: "too_late" }]);
    }
    const one = await createToken(platform, "/api/_auth", owner.token, [scope("shop", "manage")]);
    expect(outcome(await make(one.token, [scope("shop", "manage")]))).toEqual([403, "missing_scope"]);
  });

  test("stores at most 50 for an account, however many requests arrive at once", async () => {
    const owner = await user(platform, "shop");
    const create = () =>
      as(owner.token, "POST", "/api/shop/tokens", {
        name: "x",
        expiresAt: inSeconds(600),
        scopes: [scope("shop", "read")],
      });
    for (let i = 0; i < 3; i++) expect((await create()).status).toBe(201);
    const answers = await Promise.all(Array.from({ length: 60 }, create));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(47);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(outcome(answer)).toEqual([409, "too_many_tokens"]);
    const listed = await as(owner.token, "GET", "/api/shop/tokens");
    expect(listed.body).toHaveLength(50);
    expect((await as(owner.token, "DELETE", `/api/shop/tokens/${made[0]?.body.id}`)).status).toBe(204);
    expect((await create()).status).toBe(201);
  });

  test("leaves no usable token if the account is removed at the same time", async () => {
    for (let round = 0; round < 6; round++) {
      const owner = await user(platform, "auth");
      const body = { name: "x", expiresAt: inSeconds(600), scopes: [scope("*", "read")] };
      const creations = Array.from({ length: 4 }, () => as(owner.token, "POST", "/api/auth/tokens", body));
      const removed = as(root, "DELETE", `/api/auth/users/${owner.id}`);
      const answers = await Promise.all(creations);
      expect((await removed).status).toBe(204);
      for (const { status, body: made } of answers) {
        expect([201, 401, 403, 404]).toContain(status);
        if (status === 201)
          expect(outcome(await me(made.token, "/api/auth"))).toEqual([401, "invalid_token"]);
      }
    }
  });
});

describe("a service account", () => {
  test.each(["/api/_auth", "/api/auth", "/api/shop"])("at %s has tokens but no passkeys", async (base) => {
    const id = await createService(platform, base, "admin");
    const orb = base === "/api/shop" ? "shop" : "*";
    const made = await createToken(platform, base, root, [scope(orb, "read", "manage")], { account: id });
    expect(made.createdBy).toBe((await admin(platform)).id);
    expect((await me(made.token, base)).body).toMatchObject({ id, service: true, passkeys: 0 });
    const listed = await as(root, "GET", `${base}/tokens?account=${id}`);
    expect(listed.body).toMatchObject([{ id: made.id }]);
    const adding = await begin(platform, base, { token: made.token, body: { add: true } });
    expect(outcome(adding.answer)).toEqual([409, "service_account"]);
    const gone = await as(
      root,
      "DELETE",
      base === "/api/_auth" ? `${base}/admins/${id}` : `${base}/users/${id}`,
    );
    expect(gone.status).toBe(204);
    expect(outcome(await me(made.token, base))).toEqual([401, "invalid_token"]);
  });

  test("is created by platform admins alone, and managed by those who may manage its role", async () => {
    const owner = await user(platform, "shop", "owner");
    const manager = await user(platform, "shop", "admin");
    const body = { name: "robot", service: true };
    expect(outcome(await as(owner.token, "POST", "/api/shop/users", body))).toEqual([403, "forbidden"]);
    expect((await as(root, "POST", "/api/shop/users", { name: "person" })).status).toBe(422);
    const simple = await createService(platform, "/api/shop", "user");
    const powerful = await createService(platform, "/api/shop", "owner");
    const create = (by: string, account: string) =>
      as(by, "POST", "/api/shop/tokens", {
        name: "x",
        expiresAt: inSeconds(60),
        scopes: [scope("shop", "read")],
        account,
      });
    expect((await create(manager.token, simple)).status).toBe(201);
    expect(outcome(await create(manager.token, powerful))).toEqual([403, "forbidden"]);
    expect((await create(owner.token, powerful)).status).toBe(201);
    // No one creates tokens that act as another person.
    const person = await user(platform, "shop");
    expect(outcome(await create(owner.token, person.id))).toEqual([403, "not_a_service_account"]);
    expect(outcome(await create(person.token, simple))).toEqual([403, "forbidden"]);
    expect(outcome(await create(owner.token, "f".repeat(32)))).toEqual([404, "user_not_found"]);
    const without = await as(root, "POST", "/api/shop/tokens", {
      name: "x",
      expiresAt: inSeconds(60),
      scopes: [scope("shop", "read")],
    });
    expect(without.body.errors).toMatchObject([{ path: "/account", code: "required" }]);
  });

  test("never counts as the last platform admin", async () => {
    const { startPlatform } = await import("../support/platform.ts");
    await using alone = await startPlatform();
    const only = await admin(alone);
    const robot = await createService(alone, "/api/_auth");
    const { token } = await createToken(alone, "/api/_auth", only.token, [scope("*", "manage")], {
      account: robot,
      expiresAt: "never",
    });
    const me2 = (by: string) => call(alone, "GET", "/api/_auth/me", { token: by });
    const remove = (by: string, id: string) =>
      call(alone, "DELETE", `/api/_auth/admins/${id}`, { token: by });
    expect(outcome(await remove(token, only.id))).toEqual([409, "last_admin"]);
    expect(outcome(await remove(only.token, only.id))).toEqual([409, "last_admin"]);
    expect((await remove(only.token, robot)).status).toBe(204);
    expect((await me2(only.token)).status).toBe(200);
  });
});

test("adds a passkey with a token only while the token lasts, and only with the scope manage", async () => {
  const owner = await user(platform, "auth");
  const reader = await createToken(platform, "/api/auth", owner.token, [
    scope("*", "read", "write", "publish"),
  ]);
  const denied = await begin(platform, "/api/auth", { token: reader.token, body: { add: true } });
  expect(outcome(denied.answer)).toEqual([403, "missing_scope"]);
  const manager = await createToken(platform, "/api/auth", owner.token, [scope("*", "manage")]);
  const add = async (end: boolean) => {
    const { sessionId, publicKey } = await begin(platform, "/api/auth", {
      token: manager.token,
      body: { add: true },
    });
    if (end) expect((await as(owner.token, "DELETE", `/api/auth/tokens/${manager.id}`)).status).toBe(204);
    return complete(platform, "/api/auth", sessionId, new Authenticator(platform.origin).create(publicKey));
  };
  expect((await add(false)).status).toBe(200);
  expect(outcome(await add(true))).toEqual([401, "passkey_refused"]);
});
