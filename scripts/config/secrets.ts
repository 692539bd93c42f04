import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import { Failure } from "../process/failure.ts";
import { writePrivate } from "./data-dir.ts";

export type BrokerPasswords = Record<"fn" | "streams" | "deploy" | "operator", string>;

/**
 * The platform's secrets. The first start generates them in `<data folder>/secrets.json`, which only its owner can
 * read.
 */
export interface Secrets {
  broker: BrokerPasswords;
  /** Ed25519 private keys (JSON array of JWKs). The first key signs. All keys verify. */
  JWT_SIGNING_KEYS: string;
  /** JSON array of `{ kid, k }`; `k` has 256 bits in base64url. The first key encrypts. All keys decrypt. */
  ENCRYPTION_KEYS: string;
  /** Key for the hashes of unique sensitive values: 256 bits in base64url. */
  CLAIM_KEY: string;
}

const secret = (bytes = 32) => randomBytes(bytes).toString("base64url");

export async function generateKeys(): Promise<Omit<Secrets, "broker">> {
  const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: secret(9), alg: "EdDSA", use: "sig" };
  return {
    JWT_SIGNING_KEYS: JSON.stringify([jwk]),
    ENCRYPTION_KEYS: JSON.stringify([{ kid: secret(9), k: secret() }]),
    CLAIM_KEY: secret(),
  };
}

function readSecrets(path: string): Secrets {
  let secrets: Partial<Secrets> = {};
  try {
    secrets = JSON.parse(readFileSync(path, "utf8")) as Partial<Secrets>;
  } catch {
    // Not JSON: the code below reports damaged secrets.
  }
  const { broker, JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY } = secrets;
  if (!broker || !JWT_SIGNING_KEYS || !ENCRYPTION_KEYS || !CLAIM_KEY) {
    throw new Failure(
      `The keys in ${path} are damaged. Restore the file from your copy: without it, encrypted values are unreadable. Remove it only if you want new keys.`,
    );
  }
  return { broker, JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY };
}

/** Reads the secrets, or generates them at the first start. */
export async function loadSecrets(dataDir: string): Promise<Secrets> {
  const path = join(dataDir, "secrets.json");
  if (existsSync(path)) return readSecrets(path);
  const broker = { fn: secret(24), streams: secret(24), deploy: secret(24), operator: secret(24) };
  const secrets: Secrets = { broker, ...(await generateKeys()) };
  writePrivate(path, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
