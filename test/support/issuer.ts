/**
 * An OpenID Connect provider that misbehaves on request, and functions that send the requests of a browser during a
 * sign-in.
 */
import { createServer, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { base64url, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from "jose";
import { expect } from "vitest";
import { call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

/** Ways in which the provider deviates from a correct one, to test that the platform notices. */
export interface Misbehaviour {
  /** Claims that replace or extend those of the ID token. Undefined removes a claim. */
  claims?: Record<string, unknown>;
  /**
   * `none`: the ID token has no signature; `other`: it is signed with a key that the provider does not publish; `public`:
   * it is signed with HS256, and the public key as the secret.
   */
  signature?: "none" | "other" | "public";
  /** Members that extend the header of the ID token. */
  header?: Record<string, unknown>;
  discovery?: Failing | Record<string, unknown>;
  token?: Failing | Record<string, unknown>;
  /** Published keys, made from the key that signs ID tokens. */
  jwks?: Failing | ((key: JWK) => unknown);
}

/**
 * `drips`: a byte a second, without end. `unpacks`: a small body that is large after decompression. `challenges`: a
 * header that takes long to parse.
 */
type Failing = "hangs" | "huge" | "redirects" | "fails" | "drips" | "unpacks" | "challenges";

export interface Issuer extends AsyncDisposable {
  issuer: string;
  clientId: string;
  clientSecret: string;
  behave: Misbehaviour;
  /** Body and `Authorization` header of each token request that the provider received. */
  exchanged: { body: URLSearchParams; authorization: string | undefined }[];
  /** Nonces of sign-ins, keyed by authorization code. */
  nonces: Map<string, string>;
}

function misbehave(response: ServerResponse, how: Failing): void {
  switch (how) {
    case "hangs":
      return;
    case "huge":
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"filler":"${"x".repeat(2_000_000)}"}`);
      return;
    case "drips": {
      response.writeHead(200, { "content-type": "application/json" }).write("{");
      const more = setInterval(() => response.write(" "), 1_000);
      response.once("close", () => clearInterval(more));
      return;
    }
    case "challenges":
      response.writeHead(401, { "www-authenticate": Array(2_000).fill("B a=").join(", ") }).end("{}");
      return;
    case "unpacks":
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(gzipSync(Buffer.alloc(64 * 1024 * 1024, " ")));
      return;
    case "redirects":
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
      return;
    default:
      response.writeHead(500).end();
  }
}

export async function startIssuer(): Promise<Issuer> {
  const key = await generateKeyPair("RS256");
  const used = new Set<string>();
  const answer = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const idToken = async (nonce: string | undefined): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    const basic = { iss: made.issuer, aud: made.clientId, sub: "ann", iat: now, exp: now + 300, nonce };
    const claims = JSON.parse(JSON.stringify({ ...basic, ...made.behave.claims })) as Record<string, unknown>;
    const { signature, header } = made.behave;
    if (signature === "none") {
      const part = (value: unknown) => base64url.encode(JSON.stringify(value));
      return `${part({ alg: "none" })}.${part(claims)}.`;
    }
    if (signature === "public") {
      const secret = new TextEncoder().encode(await exportSPKI(key.publicKey));
      return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "1" }).sign(secret);
    }
    const { privateKey } = signature === "other" ? await generateKeyPair("RS256") : key;
    const head = { alg: "RS256", kid: "1", ...header };
    return new SignJWT(claims).setProtectedHeader(head).sign(privateKey, { crit: { x: true } });
  };
  const server = createServer((request, response) => {
    const { discovery, token, jwks } = made.behave;
    if (request.url === "/.well-known/openid-configuration") {
      if (typeof discovery === "string") return misbehave(response, discovery);
      return answer(response, {
        issuer: made.issuer,
        authorization_endpoint: `${made.issuer}/auth`,
        token_endpoint: `${made.issuer}/token`,
        jwks_uri: `${made.issuer}/jwks`,
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ["RS256"],
        ...discovery,
      });
    }
    if (request.url === "/jwks") {
      if (typeof jwks === "string") return misbehave(response, jwks);
      exportJWK(key.publicKey).then(
        (jwk) => {
          const published = { ...jwk, kid: "1", alg: "RS256", use: "sig" };
          answer(response, jwks === undefined ? { keys: [published] } : jwks(published));
        },
        () => response.destroy(),
      );
      return;
    }
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const body = new URLSearchParams(text);
      made.exchanged.push({ body, authorization: request.headers.authorization });
      if (typeof token === "string") return misbehave(response, token);
      const code = body.get("code") ?? "";
      if (used.has(code)) return answer(response, { error: "invalid_grant" }, 400);
      used.add(code);
      idToken(made.nonces.get(code)).then(
        (id_token) => {
          const tokens = { access_token: "a-token-of-ann", token_type: "Bearer", id_token };
          answer(response, { ...tokens, ...token });
        },
        () => response.destroy(),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const made: Issuer = {
    issuer: `http://127.0.0.1:${port}`,
    clientId: "the-client",
    clientSecret: "a client's secret: 100 %",
    behave: {},
    exchanged: [],
    nonces: new Map(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

/** Returns the part of an orb's document that configures the provider. */
export const providerOf = ({ issuer, clientId, clientSecret }: Issuer, id = "main") => ({
  id,
  issuer,
  clientId,
  clientSecret,
});

/** A sign-in that a browser has started. */
export interface Begun {
  base: string;
  provider: string;
  /** Value of the `Cookie` header that the browser sends. */
  cookie: string;
  /** Parameters that the platform sent to the provider. */
  sent: URLSearchParams;
}

export function cookiesOf(headers: Headers): string {
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}

/** Starts a sign-in, as a click on the provider's button does. */
export async function beginAt(
  platform: Pick<TestPlatform, "origin">,
  base: string,
  query = "",
  provider = "main",
): Promise<Begun> {
  const { status, headers } = await call(platform, "GET", `${base}/oauth/${provider}${query}`);
  expect(status).toBe(302);
  const sent = new URL(headers.get("location") ?? "").searchParams;
  return { base, provider, cookie: cookiesOf(headers), sent };
}

let codes = 0;

/** Sends the browser from the provider back to the platform, with an authorization code. */
export function returnFrom(
  platform: Pick<TestPlatform, "origin">,
  issuer: Issuer,
  begun: Begun,
  more: { parameters?: Record<string, string>; cookie?: string; accept?: string } = {},
) {
  const code = more.parameters?.code ?? `code-${++codes}`;
  issuer.nonces.set(code, begun.sent.get("nonce") ?? "");
  const parameters = new URLSearchParams({
    code,
    state: begun.sent.get("state") ?? "",
    iss: issuer.issuer,
    ...more.parameters,
  });
  const { cookie = begun.cookie, accept = "application/json" } = more;
  return call(platform, "GET", `${begun.base}/oauth/${begun.provider}/callback?${parameters}`, {
    headers: { accept, ...(cookie === "" ? {} : { cookie }) },
  });
}

/**
 * Signs in at a provider, as a browser does.
 * @returns the platform's response when the browser comes back from the provider
 */
export async function signInAt(
  platform: Pick<TestPlatform, "origin">,
  issuer: Issuer,
  base: string,
  query = "",
  claims: Record<string, unknown> = {},
) {
  const begun = await beginAt(platform, base, query);
  issuer.behave = { claims };
  return returnFrom(platform, issuer, begun);
}
