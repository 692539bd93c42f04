/** The client in a browser: passkeys, the session cookie, and requests of the page's own origin. */
import { build } from "esbuild";
import { expect, test } from "vitest";
import type { createClient } from "../../shared/client/index.ts";
import { invite, open, platform, useSignin } from "../support/signin.ts";

useSignin();

declare const client: { createClient: typeof createClient };

test("registers, signs in and signs out with a passkey, for users and platform admins", async () => {
  const { outputFiles } = await build({
    entryPoints: ["shared/client/index.ts"],
    bundle: true,
    format: "iife",
    globalName: "client",
    write: false,
  });
  const script = `globalThis.client = (() => { ${outputFiles[0]?.text}; return client; })();`;
  const { token } = await invite();
  await using opened = await open({ bypassCSP: true });
  const { page } = opened;
  // A page of the platform's origin without a script of its own.
  await page.goto(`${platform.origin}/api/health`);
  await page.evaluate(script);
  const registered = await page.evaluate(async (code) => {
    const session = await client.createClient().register({ invite: code, name: "Ann" });
    const me = await fetch("/api/auth/me");
    return { session, byCookie: ((await me.json()) as { name: string }).name };
  }, token);
  expect(registered).toEqual({ session: expect.stringMatching(/^ey/), byCookie: "Ann" });
  const again = await page.evaluate(async () => {
    const shared = client.createClient();
    await shared.signOut();
    const out = (await fetch("/api/auth/me")).status;
    await shared.signIn({ realm: "auth" });
    return [out, (await fetch("/api/auth/me")).status];
  });
  expect(again).toEqual([401, 200]);
  const refused = await page.evaluate(async () => {
    const shared = client.createClient();
    const error: unknown = await shared.register({ invite: "unknown" }).catch((reason: unknown) => reason);
    return { code: Reflect.get(Object(error), "code"), status: Reflect.get(Object(error), "status") };
  });
  expect(refused).toEqual({ code: "invitation_not_found", status: 404 });
  const admin = (await invite("_auth")).token;
  const platformToken = await page.evaluate(
    (code) => client.createClient().register({ realm: "platform", invite: code }),
    admin,
  );
  expect(platformToken).toMatch(/^ey/);
});
