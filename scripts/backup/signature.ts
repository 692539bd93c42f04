/** Signs backups with an HMAC, so that an attacker who can write to the folder cannot change what is restored. */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { z } from "zod";

export const SIGNATURE = "manifest.hmac.json";

const signatureSchema = z.object({ v: z.literal(1), kid: z.string(), hmac: z.string() });

const MANIFEST_PURPOSE = "backup manifest";

type Key = { kid: string; k: string };
const keysOf = (encryptionKeys: string) => JSON.parse(encryptionKeys) as Key[];

/**
 * Returns the HMAC of a manifest. Its key is derived from an encryption key (HKDF), so neither key reveals the other.
 */
function hmacOf({ k }: Key, manifest: Uint8Array, purpose: string): Buffer {
  const derived = hkdfSync("sha256", Buffer.from(k, "base64url"), "", purpose, 32);
  return createHmac("sha256", Buffer.from(derived)).update(manifest).digest();
}

/**
 * Signs a manifest with the first key in ENCRYPTION_KEYS.
 * @param purpose what is signed; a signature for one purpose is forged for another
 * @returns the text of the signature file
 */
export function sign(encryptionKeys: string, manifest: Uint8Array, purpose = MANIFEST_PURPOSE): string {
  const [key] = keysOf(encryptionKeys);
  if (key === undefined) throw new Error("no key to sign with");
  const hmac = hmacOf(key, manifest, purpose).toString("base64url");
  return `${JSON.stringify({ v: 1, kid: key.kid, hmac })}\n`;
}

/**
 * Verifies the signature of a manifest.
 * @returns `unknown_key` if this platform does not have the key that signed the manifest
 */
export function verify(
  encryptionKeys: string,
  manifest: Uint8Array,
  signature: string,
  purpose = MANIFEST_PURPOSE,
): "valid" | "forged" | "unknown_key" {
  let value: unknown;
  try {
    value = JSON.parse(signature);
  } catch {
    return "forged";
  }
  const parsed = signatureSchema.safeParse(value);
  if (!parsed.success) return "forged";
  const key = keysOf(encryptionKeys).find(({ kid }) => kid === parsed.data.kid);
  if (key === undefined) return "unknown_key";
  const given = Buffer.from(parsed.data.hmac, "base64url");
  const right = hmacOf(key, manifest, purpose);
  return given.length === right.length && timingSafeEqual(given, right) ? "valid" : "forged";
}
