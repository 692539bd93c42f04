import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, signIn, user } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;

const ACCESS = { service: "access", handlers: ["passkey", "invitations", "bootstrap"] };

beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform?.stop());

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
    expect((await write(stranger.token)).status).toBe(401);
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
