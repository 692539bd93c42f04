/** Requests to OpenID Connect providers. Each request has a size limit and a timeout, and rejects redirects. */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  type HttpRequestOptions,
  processDiscoveryResponse,
} from "oauth4webapi";
import {
  isAllowedAddress,
  type ProviderDefinition,
  providerBinding,
  SEALED,
} from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { concatBytes } from "../../kernel/ids.ts";
import { open } from "../../kernel/seal.ts";
import type { Realm } from "../realms.ts";

const PROVIDER_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 262_144;
/** Milliseconds for which the metadata and public keys of a provider are cached. */
const REMEMBER_MS = 5 * 60 * 1000;

/** Returns a provider of the application. Throws 404 if the application has no provider with this id. */
export function findProvider(realm: Realm, id: string): ProviderDefinition {
  const found = realm.providers.find((provider) => provider.id === id);
  if (found === undefined) throw notFound("provider", "This orb has no provider of this id.");
  return found;
}

/** Returns the 502 error for a provider that is unreachable or violates OpenID Connect. */
export function providerUnavailable(cause: unknown): AppError {
  const detail = "The provider did not answer as expected. Try again later, or sign in another way.";
  return new AppError("bad_gateway", "provider_unavailable", detail, { cause: causeOf(cause) });
}

/**
 * Returns a short description of an error for the log. The original message is omitted, because messages of the OAuth
 * library can contain tokens.
 */
export function causeOf(error: unknown): string {
  if (error instanceof ProviderFault) return error.message;
  if (!(error instanceof Error)) return "unknown";
  const code = "code" in error && typeof error.code === "string" ? ` ${error.code}` : "";
  return `${error.name}${code}`;
}

/** An error whose message contains no data from the provider, so the log may show it. */
class ProviderFault extends Error {}

async function readAtMost(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concatBytes(parts);
    size += value.length;
    if (size > MAX_ANSWER_BYTES) {
      reader.cancel().catch(() => undefined);
      throw new ProviderFault("the answer is too large");
    }
    parts.push(value);
  }
}

/**
 * Returns the options that every request to a provider must use. They limit the allowed URLs, the size and the time,
 * and reject redirects.
 */
export function requestOptions(deps: Deps): HttpRequestOptions<"GET" | "POST", URLSearchParams | undefined> {
  const { publicUrl } = deps.config;
  const bounded = async (
    url: string,
    {
      method,
      headers,
      body,
    }: { method: string; headers: Record<string, string>; body?: BodyInit | undefined },
  ): Promise<Response> => {
    if (!isAllowedAddress(url, publicUrl)) throw new ProviderFault("an address is not allowed");
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      signal: AbortSignal.timeout(PROVIDER_TIMEOUT_MS),
    });
    const { status } = response;
    if (status < 200 || (status >= 300 && status < 400) || response.body === null) {
      await response.body?.cancel();
      throw new ProviderFault(`the answer has the status ${status}`);
    }
    // The OAuth library parses some headers in quadratic time, such as WWW-Authenticate. It needs only this one.
    const type = response.headers.get("content-type");
    return new Response(await readAtMost(response.body), {
      status,
      ...(type === null ? {} : { headers: { "content-type": type } }),
    });
  };
  return { [customFetch]: bounded, [allowInsecureRequests]: true };
}

const known = new BoundedMap<string, { server: AuthorizationServer; until: number }>(100);

/**
 * Returns the metadata of a provider, if possible from a cache. The OAuth library keeps the provider's public keys
 * with this object.
 * @throws AppError bad_gateway
 */
export async function discovered(deps: Deps, { issuer }: ProviderDefinition): Promise<AuthorizationServer> {
  const found = known.get(issuer);
  if (found !== undefined && found.until > deps.clock.now()) return found.server;
  try {
    const url = new URL(issuer);
    const response = await discoveryRequest(url, requestOptions(deps));
    const server = await processDiscoveryResponse(url, response);
    // The OAuth library compares URLs only after it has normalised them. The issuer must match character by character
    // (RFC 8414, section 3.3).
    if (server.issuer !== issuer) throw new ProviderFault("the issuer differs");
    for (const endpoint of [server.authorization_endpoint, server.token_endpoint, server.jwks_uri]) {
      if (endpoint === undefined || !isAllowedAddress(endpoint, deps.config.publicUrl)) {
        throw new ProviderFault("an endpoint is missing or not allowed");
      }
    }
    known.set(issuer, { server, until: deps.clock.now() + REMEMBER_MS });
    return server;
  } catch (error) {
    throw providerUnavailable(error);
  }
}

/**
 * Decrypts the client secret of a provider.
 * @returns undefined if the provider has no client secret
 */
export async function secretOf(
  deps: Deps,
  orb: string,
  provider: ProviderDefinition,
): Promise<string | undefined> {
  const { clientSecret } = provider;
  if (clientSecret === undefined) return undefined;
  const sealed = clientSecret.startsWith(SEALED) ? clientSecret.slice(SEALED.length) : "";
  const secret = await open(deps.config.encryptionKeys, sealed, providerBinding(orb, provider));
  if (secret === null) throw providerUnavailable(new ProviderFault("the client secret cannot be decrypted"));
  return secret;
}
