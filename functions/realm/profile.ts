import { z } from "@hono/zod-openapi";
import type { Profile } from "../../shared/access/oauth/index.ts";
import { nameFlaw, normalName } from "./display-name.ts";
import { PRINTABLE } from "./printable.ts";

function nameOf(claim: unknown): string | null {
  if (typeof claim !== "string" || claim.length > 200) return null;
  const name = normalName(claim);
  const fits = name.length > 0 && name.length <= 64 && PRINTABLE.test(name) && nameFlaw(name) === undefined;
  return fits ? name : null;
}

/**
 * Returns the name and email address from an ID token, if they are valid for an account. Ignores an email address
 * that the provider has not verified.
 */
export function profileOf(claims: Readonly<Record<string, unknown>>): Profile {
  const email = z.email().max(254).safeParse(claims.email);
  return {
    name: nameOf(claims.name) ?? nameOf(claims.preferred_username),
    email: claims.email_verified === true && email.success ? email.data : null,
  };
}
