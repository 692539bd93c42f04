/** Encrypts the client secrets of a document before it is stored. */
import {
  isAllowedAddress,
  MASK,
  type OrbDocument,
  type ProviderDefinition,
  providerBinding,
  SEALED,
} from "../definition/document/index.ts";
import type { Config } from "../deps.ts";
import { type Fault, invalid } from "../kernel/errors.ts";
import { isCurrent, open, seal } from "../kernel/seal.ts";

type Keys = Pick<Config, "encryptionKeys" | "publicUrl">;

/**
 * Returns the document with encrypted client secrets. If the client sends the mask instead of a secret, the stored
 * secret is kept, but only if the issuer is the same. With another issuer, a caller who does not know the secret could
 * make the platform send it to that server.
 * @param before the current document, which the new document will replace
 */
export async function withSealedSecrets(
  config: Keys,
  document: OrbDocument,
  before: OrbDocument | null,
): Promise<OrbDocument> {
  const { access } = document;
  if (access?.providers === undefined) return document;
  const faults: Fault[] = [];
  const providers: ProviderDefinition[] = [];
  for (const [at, provider] of access.providers.entries()) {
    const place = `/access/providers/${at}`;
    if (!isAllowedAddress(provider.issuer, config.publicUrl)) {
      const message = "must be an https address with a public host name";
      faults.push({ path: `${place}/issuer`, code: "format", message });
    }
    const old = before?.access?.providers?.find(({ id }) => id === provider.id);
    const sealed = await withSealedSecret(config, document.id, provider, old);
    if (sealed === null) faults.push({ path: `${place}/clientSecret`, ...refusal(provider, old) });
    else providers.push(sealed);
  }
  if (faults.length > 0) throw invalid(faults);
  return { ...document, access: { ...access, providers } };
}

/**
 * Encrypts the provider's secret. Returns null if this is impossible: the secret cannot be decrypted, or it is only the
 * mask and none is stored.
 */
async function withSealedSecret(
  { encryptionKeys }: Keys,
  orb: string,
  provider: ProviderDefinition,
  old: ProviderDefinition | undefined,
): Promise<ProviderDefinition | null> {
  const { clientSecret } = provider;
  if (clientSecret === undefined) return provider;
  const binding = providerBinding(orb, provider);
  const stored = clientSecret === MASK ? old?.clientSecret : clientSecret;
  if (stored === undefined) return null;
  let secret = stored;
  if (stored.startsWith(SEALED)) {
    const sealed = stored.slice(SEALED.length);
    const opened = await open(encryptionKeys, sealed, binding);
    if (opened === null) return null;
    if (isCurrent(encryptionKeys, sealed)) return { ...provider, clientSecret: stored };
    secret = opened;
  }
  return { ...provider, clientSecret: `${SEALED}${await seal(encryptionKeys, secret, binding)}` };
}

function refusal(provider: ProviderDefinition, old: ProviderDefinition | undefined): Omit<Fault, "path"> {
  if (provider.clientSecret !== MASK) {
    const message =
      "is encrypted, but not for this provider with the keys of this platform. Send the secret.";
    return { code: "not_decryptable", message };
  }
  const message =
    old?.clientSecret === undefined
      ? "is a mask, but no secret is stored. Send the secret."
      : "must be sent again, because the issuer or the encryption keys have changed";
  return { code: "mask", message };
}

/**
 * Returns a document in which secrets that are those of another document are encrypted as they are there, so that the
 * documents can be compared: the same secret is encrypted differently each time.
 */
export async function withSecretsOf(
  { encryptionKeys }: Pick<Config, "encryptionKeys">,
  other: OrbDocument,
  document: OrbDocument,
): Promise<OrbDocument> {
  const { access } = document;
  if (access?.providers === undefined) return document;
  const secretOf = async (provider: ProviderDefinition | undefined) =>
    provider?.clientSecret?.startsWith(SEALED)
      ? open(
          encryptionKeys,
          provider.clientSecret.slice(SEALED.length),
          providerBinding(document.id, provider),
        )
      : null;
  const providers = await Promise.all(
    access.providers.map(async (provider) => {
      const same = other.access?.providers?.find(({ id }) => id === provider.id);
      if (same?.clientSecret === undefined || same.clientSecret === provider.clientSecret) return provider;
      const [secret, theirs] = await Promise.all([secretOf(provider), secretOf(same)]);
      return secret !== null && secret === theirs
        ? { ...provider, clientSecret: same.clientSecret }
        : provider;
    }),
  );
  return { ...document, access: { ...access, providers } };
}
