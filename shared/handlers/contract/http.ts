/** Describes the built-in handlers that have their own HTTP routes. Their code is in functions/. */
import { HTTP_METHODS, type HttpMethod, type HttpOperation } from "./http-entry.ts";
import { type HttpHandler, isRemote, type RemoteHttpHandler } from "./types.ts";

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
    name: "access.oauth",
    description: "Sign-in with OpenID Connect providers, and the linked identities of an account.",
    auth: "None",
    paths: ["/oauth/{provider}", "/oauth/{provider}/callback", "/oauth/{provider}/link", "/identities"],
  },
  {
    kind: "http",
    name: "access.bootstrap",
    description: "The invitation of the orb's first owner, for platform admins.",
    auth: "AdminRequired",
    paths: ["/bootstrap"],
  },
] as const satisfies readonly HttpHandler[];

export interface DescribedRoute {
  method: Uppercase<HttpMethod>;
  /** Path of the route, relative to `/api/{orbId}`. */
  path: string;
  operation?: HttpOperation;
}

/**
 * Returns the routes of a handler, for overviews and the OpenAPI document. Leaves out the `access` handlers, whose
 * routes are documented elsewhere.
 * @param route the path of the handler in the application
 */
export function describedRoutes(handler: HttpHandler | RemoteHttpHandler, route: string): DescribedRoute[] {
  if (!isRemote(handler)) {
    const { name, paths, methods = ["GET"] } = handler;
    if (name.startsWith("access.")) return [];
    return paths.flatMap((path) => methods.map((method) => ({ method, path })));
  }
  const all = Object.entries(handler.paths).flatMap(([path, item]) =>
    HTTP_METHODS.flatMap((method): DescribedRoute[] => {
      const operation = item[method];
      if (operation === undefined) return [];
      const upper = method.toUpperCase() as Uppercase<HttpMethod>;
      return [{ method: upper, path: `/${route}${path === "/" ? "" : path}`, operation }];
    }),
  );
  return all.length === 0 ? [{ method: "GET", path: `/${route}` }] : all;
}

export type FurtherHttpHandler = Exclude<(typeof HTTP_HANDLERS)[number]["name"], `access.${string}`>;
