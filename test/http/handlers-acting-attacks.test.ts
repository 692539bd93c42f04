/** Misuse of the credential with which a handler acts for its caller. */
import { generateKeyPairSync } from "node:crypto";
import { importJWK, type JWK, SignJWT } from "jose";
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../functions/app.ts";
import { generated, operationsOf } from "../../functions/discovery/document.ts";
import type { Service } from "../../shared/handlers/contract/kit.ts";
import { credentialOf, publishShop, serveShop } from "../support/acting.ts";
import { call, type SignedIn, user } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { stage } from "../support/services.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let service: Service;
let ann: SignedIn;

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
  service = await serveShop(client);
  await publishShop(platform, admin, "robbed");
  ann = await user(platform, "robbed");
});
afterAll(async () => {
  await service.stop();
  await client.close();
});

const NOTES = "/api/robbed/content/note";
const get = (token: string, path = NOTES) => call(platform, "GET", path, { token });

/** Returns the header and the claims of a token. */
const partsOf = (token: string) =>
  token
    .split(".", 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];

/** Signs claims with the key of the platform. */
async function signed(claims: object, header: object): Promise<string> {
  const [jwk] = JSON.parse(platform.bindings.JWT_SIGNING_KEYS ?? "[]") as JWK[];
  const key = await importJWK(jwk ?? {}, "EdDSA");
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", ...header }).sign(key);
}

test("is refused when it is forged, changed, expired or of another kind, always with the same answer", async () => {
  const { token } = await credentialOf(platform, "robbed", ann);
  const [header, claims] = partsOf(token);
  const [head = "", , signature = ""] = token.split(".");
  expect((await get(await signed(claims, header))).status).toBe(200);
  const past = Math.floor(Date.now() / 1000) - 60;
  const stranger = generateKeyPairSync("ed25519").privateKey;
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: "f".repeat(32) })).toString("base64url");
  const [sessionHeader, sessionClaims] = partsOf(ann.token);
  const { sid: _, ...withoutSession } = claims;
  const forged: Record<string, string> = {
    "another key": await new SignJWT(claims)
      .setProtectedHeader({ alg: "EdDSA", ...header } as { alg: string })
      .sign(stranger),
    "changed claims": `${head}.${changed}.${signature}`,
    expired: await signed({ ...claims, iat: past - 10, exp: past }, header),
    "without expiry": await signed({ ...claims, exp: undefined }, header),
    "another issuer": await signed({ ...claims, iss: "https://evil.example" }, header),
    "a session as a credential": await signed(sessionClaims, { ...sessionHeader, typ: header.typ }),
    "another type": await signed({ ...claims, type: "orb", role: "owner" }, header),
    "a credential with the header of a session": await signed(claims, sessionHeader),
    "an account without its session": await signed(withoutSession, header),
    "an account of another realm": await signed({ ...claims, realm: "auth" }, header),
    "a session of another account": await signed({ ...claims, sub: "f".repeat(32) }, header),
    wildcards: await signed({ ...claims, sub: "*", sid: ">" }, header),
  };
  const answers = new Set<string>();
  for (const [name, bad] of Object.entries(forged)) {
    const { status, body } = await get(bad);
    expect([name, status]).toEqual([name, 401]);
    answers.add(JSON.stringify(body));
  }
  expect(answers.size).toBe(1);
});

test("lives for the handler's timeout and a few seconds", async () => {
  const before = Date.now();
  const { token, expiresAt } = await credentialOf(platform, "robbed", ann);
  const [, { iat, exp }] = partsOf(token);
  expect(Number(exp) - Number(iat)).toBe(12);
  expect(Date.parse(expiresAt)).toBe(Number(exp) * 1000);
  expect(Number(iat) * 1000).toBeGreaterThan(before - 2_000);
});

test("ends with the session of the caller", async () => {
  const eve = await user(platform, "robbed");
  const probe = await credentialOf(platform, "robbed", eve);
  expect((await get(probe.token)).status).toBe(200);
  const out = await call(platform, "POST", "/api/robbed/signout", { token: eve.token });
  expect(out.status).toBe(204);
  expect((await get(probe.token)).status).toBe(401);
  const write = { token: probe.token, body: { values: { text: "late" } } };
  expect((await call(platform, "POST", NOTES, write)).status).toBe(401);
});

test("has the scopes of the API token that the caller sent, and ends with it", async () => {
  const [writer, both] = [
    await createToken(platform, "/api/robbed", ann.token, [scope("robbed", "write")]),
    await createToken(platform, "/api/robbed", ann.token, [scope("robbed", "read", "write")]),
  ];
  const note = { values: { text: "by a program" } };
  for (const [token, codes] of [
    [writer, [201, "missing_scope", "missing_scope"]],
    [both, [201, undefined, "missing_scope"]],
  ] as const) {
    const probe = await credentialOf(platform, "robbed", token);
    const made = await call(platform, "POST", NOTES, { token: probe.token, body: note });
    const read = await get(probe.token, `${NOTES}/${made.body.id}?revision=latest`);
    const publish = await call(platform, "POST", `${NOTES}/${made.body.id}/publish`, { token: probe.token });
    expect([made.status, read.body.code, publish.body.code]).toEqual(codes);
    const ended = await call(platform, "DELETE", `/api/robbed/tokens/${token.id}`, { token: ann.token });
    expect(ended.status).toBe(204);
    expect((await get(probe.token)).status).toBe(401);
  }
});

test("is refused in another orb, even in one that uses the same handler and accounts", async () => {
  await publishShop(platform, admin, "robbed-too");
  const probe = await credentialOf(platform, "robbed", { token: admin });
  for (const path of ["/content/note", "/content/stamp"]) {
    const { status, body } = await get(probe.token, `/api/robbed-too${path}`);
    expect([status, body.code]).toEqual([403, "handler_credential"]);
  }
  const record = await call(platform, "POST", "/api/robbed-too/record", {
    token: probe.token,
    body: { values: { count: 1, total: 1 } },
  });
  expect([record.status, record.body.code]).toEqual([403, "handler_credential"]);
});

test("is refused from a web page, and is no cookie", async () => {
  const { token } = await credentialOf(platform, "robbed", ann);
  const headersOfPages: Record<string, string>[] = [
    { origin: platform.origin },
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
  ];
  for (const headers of headersOfPages) {
    const { status, body } = await call(platform, "GET", NOTES, { token, headers });
    expect([status, body.code]).toEqual([403, "handler_credential"]);
    const tool = { name: "query_entries", arguments: { collection: "content/note" } };
    const asked = await call(platform, "POST", "/api/robbed/mcp", {
      token,
      headers,
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: tool },
    });
    expect(JSON.stringify(asked.body)).toContain("handler_credential");
  }
  const cookie = await call(platform, "GET", NOTES, { headers: { cookie: `session_robbed=${token}` } });
  expect([cookie.status, cookie.body.code]).toEqual([401, "authentication_required"]);
});

test("opens no other route, on no method, to a handler that acts for a platform admin", async () => {
  const { token } = await credentialOf(platform, "robbed", { token: admin });
  const { own } = createApp(() => ({}) as never);
  const operations = operationsOf(generated(own).paths);
  expect(operations.length).toBeGreaterThan(80);
  for (const { path, method } of operations) {
    const address = path.replace("{orbId}", "robbed").replace(/\{[A-Za-z]+\}/g, "some");
    const send = (by: { token?: string }) =>
      call(platform, method.toUpperCase(), address, {
        ...by,
        ...(["post", "put"].includes(method.toLowerCase()) ? { body: {} } : {}),
      });
    const [nobody, handler] = [await send({}), await send({ token })];
    // A route that needs no account gives every caller the same answer.
    const same = handler.status === nobody.status && handler.body?.code === nobody.body?.code;
    const refused = [401, 403].includes(handler.status);
    expect([method, path, handler.status, refused || same]).toEqual([method, path, handler.status, true]);
  }
});
