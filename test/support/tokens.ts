import { createHash } from "node:crypto";
import type { Scope } from "../../shared/access/credentials/operations.ts";
import type { Can } from "../../shared/access/credentials/rights.ts";
import { adminToken, call } from "./auth.ts";
import type { TestPlatform } from "./platform.ts";

/** An API token as the platform returns it on creation, including its secret text. */
export interface CreatedToken {
  id: string;
  token: string;
  name: string;
  scopes: Scope[];
  expiresAt: string;
  createdAt: string;
  createdBy: string;
  definition?: number;
}

/** Returns the time that is this many seconds from now, as a value for `expiresAt`. */
export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

export const scope = (orb: string, ...can: Can[]): Scope => ({ orb, can });

/** Creates an API token. Throws if the platform refuses. */
export async function createToken(
  platform: Pick<TestPlatform, "origin">,
  base: string,
  by: string,
  scopes: Scope[],
  more: { expiresAt?: string; name?: string; account?: string; definition?: number } = {},
): Promise<CreatedToken> {
  const body = { name: "ci", expiresAt: inSeconds(3600), scopes, ...more };
  const made = await call(platform, "POST", `${base}/tokens`, { token: by, body });
  if (made.status !== 201)
    throw new Error(`creating a token answered ${made.status}: ${JSON.stringify(made.body)}`);
  return made.body;
}

/**
 * Creates a service account.
 * @param base address of the accounts: `/api/_auth`, `/api/auth` or `/api/<orb>`
 */
export async function createService(
  platform: TestPlatform,
  base: string,
  role: "owner" | "admin" | "user" = "user",
): Promise<string> {
  const own = base === "/api/_auth";
  const body = { name: "robot", service: true, ...(own ? {} : { role }) };
  const made = await call(platform, "POST", own ? `${base}/admins` : `${base}/users`, {
    token: await adminToken(platform),
    body,
  });
  if (made.status !== 201)
    throw new Error(`creating a service answered ${made.status}: ${JSON.stringify(made.body)}`);
  return made.body.id;
}

/** The PKCE code verifier of {@link programRequest}. */
export const VERIFIER = "a-verifier-of-the-tests-with-more-than-43-characters";

/** Returns the request of a program such as `orb login` for an API token. */
export const programRequest = (scopes: string, more: object = {}) => ({
  program: "orb",
  host: "laptop",
  scope: scopes,
  days: 30,
  challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  ...more,
});
