/**
 * The text of an API token:
 *
 * orbtok_<realm>_<account>_<id>_<secret><checksum>
 *
 * The realm, the account and the id form the storage keys of the token and its account, so a host reads both in one
 * round trip. The secret has 256 random bits. With the checksum, hosts reject a mistyped or truncated token without a
 * broker request, and secret scanners can confirm a finding offline.
 */

/**
 * CRC-32 as in zip files (polynomial 0xEDB88320). The checksum detects typing errors. It does not protect against
 * attackers.
 */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Returns the CRC-32 of a string, encoded as UTF-8. The result is an unsigned number. */
export function crc32(text: string): number {
  let value = 0xffffffff;
  for (const byte of new TextEncoder().encode(text))
    value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  return (value ^ 0xffffffff) >>> 0;
}

const PREFIX = "orbtok_";
const CHECKSUM_DIGITS = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** All parts after the realm have fixed lengths, because a realm name may contain the separator `_`. */
const TEXT = /^orbtok_([a-z][a-z0-9_-]{1,62})_([0-9a-f]{32})_([0-9a-z]{20})_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/;

/** The parts of a token that are not secret. */
export interface TokenParts {
  realm: string;
  sub: string;
  id: string;
}

/** Returns the checksum as six digits in base 62, the most significant first. */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let out = "";
  for (let digit = 0; digit < CHECKSUM_DIGITS; digit++) {
    out = (DIGITS[rest % DIGITS.length] ?? "0") + out;
    rest = Math.floor(rest / DIGITS.length);
  }
  return out;
}

/**
 * Returns the text of a token.
 * @param secret 256 random bits in base64url
 */
export function writeTokenText({ realm, sub, id }: TokenParts, secret: string): string {
  const text = `${PREFIX}${realm}_${sub}_${id}_${secret}`;
  return text + checksumOf(text);
}

/** Returns whether a credential looks like an API token. It may still be invalid. */
export function isTokenText(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Returns the non-secret parts of a token; null if the format or the checksum is wrong. Does not verify the secret. */
export function readTokenText(text: string): TokenParts | null {
  const [, realm, sub, id] = TEXT.exec(text) ?? [];
  if (realm === undefined || sub === undefined || id === undefined) return null;
  const body = text.slice(0, -CHECKSUM_DIGITS);
  return checksumOf(body) === text.slice(-CHECKSUM_DIGITS) ? { realm, sub, id } : null;
}
