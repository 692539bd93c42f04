/** Starts a real OpenID Connect provider on a free port: the npm package `oidc-provider` with its development pages. */
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import type { Page } from "playwright-core";
import { freePort } from "../../scripts/process/ports.ts";

export interface OidcProvider extends AsyncDisposable {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** @param redirectUris addresses of the platform to which the provider may redirect browsers */
export async function startOidcProvider(...redirectUris: string[]): Promise<OidcProvider> {
  const { default: Provider } = await import("oidc-provider");
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const [clientId, clientSecret] = ["platform", "the secret of the platform"];
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
    cookies: { keys: ["a key for the cookies of a test"] },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), use: "sig", alg: "RS256" }] },
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: async (_, id) => ({
      accountId: id,
      claims: async () => ({
        sub: id,
        name: `${id} at home`,
        email: `${id}@example.com`,
        email_verified: true,
      }),
    }),
  });
  const server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, "localhost", resolve));
  return {
    issuer,
    clientId,
    clientSecret,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Signs in and consents on the pages of the provider. */
export async function passProvider(page: Page, login: string): Promise<void> {
  await page.locator("input[name=login]").fill(login);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
}
