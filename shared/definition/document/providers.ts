/** Identity providers that the users of an application can sign in with. */
import { z } from "zod";
import { MODULE_ID } from "./ids.ts";
import { MASK, words } from "./text.ts";

const PROVIDER_LIMITS = { providers: 10, scopes: 20, secret: 1_000 } as const;

/**
 * Prefix of encrypted secrets. The platform accepts an encrypted secret only if it was encrypted for the same
 * provider.
 */
export const SEALED = "sealed:";
/** Maximum length of an encrypted secret. It is enough for the longest secret that is allowed. */
const MAX_SEALED = 8_192;

/** Returns whether the host is the local machine. Local providers may use HTTP, for tests and development. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1";
}

const IP_ADDRESS = /^(?:\[|\d+\.\d+\.\d+\.\d+$)/;
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/**
 * Returns whether the platform may send requests to a provider's URL. Only HTTPS and public host names are allowed,
 * so that a provider cannot direct requests to internal services. (A public name can still resolve to an internal IP
 * address.) A platform that runs on the local machine may also use providers there.
 * @param publicUrl URL of the platform
 */
export function isAllowedAddress(address: string, publicUrl: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  if (username !== "" || password !== "") return false;
  if (isLoopback(hostname)) return isLoopback(new URL(publicUrl).hostname);
  const name = hostname.replace(/\.$/, "");
  return protocol === "https:" && name.includes(".") && !IP_ADDRESS.test(name) && !LOCAL_NAME.test(name);
}

/**
 * Returns whether a string is a valid issuer: an HTTPS URL without credentials, query or fragment. Issuers on the local
 * machine may use HTTP.
 */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s\\]/.test(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

const providerSchema = z
  .strictObject({
    id: z
      .string()
      .regex(MODULE_ID, "must be 1 to 63 lower-case letters, digits or hyphens and begin with a letter")
      .meta({ description: "Name of the provider in addresses, unique in the orb.", example: "google" }),
    name: words.min(1).max(100).optional().meta({
      description: "Name on the sign-in page. Default: the id.",
      example: "Google",
    }),
    issuer: z
      .string()
      .max(500)
      .refine(isIssuer, {
        error: "must be an https address without credentials, query and fragment",
        params: { code: "format" },
      })
      .meta({
        description: "Issuer, exactly as the provider's discovery document names it.",
        example: "https://accounts.google.com",
      }),
    clientId: z
      .string()
      .max(500)
      .regex(/^[\x20-\x7e]+$/, "must be 1 to 500 printable ASCII characters")
      .meta({ description: "Client id that the provider has given you." }),
    clientSecret: z
      .string()
      .min(1)
      .max(MAX_SEALED)
      .refine((text) => text === MASK || text.startsWith(SEALED) || text.length <= PROVIDER_LIMITS.secret, {
        error: `must be at most ${PROVIDER_LIMITS.secret} characters long`,
        params: { code: "too_long" },
      })
      .optional()
      .meta({
        description: `Client secret. It is stored encrypted, and responses contain ${MASK} instead. Send ${MASK} back to keep it.`,
      }),
    scopes: z
      .array(
        z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, "must be a scope of 1 to 100 ASCII characters"),
      )
      .max(PROVIDER_LIMITS.scopes)
      .refine((list) => new Set(list).size === list.length, {
        error: "must not name a scope twice",
        params: { code: "duplicate" },
      })
      .optional()
      .meta({ description: "Scopes beside openid. Default: profile and email.", example: ["profile"] }),
  })
  .meta({ id: "OrbProvider", description: "An OpenID Connect provider with which users can sign in." });

export const providersSchema = z
  .array(providerSchema)
  .max(PROVIDER_LIMITS.providers)
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, {
    error: "must not contain two providers with the same id",
    params: { code: "duplicate" },
  })
  .meta({ description: "OpenID Connect providers. They need the handler oauth of the service access." });

export type ProviderDefinition = z.output<typeof providerSchema>;

/**
 * Returns the context for which a provider's secret is encrypted. Decryption needs the same context. It includes the
 * issuer, so after a change of the issuer, the secret cannot be sent to the new server.
 */
export function providerBinding(
  orb: string,
  { id, issuer }: Pick<ProviderDefinition, "id" | "issuer">,
): string {
  return `provider/${orb}/${id}/${issuer}`;
}

/** Path of the secrets in a document. `*` matches every item of an array. */
const PLACE = ["access", "providers", "*", "clientSecret"] as const;

/**
 * Replaces the secrets in a part of a document with the mask.
 * @param depth number of segments of {@link PLACE} that lead to that part
 */
function maskedAt(value: unknown, depth: number): unknown {
  const segment = PLACE[depth];
  if (segment === undefined) return typeof value === "string" ? MASK : value;
  if (segment === "*") {
    return Array.isArray(value) ? value.map((item) => maskedAt(item, depth + 1)) : value;
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return value;
  return { ...value, [segment]: maskedAt(Reflect.get(value, segment), depth + 1) };
}

/** Returns a copy of a document in which the mask replaces all secrets. */
export function masked<T extends object | null>(document: T): T {
  return maskedAt(document, 0) as T;
}

/**
 * Returns the value of a JSON Patch operation, with the mask in place of secrets.
 * @param path JSON Pointer of the operation
 */
export function maskedValue(path: string, value: unknown): unknown {
  const segments = path.split("/").slice(1);
  const leads = segments.every((segment, at) => PLACE[at] === "*" || PLACE[at] === segment);
  return leads && segments.length <= PLACE.length ? maskedAt(value, segments.length) : value;
}
