/** Sealing: what the broker keeps encrypted (JWE compact serialisation, `dir` with A256GCM). */
import { base64url, CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

interface SealingKey {
  kid: string;
  key: Uint8Array;
}

/** Decoded keys by their text: pure values, so that any request may use them. */
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
 * Encrypts a text under the first key. What it belongs to goes, authenticated, into the protected header, so that a
 * sealed value is of no use anywhere else.
 * @param keysJson `[{ "kid", "k" }]`, k 256 bits in base64url; the first seals, all open
 * @param binding where the value belongs, e.g. `shop/<entry>/<field>`
 */
export async function seal(keysJson: string, plaintext: string, binding: string): Promise<string> {
  const first = keysOf(keysJson)[0];
  if (first === undefined) throw new Error("no key to seal with");
  return new CompactEncrypt(encoder.encode(plaintext))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: first.kid, bind: binding })
    .encrypt(first.key);
}

/**
 * Decrypts what {@link seal} made for the same binding.
 * @returns null when it was altered, moved from elsewhere, sealed under a key that is gone, or is no sealed value
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

/** Whether the value is sealed under the key that seals new values: false after a rotation. */
export function isCurrent(keysJson: string, sealed: string): boolean {
  try {
    return decodeProtectedHeader(sealed).kid === keysOf(keysJson)[0]?.kid;
  } catch {
    return false;
  }
}
