/** Encrypts values at rest (JWE compact serialization, `dir` with A256GCM). */
import { base64url, CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

interface SealingKey {
  kid: string;
  key: Uint8Array;
}

/** Decoded keys by their JSON text. Plain values, which requests may share. */
const parsed = new Map<string, readonly SealingKey[]>();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function keysOf(keysJson: string): readonly SealingKey[] {
  let keys = parsed.get(keysJson);
  if (keys === undefined) {
    const list = JSON.parse(keysJson) as { kid: string; k: string }[];
    keys = list.map(({ kid, k }) => ({ kid, key: base64url.decode(k) }));
    if (keys.length === 0 || keys.some(({ key }) => key.length !== 32))
      throw new Error("ENCRYPTION_KEYS must hold keys of 256 bits");
    parsed.set(keysJson, keys);
  }
  return keys;
}

/**
 * Encrypts a text with the first key. The protected header authenticates the owner of the value, so that a copy
 * elsewhere cannot be decrypted.
 * @param keysJson `[{ "kid", "k" }]`, k 256 bits in base64url; the first encrypts, all decrypt
 * @param binding owner of the value, such as `shop/<entry>/<field>`
 */
export async function seal(keysJson: string, plaintext: string, binding: string): Promise<string> {
  const first = keysOf(keysJson)[0];
  if (first === undefined) throw new Error("no key to seal with");
  return new CompactEncrypt(encoder.encode(plaintext))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: first.kid, bind: binding })
    .encrypt(first.key);
}

/**
 * Decrypts a value that {@link seal} created for the same binding.
 * @returns null if it was changed, copied from elsewhere, encrypted with an unknown key, or is not an encrypted value
 */
export async function open(keysJson: string, sealed: string, binding: string): Promise<string | null> {
  try {
    const header = decodeProtectedHeader(sealed);
    if (header.bind !== binding) return null;
    const key = keysOf(keysJson).find(({ kid }) => kid === header.kid);
    if (key === undefined) return null;
    const { plaintext } = await compactDecrypt(sealed, key.key, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    return decoder.decode(plaintext);
  } catch {
    return null;
  }
}

/** Whether the value is encrypted with the first key. False after a rotation. */
export function isCurrent(keysJson: string, sealed: string): boolean {
  try {
    return decodeProtectedHeader(sealed).kid === keysOf(keysJson)[0]?.kid;
  } catch {
    return false;
  }
}
