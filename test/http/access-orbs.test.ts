import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, signIn, user } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { activeRoutes } from "../support/described.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;

const ACCESS = { service: "access", handlers: ["passkey", "invitations", "bootstrap"] };

beforeAll(async () => {
  platform = await sharedPlatform();
});

describe("accounts of an orb", () => {
  const definition = {
    id: "crew",
    name: "Crew",
    uses: [ACCESS],
    modules: [
      {
        id: "notes",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            access: { read: "own", write: "user" },
            fields: [{ name: "text", type: "string" }],
          },
        ],
      },
    ],
  };
  const create = async () => {
    const token = await adminToken(platform);
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: definition });
    expect(made.status).toBe(201);
  };

  test("enforces roles and ownership, and accepts only the orb's own users", async () => {
    await create();
    const [one, two, manager] = await Promise.all([
      user(platform, "crew"),
      user(platform, "crew"),
      user(platform, "crew", "admin"),
    ]);
    const stranger = await user(platform, "auth", "owner");
    const write = (token?: string) =>
      call(platform, "POST", "/api/crew/notes?publish=true", {
        body: { values: { text: "mine" } },
        ...(token === undefined ? {} : { token }),
      });
    expect((await write()).status).toBe(401);
    expect((await write(stranger.token)).status).toBe(403);
    const made = await write(one.token);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ createdBy: one.id });
    const read = async (token: string) =>
      (await call(platform, "GET", `/api/crew/notes/${made.body.id}`, { token })).status;
    expect(await read(one.token)).toBe(200);
    expect([403, 404]).toContain(await read(two.token));
    expect(await read(manager.token)).toBe(200);
    expect(await read(await adminToken(platform))).toBe(200);
    const change = (token: string) =>
      call(platform, "PUT", `/api/crew/notes/${made.body.id}`, {
        token,
        body: { values: { text: "other" } },
      });
    expect([403, 404]).toContain((await change(two.token)).status);
    expect((await change(one.token)).status).toBe(200);

    expect((await call(platform, "GET", "/api/crew/me", { token: one.token })).body).toMatchObject({
      id: one.id,
    });
  });

  test("serves each handler of access under both forms of its path", async () => {
    const token = await adminToken(platform);
    const base = "/api/crew/call";
    const { body: bootstrap } = await call(platform, "POST", `${base}/bootstrap`, { token });
    expect((await call(platform, "POST", "/api/crew/bootstrap", { token })).body.token).toBe(bootstrap.token);
    const { body: invitation } = await call(platform, "POST", `${base}/invitations`, { token });
    expect((await call(platform, "GET", `${base}/invitations/${invitation.token}`)).status).toBe(200);
    // The handler itself begins a ceremony, and completes it if the header has the session id.
    const device = new Authenticator(platform.origin);
    for (const path of ["/api/crew/passkey", `${base}/passkey`]) {
      const { body: invited } = await call(platform, "POST", `${base}/invitations`, { token });
      const begun = await call(platform, "POST", `${path}?invite=${invited.token}`);
      expect(begun).toMatchObject({ status: 200, body: { isRegistration: true } });
      const done = await call(platform, "POST", path, {
        headers: { SessionID: begun.body.sessionId },
        body: device.create(begun.body.publicKey),
      });
      expect(done).toMatchObject({ status: 200, body: { token: expect.any(String) } });
      const me = await call(platform, "GET", "/api/crew/me", { token: done.body.token });
      expect(me.status).toBe(200);
    }
    const signIn = await call(platform, "POST", `${base}/passkey/begin`);
    expect(signIn).toMatchObject({ status: 200, body: { isRegistration: false } });
    const wrong = await call(platform, "GET", `${base}/passkey`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    // Only handlers have the long form.
    expect((await call(platform, "GET", `${base}/me`, { token })).status).toBe(404);

    const routes = await activeRoutes(platform, token, "crew");
    const { body: described } = await call(platform, "GET", "/api/openapi?orb=crew");
    for (const path of ["passkey", "passkey/begin", "passkey/complete", "invitations", "bootstrap"]) {
      for (const address of [`/api/crew/${path}`, `${base}/${path}`]) {
        expect(routes).toContainEqual(expect.objectContaining({ method: "POST", path: address }));
        expect(described.paths[address], address).toHaveProperty("post");
      }
    }
  });

  test("deletes the accounts with the orb, so that a new orb with the same id starts without accounts", async () => {
    const someone = await user(platform, "crew");
    const token = await adminToken(platform);
    expect((await call(platform, "DELETE", "/api/admin/orbs/crew", { token })).status).toBeLessThan(300);
    expect((await call(platform, "GET", "/api/crew/me", { token: someone.token })).status).toBe(404);
    await create();
    expect((await call(platform, "GET", "/api/crew/me", { token: someone.token })).status).toBe(401);
    await expect(signIn(platform, "/api/crew", someone.authenticator)).rejects.toThrow("passkey_refused");
    expect((await call(platform, "GET", "/api/crew/bootstrap", { token })).body).toEqual({ bootstrap: true });
  });
});
