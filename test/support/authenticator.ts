import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";

/** A passkey of an {@link Authenticator}. */
export interface HeldPasskey {
  id: Buffer;
  rpId: string;
  userHandle: Buffer;
  userName: string;
  key: KeyObject;
  counter: number;
}

/** Ways in which the authenticator or the browser misbehaves, to test that the server notices. */
export interface Deviations {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  userVerified?: boolean;
  userPresent?: boolean;
  /** Signature counter to send instead of the next one. */
  counter?: number;
  /** Corrupts the signature. */
  tamper?: boolean;
  userHandle?: string | undefined;
  /** Adds this certificate to the attestation. The default format is then `packed`. */
  certificate?: Buffer;
  /** Format of the attestation. With `packed` and no certificate, the passkey signs its own attestation. */
  format?: string;
}

interface CreationOptions {
  challenge: string;
  rp: { id?: string };
  user: { id: string; name: string };
}
interface RequestOptions {
  challenge: string;
  rpId?: string;
}

const hash = (data: Buffer | string) => createHash("sha256").update(data).digest();

/** The subset of CBOR that attestations need (RFC 8949): integers, bytes, texts, lists and maps. */
function cbor(value: number | string | Buffer | Buffer[] | Map<number | string, unknown>): Buffer {
  const head = (major: number, size: number): Buffer => {
    if (size < 24) return Buffer.from([(major << 5) | size]);
    if (size < 256) return Buffer.from([(major << 5) | 24, size]);
    return Buffer.from([(major << 5) | 25, size >> 8, size & 255]);
  };
  if (typeof value === "number") return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === "string")
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const parts = [head(5, value.size)];
  for (const [key, item] of value) parts.push(cbor(key), cbor(item as number));
  return Buffer.concat(parts);
}

function statement(signature: Buffer, certificate?: Buffer): Map<string, unknown> {
  return new Map<string, unknown>([
    ["alg", -7],
    ["sig", signature],
    ...(certificate === undefined ? [] : [["x5c", [certificate]] as const]),
  ]);
}

type Algorithm = "ES256" | "EdDSA" | "RS256";

/** A key pair with the public key in COSE format (RFC 9053, RFC 8230). */
function newKey(algorithm: Algorithm): { cose: Buffer; privateKey: KeyObject } {
  const bytes = (value: string | undefined) => Buffer.from(value ?? "", "base64url");
  if (algorithm === "EdDSA") {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const { x } = publicKey.export({ format: "jwk" });
    return {
      cose: cbor(
        new Map<number, unknown>([
          [1, 1],
          [3, -8],
          [-1, 6],
          [-2, bytes(x)],
        ]),
      ),
      privateKey,
    };
  }
  if (algorithm === "RS256") {
    const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { n, e } = publicKey.export({ format: "jwk" });
    return {
      cose: cbor(
        new Map<number, unknown>([
          [1, 3],
          [3, -257],
          [-1, bytes(n)],
          [-2, bytes(e)],
        ]),
      ),
      privateKey,
    };
  }
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x, y } = publicKey.export({ format: "jwk" });
  return {
    cose: cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]),
    ),
    privateKey,
  };
}

/**
 * A software authenticator and browser with real keys and signatures, which the real server verifies. Tests that are
 * not about browsers sign in with it within milliseconds.
 */
export class Authenticator {
  readonly origin: string;
  readonly passkeys: HeldPasskey[] = [];
  /** Whether the signature counter grows. Authenticators with synchronised passkeys always send 0. */
  readonly counts: boolean;
  readonly algorithm: Algorithm;

  constructor(origin: string, options: { counts?: boolean; algorithm?: Algorithm } = {}) {
    this.origin = origin;
    this.counts = options.counts ?? true;
    this.algorithm = options.algorithm ?? "ES256";
  }

  /**
   * Creates a passkey, like `navigator.credentials.create` in a browser.
   * @param id reuses another passkey's id, which no real authenticator does
   */
  create(options: unknown, deviate: Deviations = {}, id: Buffer = randomBytes(32)): RegistrationResponseJSON {
    const { challenge, rp, user } = options as CreationOptions;
    const { cose, privateKey } = newKey(this.algorithm);
    const passkey: HeldPasskey = {
      id,
      rpId: rp.id ?? new URL(this.origin).hostname,
      userHandle: Buffer.from(user.id, "base64url"),
      userName: user.name,
      key: privateKey,
      counter: deviate.counter ?? 0,
    };
    this.passkeys.push(passkey);
    const idLength = Buffer.alloc(2);
    idLength.writeUInt16BE(passkey.id.length);
    const attested = Buffer.concat([Buffer.alloc(16), idLength, passkey.id, cose]);
    const authData = this.#authData(passkey, deviate, attested);
    const clientData = this.#clientData("webauthn.create", challenge, deviate);
    const { certificate, format = certificate === undefined ? "none" : "packed" } = deviate;
    // Ed25519 has a built-in digest, so name none.
    const digest = this.algorithm === "EdDSA" ? null : "sha256";
    const signature = sign(digest, Buffer.concat([authData, hash(clientData)]), privateKey);
    const attestationObject = cbor(
      new Map<string, unknown>([
        ["fmt", format],
        ["attStmt", format === "none" ? new Map() : statement(signature, certificate)],
        ["authData", authData],
      ]),
    );
    const encoded = id.toString("base64url");
    return {
      id: encoded,
      rawId: encoded,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
        transports: ["internal"],
      },
    };
  }

  /** Signs in with the newest or the given passkey, like `navigator.credentials.get` in a browser. */
  get(
    options: unknown,
    deviate: Deviations = {},
    passkey = this.passkeys.at(-1),
  ): AuthenticationResponseJSON {
    if (passkey === undefined) throw new Error("this authenticator holds no passkey");
    const { challenge } = options as RequestOptions;
    if (this.counts) passkey.counter++;
    const authData = this.#authData(passkey, deviate);
    const clientData = this.#clientData("webauthn.get", challenge, deviate);
    const signature = sign(
      this.algorithm === "EdDSA" ? null : "sha256",
      Buffer.concat([authData, hash(clientData)]),
      passkey.key,
    );
    if (deviate.tamper === true) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
    const id = passkey.id.toString("base64url");
    return {
      id,
      rawId: id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle: "userHandle" in deviate ? deviate.userHandle : passkey.userHandle.toString("base64url"),
      } as AuthenticationResponseJSON["response"],
    };
  }

  #authData(passkey: HeldPasskey, deviate: Deviations, attested?: Buffer): Buffer {
    const flags =
      (deviate.userPresent === false ? 0 : 0x01) |
      (deviate.userVerified === false ? 0 : 0x04) |
      (attested === undefined ? 0 : 0x40);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(deviate.counter ?? passkey.counter);
    return Buffer.concat([
      hash(deviate.rpId ?? passkey.rpId),
      Buffer.from([flags]),
      counter,
      attested ?? Buffer.alloc(0),
    ]);
  }

  #clientData(type: string, challenge: string, deviate: Deviations): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: deviate.type ?? type,
        challenge: deviate.challenge ?? challenge,
        origin: deviate.origin ?? this.origin,
        crossOrigin: deviate.crossOrigin ?? false,
      }),
    );
  }
}
