/** Encrypts stored values as compact JWE with A256GCM. */
import { base64url, CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

interface SealingKey {
  kid: string;
  key: Uint8Array;
}

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
 * Encrypts a string for one owner, with the first key. Decryption for any other owner fails.
 * @param keysJson `[{ "kid", "k" }]` with 256-bit keys in base64url. The first key encrypts, and all keys decrypt.
 * @param binding the owner, such as `shop/<entry>/<field>`
 */
export async function seal(keysJson: string, plaintext: string, binding: string): Promise<string> {
  const first = keysOf(keysJson)[0];
  if (first === undefined) throw new Error("no key to seal with");
  return new CompactEncrypt(encoder.encode(plaintext))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: first.kid, bind: binding })
    .encrypt(first.key);
}

/**
 * Decrypts a string.
 * @returns null if the key is unknown, the string was encrypted with another `binding`, or the ciphertext was changed
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

/** Returns whether a value is encrypted with the first key. If not, the keys have been changed since. */
export function isCurrent(keysJson: string, sealed: string): boolean {
  try {
    return decodeProtectedHeader(sealed).kid === keysOf(keysJson)[0]?.kid;
  } catch {
    return false;
  }
}
