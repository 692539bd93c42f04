import { expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";

test("the first admin comes of the bootstrap invitation", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const me = await call(platform, "GET", "/api/_auth/me", { token });
  expect(me.status).toBe(200);
  expect(me.body.name).toMatch(/^user-[0-9a-f]{8}$/);
  expect((await call(platform, "GET", "/api/_auth/invitations")).status).toBe(401);
  const someone = await user(platform);
  const own = await call(platform, "GET", "/api/auth/me", { token: someone.token });
  expect(own.body).toMatchObject({ role: "user", status: "active" });
  console.log(platform.logs.join("\n"));
});
