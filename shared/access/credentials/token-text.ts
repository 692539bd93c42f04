/**
 * The text of an API token:
 *
 *     orbtok_<realm>_<account>_<id>_<secret><checksum>
 *
 * Realm, account and id find the records of token and account in one round trip. The secret has 256 random bits. The
 * checksum lets hosts reject a text that was typed or cut wrongly without asking the broker, and lets secret scanners
 * confirm a finding offline.
 */
import { crc32 } from "../../kernel/crc32.ts";

const PREFIX = "orbtok_";
const CHECKSUM_DIGITS = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** All parts after the realm have fixed lengths, because a realm may contain the separator. */
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

/** @param secret 256 random bits, base64url */
export function writeTokenText({ realm, sub, id }: TokenParts, secret: string): string {
  const text = `${PREFIX}${realm}_${sub}_${id}_${secret}`;
  return text + checksumOf(text);
}

/** Returns whether a credential is meant as an API token, whether or not it is valid. */
export function isTokenText(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Returns the parts of a token with a correct checksum, or null. Its secret is not verified. */
export function readTokenText(text: string): TokenParts | null {
  const [, realm, sub, id] = TEXT.exec(text) ?? [];
  if (realm === undefined || sub === undefined || id === undefined) return null;
  const body = text.slice(0, -CHECKSUM_DIGITS);
  return checksumOf(body) === text.slice(-CHECKSUM_DIGITS) ? { realm, sub, id } : null;
}
