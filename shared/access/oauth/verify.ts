/** Exchanges the authorization code for an ID token, and validates the ID token. */
import {
  AuthorizationResponseError,
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  getValidatedIdTokenClaims,
  type IDToken,
  None,
  processAuthorizationCodeResponse,
  RESPONSE_IS_NOT_CONFORM,
  RESPONSE_IS_NOT_JSON,
  ResponseBodyError,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from "oauth4webapi";
import type { ProviderDefinition } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Realm } from "../realms.ts";
import { callbackUrl } from "./begin.ts";
import { causeOf, discovered, providerUnavailable, requestOptions, secretOf } from "./provider.ts";
import type { OAuthState } from "./state.ts";

/** Allowed difference, in seconds, between the clocks of the provider and this host. */
const TOLERANCE_SECONDS = 30;

/** Returns the same error for every invalid response of a provider. */
export function identityRefused(cause?: unknown): AppError {
  const detail = "The provider's answer was not accepted. Start the sign-in again.";
  return new AppError("unauthenticated", "identity_refused", detail, { cause: causeOf(cause) });
}

function clientAuth(
  { token_endpoint_auth_methods_supported: methods }: AuthorizationServer,
  secret?: string,
): ClientAuth {
  if (secret === undefined) return None();
  const basic = methods === undefined || methods.includes("client_secret_basic");
  return basic ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}

/**
 * Validates the query parameters of the callback, exchanges the authorization code for an ID token, and validates it.
 * @returns the claims of the ID token
 * @throws AppError unauthenticated `provider_denied` or `identity_refused`; bad_gateway
 */
export async function verifyAnswer(
  deps: Deps,
  realm: Realm,
  provider: ProviderDefinition,
  begun: OAuthState,
  parameters: URLSearchParams,
): Promise<IDToken> {
  const [server, secret] = await Promise.all([
    discovered(deps, provider),
    secretOf(deps, realm.name, provider),
  ]);
  const client: Client = {
    client_id: provider.clientId,
    [clockSkew]: Math.round((deps.clock.now() - Date.now()) / 1000),
    [clockTolerance]: TOLERANCE_SECONDS,
  };
  const options = requestOptions(deps);
  try {
    const valid = validateAuthResponse(server, client, parameters, begun.state);
    const response = await authorizationCodeGrantRequest(
      server,
      client,
      clientAuth(server, secret),
      valid,
      callbackUrl(deps, realm, provider.id),
      begun.verifier,
      options,
    );
    const expected = { expectedNonce: begun.nonce, requireIdToken: true };
    const tokens = await processAuthorizationCodeResponse(server, client, response, expected);
    await validateApplicationLevelSignature(server, response, options);
    const claims = getValidatedIdTokenClaims(tokens);
    if (claims === undefined) throw identityRefused();
    return claims;
  } catch (error) {
    throw refusalOf(error);
  }
}

/** Codes of the OAuth library's errors for responses that violate the protocol or are not JSON. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([RESPONSE_IS_NOT_CONFORM, RESPONSE_IS_NOT_JSON]);

function refusalOf(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof AuthorizationResponseError) {
    const denied =
      error.error === "access_denied" ? "You, or the provider, cancelled" : "The provider refused";
    return new AppError("unauthenticated", "provider_denied", `${denied} the sign-in. Start again.`);
  }
  if (error instanceof ResponseBodyError) {
    return error.error === "invalid_grant" ? identityRefused(error) : providerUnavailable(error);
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const ours = typeof code !== "string" || UNAVAILABLE.has(code);
  return ours ? providerUnavailable(error) : identityRefused(error);
}
