/** Ways around the scopes of an API token, which must fail: streams, tickets, replays, references and imports. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { CANS } from "../../shared/access/credentials/rights.ts";
import { admin, adminToken, call, user } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;

const fields = [{ name: "title", type: "string" }];
const document = (id: string, more: object[] = []) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access: { read: "public", write: "user" }, fields: [...fields, ...more] }],
    },
  ],
});

beforeAll(async () => {
  platform = await startPlatform({ streams: true });
  root = await adminToken(platform);
  const author = { name: "about", type: "reference", ref: "inner/news/article" };
  for (const body of [document("inner"), document("outer", [author])])
    expect((await as(root, "POST", "/api/admin/orbs?publish=true", body)).status).toBe(201);
  for (const orb of ["inner", "outer"]) {
    const body = { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>` };
    expect((await as(root, "PUT", `/api/admin/streams/${orb}-live`, body)).status).toBe(201);
  }
});
afterAll(() => platform?.stop());

const as = (token: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  call(platform, method, path, {
    token,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  });
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code];

test("reads streams of its orbs alone, at the functions and at the streams process", async () => {
  const { token } = await createToken(platform, "/api/_auth", root, [
    scope("inner", "read"),
    scope("outer", "write"),
  ]);
  const whole = await createToken(platform, "/api/_auth", root, [scope("*", "read")]);
  for (const origin of [platform.origin, platform.streamsUrl]) {
    const read = async (bearer: string, name: string) => {
      const headers = { authorization: `Bearer ${bearer}` };
      const response = await fetch(`${origin}/api/streams/${name}${name === "" ? "" : "?offset=now"}`, {
        headers,
      });
      const text = await response.text();
      return [response.status, response.ok ? undefined : (JSON.parse(text) as { code: string }).code];
    };
    expect(await read(token, "inner-live")).toEqual([200, undefined]);
    for (const name of ["outer-live", "heartbeat", "wallet", ""])
      expect([name, ...(await read(token, name))]).toEqual([name, 403, "missing_scope"]);
    for (const name of ["inner-live", "outer-live", "heartbeat", ""])
      expect([name, ...(await read(whole.token, name))]).toEqual([name, 200, undefined]);
  }
});

test("a stream's ticket ends with the token that it was issued for, and stays within its scopes", async () => {
  const operator = await admin(platform);
  const made = await createToken(platform, "/api/_auth", operator.token, [scope("inner", "read")]);
  const { issueTicket } = await import("../../shared/streams/ticket.ts");
  const config = { jwtSigningKeys: platform.bindings.JWT_SIGNING_KEYS ?? "", publicUrl: platform.origin };
  const actor = {
    kind: "platform",
    sub: operator.id,
    name: "",
    email: null,
    sid: made.id,
    exp: Math.floor(Date.now() / 1000) + 600,
    token: { id: made.id, scopes: made.scopes },
  } as const;
  const read = async (name: string) => {
    const ticket = await issueTicket(config, actor, name, Date.now());
    return (await fetch(`${platform.streamsUrl}/api/streams/${name}?offset=now&ticket=${ticket}`)).status;
  };
  expect(await read("inner-live")).toBe(200);
  // The mapping of a name can change after the ticket was issued.
  expect(await read("outer-live")).toBe(403);
  await as(operator.token, "DELETE", `/api/_auth/tokens/${made.id}`);
  expect(await read("inner-live")).toBe(401);
});

test("gets no answer of an earlier request with the same Idempotency-Key without the scope for the request", async () => {
  const owner = await user(platform, "auth", "owner");
  const reader = await createToken(platform, "/api/auth", owner.token, [scope("*", "read")]);
  const writer = await createToken(platform, "/api/auth", owner.token, [scope("inner", "write")]);
  const headers = { "idempotency-key": "same" };
  const body = { values: { title: "once" } };
  const first = await as(owner.token, "POST", "/api/inner/news", body, headers);
  expect(first.status).toBe(201);
  expect(outcome(await as(reader.token, "POST", "/api/inner/news", body, headers))).toEqual([
    403,
    "missing_scope",
  ]);
  const again = await as(writer.token, "POST", "/api/inner/news", body, headers);
  expect([again.status, again.body.id]).toEqual([201, first.body.id]);
  const published = `/api/inner/news/${first.body.id}/publish`;
  expect((await as(owner.token, "POST", published, undefined, headers)).status).toBe(200);
  expect(outcome(await as(writer.token, "POST", published, undefined, headers))).toEqual([
    403,
    "missing_scope",
  ]);
  const ofOrb = { "idempotency-key": "orb" };
  const operator = await createToken(platform, "/api/_auth", root, [scope("*", "read", "write", "publish")]);
  expect((await as(root, "POST", "/api/admin/orbs", document("replayed"), ofOrb)).status).toBe(201);
  const replay = await as(operator.token, "POST", "/api/admin/orbs", document("replayed"), ofOrb);
  expect(outcome(replay)).toEqual([403, "missing_scope"]);
});

test("sees no entry of another orb through expand, and refers to none", async () => {
  const target = await as(root, "POST", "/api/inner/news?publish=true", { values: { title: "target" } });
  const about = target.body.id as string;
  const made = await as(root, "POST", "/api/outer/news?publish=true", { values: { title: "a", about } });
  expect(made.status).toBe(201);
  const outer = await createToken(platform, "/api/_auth", root, [scope("outer", "read", "write", "publish")]);
  const both = await createToken(platform, "/api/_auth", root, [
    scope("outer", "read"),
    scope("inner", "read"),
  ]);
  for (const path of [
    `/api/outer/news/${made.body.id}?expand=about`,
    "/api/admin/orbs/outer/entries?module=news&expand=about",
  ]) {
    const shown = async (token: string) => {
      const { status, body } = await as(token, "GET", path);
      expect(status).toBe(200);
      return (body.items?.[0] ?? body).expand.about as { id: string } | null;
    };
    expect((await shown(both.token))?.id).toBe(about);
    expect(await shown(outer.token)).toBeNull();
  }
  const refer = async (id: string) =>
    (await as(outer.token, "POST", "/api/outer/news", { values: { title: "b", about: id } })).body.errors;
  expect(await refer(about)).toEqual([expect.objectContaining({ path: "/values/about" })]);
  // An entry of another orb looks like one that does not exist.
  expect(await refer(about)).toEqual(await refer("0zzzzzzzzzzzzzzzzzzz"));
});

test("imports an orb only with everything that an import does", async () => {
  const file = await fetch(`${platform.origin}/api/admin/orbs/inner/export`, {
    headers: { authorization: `Bearer ${root}` },
  });
  const text = (await file.text()).replaceAll('"inner"', '"copied"').replaceAll("inner/", "copied/");
  const send = async (...can: (typeof CANS)[number][]) => {
    const { token } = await createToken(platform, "/api/_auth", root, [scope("*", ...can)]);
    const response = await fetch(`${platform.origin}/api/admin/orbs/import`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: text,
    });
    const body = (await response.json()) as { code?: string };
    return [response.status, body.code];
  };
  expect(await send("manage")).toEqual([403, "missing_scope"]);
  expect(await send("manage", "write")).toEqual([403, "missing_scope"]);
  expect(await send("read", "write", "publish")).toEqual([403, "missing_scope"]);
  expect((await as(root, "GET", "/api/admin/orbs/copied")).status).toBe(404);
  expect((await send("write", "publish", "manage"))[0]).toBe(201);
});

test("publishes nothing on the way of a write, and reveals nothing", async () => {
  const { token } = await createToken(platform, "/api/_auth", root, [scope("inner", "read", "write")]);
  const body = { values: { title: "quiet" } };
  for (const path of ["/api/inner/news", "/api/admin/orbs/inner/entries"]) {
    const sent = path.startsWith("/api/admin") ? { ...body, module: "news" } : body;
    expect(outcome(await as(token, "POST", `${path}?publish=true`, sent))).toEqual([403, "missing_scope"]);
    const made = await as(token, "POST", path, sent);
    expect(made.status).toBe(201);
    const one = `${path}/${made.body.id}`;
    expect(outcome(await as(token, "PUT", `${one}?publish=true`, body))).toEqual([403, "missing_scope"]);
    expect(outcome(await as(token, "POST", `${one}/publish`))).toEqual([403, "missing_scope"]);
    expect(outcome(await as(token, "GET", `${one}?reveal=true&revision=latest`))).toEqual([
      403,
      "missing_scope",
    ]);
    if (path.startsWith("/api/admin"))
      expect(outcome(await as(token, "DELETE", `${one}?purge=true`))).toEqual([403, "missing_scope"]);
    expect((await as(token, "DELETE", one)).status).toBe(204);
  }
});

test("never appears in a log, the audit log, a response or the broker", async () => {
  const { token, id } = await createToken(platform, "/api/_auth", root, [scope("*", ...CANS)]);
  const secret = token.slice(-49, -6);
  const seen: string[] = [];
  for (const path of [
    "/api/_auth/me",
    "/api/_auth/tokens",
    `/api/_auth/tokens/${id}`,
    "/api/admin/audit",
    `/api/auth/invitations/${token}`,
    `/api/inner/${token}`,
  ])
    seen.push(JSON.stringify((await as(token, "GET", path)).body));
  seen.push(JSON.stringify((await as(`${token}x`, "GET", "/api/_auth/me")).body), ...platform.logs);
  const store = platform.operatorStore();
  for (const stream of await store.streamNames(">")) {
    const { messages } = await store.scan(stream, ">", { fromSeq: 1, limit: 5_000, maxBytes: 50_000_000 });
    seen.push(...messages.map((message) => `${message.subject} ${message.text()}`));
  }
  expect(seen.filter((text) => text.includes(secret))).toEqual([]);
});
