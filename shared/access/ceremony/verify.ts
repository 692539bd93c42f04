import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { decodeAttestationObject } from "@simplewebauthn/server/helpers";
import { base64url } from "jose";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import type { CredentialRecord } from "../accounts.ts";
import { relyingParty } from "../realms.ts";
import { ALGORITHMS } from "./begin.ts";
import type { Challenge } from "./challenges.ts";

/** Returns the same error for every failed sign-in, so that callers cannot learn whether an account exists. */
export function passkeyRefused(cause?: unknown): AppError {
  return new AppError(
    "unauthenticated",
    "passkey_refused",
    "This passkey was not accepted. Try another passkey.",
    { cause },
  );
}

/** Rejects sign-ins inside an iframe of another site. */
function refuseEmbedded(clientDataJSON: string): void {
  const data = JSON.parse(new TextDecoder().decode(base64url.decode(clientDataJSON))) as {
    crossOrigin?: unknown;
    topOrigin?: unknown;
  };
  if (data.crossOrigin === true || data.topOrigin !== undefined) throw passkeyRefused();
}

/**
 * Rejects attestation certificates. To verify a certificate, the server would have to fetch URLs from it, and an
 * attacker could choose them.
 */
function refuseCertificates(attestationObject: string): void {
  const attestation = decodeAttestationObject(new Uint8Array(base64url.decode(attestationObject)));
  const format = attestation.get("fmt");
  const bare = format === "packed" && attestation.get("attStmt").get("x5c") === undefined;
  if (format !== "none" && !bare) throw passkeyRefused();
}

export async function verifyNew(
  deps: Deps,
  challenge: Challenge,
  response: RegistrationResponseJSON,
): Promise<Omit<CredentialRecord, "account" | "name">> {
  const { id, origins } = relyingParty(deps.config);
  try {
    refuseEmbedded(response.response.clientDataJSON);
    refuseCertificates(response.response.attestationObject);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.challenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw passkeyRefused();
    const { credential, credentialBackedUp, credentialDeviceType } = registrationInfo;
    return {
      v: 1,
      id: credential.id,
      publicKey: base64url.encode(credential.publicKey),
      counter: credential.counter,
      transports: (credential.transports ?? [])
        .slice(0, 8)
        .map((transport) => String(transport).slice(0, 32)),
      deviceType: credentialDeviceType,
      backedUp: credentialBackedUp,
      createdAt: new Date(deps.clock.now()).toISOString(),
      lastUsedAt: null,
    };
  } catch (error) {
    throw error instanceof AppError ? error : passkeyRefused(error);
  }
}

/**
 * A public key that belongs to no account. It is verified for an unknown passkey, so that the response takes as long
 * as for a wrong signature.
 */
const DECOY: Pick<CredentialRecord, "publicKey" | "counter"> = {
  publicKey:
    "pQECAyYgASFYIGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWIlggT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
  counter: 0,
};

/**
 * Verifies a sign-in, and returns the passkey's new signature counter and whether it is backed up.
 * @param credential null if the passkey is unknown; verification then takes as long as for a wrong signature
 */
export async function verifyKnown(
  deps: Deps,
  challenge: Challenge,
  response: AuthenticationResponseJSON,
  credential: CredentialRecord | null,
): Promise<{ counter: number; backedUp: boolean }> {
  const { id, origins } = relyingParty(deps.config);
  const { publicKey, counter } = credential ?? DECOY;
  try {
    refuseEmbedded(response.response.clientDataJSON);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge.challenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      credential: { id: response.id, publicKey: new Uint8Array(base64url.decode(publicKey)), counter },
    });
    if (!verified || credential === null) throw passkeyRefused();
    return { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp };
  } catch (error) {
    throw error instanceof AppError ? error : passkeyRefused(error);
  }
}
