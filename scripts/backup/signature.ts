/**
 * A backup's manifest is authenticated: an attacker who can write to the folder but lacks the platform's keys cannot change
 * what a restore brings back. The key comes from ENCRYPTION_KEYS, without which a backup is of little use anyway.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { z } from "zod";

/** Name of the file with the signature of the manifest's bytes. */
export const SIGNATURE = "manifest.hmac.json";

const signatureSchema = z.object({ v: z.literal(1), kid: z.string(), hmac: z.string() });

type Key = { kid: string; k: string };
const keysOf = (encryptionKeys: string) => JSON.parse(encryptionKeys) as Key[];

/** @param key one of ENCRYPTION_KEYS; the HMAC key is derived from it, so neither key reveals the other */
function hmacOf({ k }: Key, manifest: Uint8Array): Buffer {
  const derived = hkdfSync("sha256", Buffer.from(k, "base64url"), "", "backup manifest", 32);
  return createHmac("sha256", Buffer.from(derived)).update(manifest).digest();
}

/**
 * Signs a manifest.
 * @param encryptionKeys ENCRYPTION_KEYS; the first signs, all verify
 * @returns the signature file's text
 */
export function sign(encryptionKeys: string, manifest: Uint8Array): string {
  const [key] = keysOf(encryptionKeys);
  if (key === undefined) throw new Error("no key to sign with");
  const hmac = hmacOf(key, manifest).toString("base64url");
  return `${JSON.stringify({ v: 1, kid: key.kid, hmac })}\n`;
}

/**
 * Judges a signature file.
 * @returns `unknown_key` when this platform lacks the key that it names
 */
export function verify(
  encryptionKeys: string,
  manifest: Uint8Array,
  signature: string,
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
  const right = hmacOf(key, manifest);
  return given.length === right.length && timingSafeEqual(given, right) ? "valid" : "forged";
}
