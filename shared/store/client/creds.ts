/** Signs in to the broker with the text of a `.creds` file: a JWT, and the seed of the user that the JWT names. */
// biome-ignore lint/style/noRestrictedImports: the package needs the signature at once, and Web Crypto takes promises
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { type Authenticator, credsAuthenticator, type JwtAuth } from "nats.ws";

const SEED = /BEGIN USER NKEY SEED-+\s+([A-Z2-7]+)\s/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** Bytes of a decoded seed before the Ed25519 seed: the kind of the seed and of its key. A checksum follows the seed. */
const PREFIX = 2;
/** Bytes of an Ed25519 seed. */
const LENGTH = 32;
/** Start of an Ed25519 private key in DER (RFC 8410). The seed follows it. */
const PRIVATE_KEY = "302e020100300506032b657004220420";

/** Decodes base32 (RFC 4648) without padding. */
function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

function keyOf(creds: string): KeyObject {
  const seed = fromBase32(SEED.exec(creds)?.[1] ?? "").subarray(PREFIX, PREFIX + LENGTH);
  const key = Buffer.concat([Buffer.from(PRIVATE_KEY, "hex"), seed]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

/** The last file that was read, because every connection of a process uses the same one. */
let last: { creds: string; authenticator: Authenticator } | undefined;

/**
 * Returns what signs in with a `.creds` file. The package reads the file, but signs in JavaScript, which takes 67 ms of
 * processor time for each connection. The runtime signs in 0.1 ms.
 * @param creds text of the file
 * @throws Error if it is not such a file
 */
export function credsOf(creds: string): Authenticator {
  if (last?.creds === creds) return last.authenticator;
  // Without a nonce, the package returns the names and no signature.
  const names = credsAuthenticator(new TextEncoder().encode(creds))() as JwtAuth;
  const key = keyOf(creds);
  const authenticator: Authenticator = (nonce = "") => ({
    ...names,
    sig: sign(null, Buffer.from(nonce), key).toString("base64url"),
  });
  last = { creds, authenticator };
  return authenticator;
}
