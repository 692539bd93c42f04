/** Describes the built-in HTTP handlers. Their code is in functions/. */
import type { HttpHandler } from "./types.ts";

export const HTTP_HANDLERS = [
  {
    kind: "http",
    name: "access.passkey",
    description: "Registration and sign-in with passkeys, sessions, and the accounts of the orb's users.",
    auth: "None",
    paths: [
      "/signin",
      "/passkey",
      "/passkey/begin",
      "/passkey/complete",
      "/passkeys",
      "/me",
      "/signout",
      "/sessions",
      "/recovery-codes",
      "/tokens",
      "/users",
    ],
  },
  {
    kind: "http",
    name: "access.invitations",
    description:
      "Invitations of the orb's users. Anyone with an invitation's token can look it up; admins create them.",
    auth: "None",
    paths: ["/invitations", "/invitations/{code}"],
  },
  {
    kind: "http",
    name: "access.bootstrap",
    description: "The invitation of the orb's first owner, for platform admins.",
    auth: "AdminRequired",
    paths: ["/bootstrap"],
  },
] as const satisfies readonly HttpHandler[];

/** Returns the routes of a handler for the OpenAPI document. The routes of `access` are documented elsewhere. */
export function describedRoutes({ name, paths, methods = ["GET"] }: HttpHandler) {
  if (name.startsWith("access.")) return [];
  return paths.flatMap((path) => methods.map((method) => ({ method, path })));
}

export type FurtherHttpHandler = Exclude<(typeof HTTP_HANDLERS)[number]["name"], `access.${string}`>;
