/** The routes that are active: those of every live definition. */
import type { Actor, Role } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { orbRealm } from "../access/realms.ts";
import type { Deps } from "../deps.ts";
import { buckets } from "../store/subjects.ts";
import type { CompiledOrb, CompiledSchema } from "./compile.ts";
import type { Access } from "./document.ts";
import { type LiveOrb, liveOrbs } from "./live.ts";

/** Where a route comes from. */
export type RouteOrigin = "crud" | "handler" | "signin";

/** One active route. */
export interface ActiveRoute {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  orb: string;
  origin: RouteOrigin;
  /** The least role that is needed; `own` and `owner` besides who created the entry where the schema says so. */
  role: Role;
  /** Full name, for handlers. */
  handler?: string;
}

/** Built-in handlers that need somebody signed in; those of `access` need nobody. */
const NEEDS_USER = /^(rules|transactions|settings)\./;

/** Lists every active route, orb by orb. */
export async function listRoutes(deps: Deps, actor: Actor): Promise<ActiveRoute[]> {
  requireOperator(actor, "routes.read");
  const [orbs, handlers] = await Promise.all([liveOrbs(deps), deps.store.kvList(buckets.handlers, ">")]);
  const auth = new Map(handlers.map((entry) => [entry.key, entry.json<{ auth?: string } | null>()?.auth]));
  return orbs
    .toSorted((a, b) => (a.orb < b.orb ? -1 : 1))
    .flatMap((live) => [
      ...signinRoutes(live),
      ...handlerRoutes(live.compiled, auth),
      ...[...live.compiled.modules.values()]
        .filter((module) => module.routed)
        .flatMap((module) => [...module.schemas.values()])
        .flatMap((schema) => entryRoutes(live.compiled, schema)),
    ]);
}

/** Path of a schema's entries: the schema's id is left out where the module has only one. */
export function entriesPath(orb: CompiledOrb, schema: CompiledSchema): string {
  const base = `/api/${orb.id}/${schema.module}`;
  return orb.modules.get(schema.module)?.only === undefined ? `${base}/${schema.id}` : base;
}

function entryRoutes(orb: CompiledOrb, schema: CompiledSchema): ActiveRoute[] {
  const path = entriesPath(orb, schema);
  const read = READERS[schema.access.read];
  const write = schema.access.write;
  const route = (method: ActiveRoute["method"], tail: string, role: Role): ActiveRoute => ({
    method,
    path: path + tail,
    orb: orb.id,
    origin: "crud",
    role,
  });
  return [
    route("GET", "", read),
    route("GET", "/{id}", read),
    route("POST", "", write),
    route("PUT", "/{id}", write),
    route("DELETE", "/{id}", write),
    ...["publish", "unpublish", "archive", "restore"].map((operation) =>
      route("POST", `/{id}/${operation}`, write),
    ),
  ];
}

const READERS: Record<Access["read"], Role> = { public: "public", user: "user", own: "user", admin: "admin" };

function handlerRoutes(orb: CompiledOrb, auth: ReadonlyMap<string, string | undefined>): ActiveRoute[] {
  return [...orb.handlers].flatMap(([short, handler]) => {
    // Those of `access` are the routes of the orb's realm.
    if (handler.startsWith("access.")) return [];
    const declared = auth.get(handler);
    const role: Role =
      declared === "AdminRequired"
        ? "admin"
        : declared === "AuthRequired" || NEEDS_USER.test(handler)
          ? "user"
          : "public";
    return [`/api/${orb.id}/${short}`, `/api/${orb.id}/call/${short}`].map(
      (path): ActiveRoute => ({ method: "POST", path, orb: orb.id, origin: "handler", role, handler }),
    );
  });
}

function signinRoutes(live: LiveOrb): ActiveRoute[] {
  const realm = orbRealm(live.document);
  const route = (method: ActiveRoute["method"], tail: string, role: Role, handler?: string): ActiveRoute => ({
    method,
    path: `/api/${live.orb}/${tail}`,
    orb: live.orb,
    origin: "signin",
    role,
    ...(handler === undefined ? {} : { handler }),
  });
  const routes = [route("GET", "signin", "public")];
  if (realm === null) return routes;
  if (realm.handlers.has("passkey")) {
    routes.push(route("POST", "passkey/begin", "public", "access.passkey"));
    routes.push(route("POST", "passkey/complete", "public", "access.passkey"));
  }
  if (realm.handlers.has("invitations")) {
    routes.push(route("POST", "invitations", "admin", "access.invitations"));
    routes.push(route("GET", "invitations/{code}", "public", "access.invitations"));
  }
  if (realm.handlers.has("bootstrap")) routes.push(route("POST", "bootstrap", "owner", "access.bootstrap"));
  return routes;
}
