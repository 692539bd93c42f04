import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import { Failure } from "../process/failure.ts";
import { writePrivate } from "./data-dir.ts";

/** Passwords of the started broker's users, by user name. */
export type BrokerPasswords = Record<"fn" | "streams" | "deploy" | "operator", string>;

/** The secrets of a data folder, generated once in `<data folder>/secrets.json` (mode 0600). */
export interface Secrets {
  broker: BrokerPasswords;
  /** JSON array of private Ed25519 JWKs; the first signs, all verify. */
  JWT_SIGNING_KEYS: string;
  /** JSON array of `{ kid, k }`, k 256 bits in base64url; the first encrypts, all decrypt. */
  ENCRYPTION_KEYS: string;
  /** 256 bits in base64url, for the unique keys of sensitive values. */
  CLAIM_KEY: string;
}

const secret = (bytes = 32) => randomBytes(bytes).toString("base64url");

/** Generates keys for the functions, in the format of their variables. */
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
    // The error is reported below.
  }
  const { broker, JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY } = secrets;
  if (!broker || !JWT_SIGNING_KEYS || !ENCRYPTION_KEYS || !CLAIM_KEY) {
    throw new Failure(
      `The keys in ${path} are damaged. Restore the file from your copy: without it, encrypted values are unreadable. Remove it only if you want new keys.`,
    );
  }
  return { broker, JWT_SIGNING_KEYS, ENCRYPTION_KEYS, CLAIM_KEY };
}

/** Reads the data folder's secrets. Generates them if there are none. */
export async function loadSecrets(dataDir: string): Promise<Secrets> {
  const path = join(dataDir, "secrets.json");
  if (existsSync(path)) return readSecrets(path);
  const broker = { fn: secret(24), streams: secret(24), deploy: secret(24), operator: secret(24) };
  const secrets: Secrets = { broker, ...(await generateKeys()) };
  writePrivate(path, `${JSON.stringify(secrets, null, 2)}\n`);
  return secrets;
}
