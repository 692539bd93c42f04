import type { Actor, Role } from "../access/actor.ts";
import { allowedBy, requireOperator } from "../access/authorize.ts";
import type { EntryOperation } from "../access/credentials/index.ts";
import { orbRealm } from "../access/realms.ts";
import { type CompiledOrb, type CompiledSchema, keyFields } from "../definition/compile.ts";
import {
  hidesRealmSegment,
  isRealmSegment,
  isSigninPage,
  lowestRole,
  type REALM_SEGMENTS,
} from "../definition/document/index.ts";
import type { LiveOrb } from "../definition/live-orb.ts";
import { usableOrb } from "../definition/stored/index.ts";
import {
  type DescribedRoute,
  describedRoutes,
  type Handler,
  type HandlerDeps,
  isFaulty,
} from "../handlers/contract/index.ts";
import { listHandlers } from "../handlers/registry.ts";

export type RouteOrigin = "crud" | "handler" | "signin" | "mcp";

/** Path segment of the application's MCP endpoint, which offers tools to AI agents. */
export const MCP_SEGMENT = "mcp";

/** Returns whether a module or handler of the application is named `mcp`. Its path then replaces the MCP endpoint. */
export function hidesMcp({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(MCP_SEGMENT) || handlers.has(MCP_SEGMENT);
}

/** Path segment of the route that writes several entries at once. */
export const BATCH_SEGMENT = "batch";

/** Returns whether a module or handler of the application is named `batch`. Its path then replaces that route. */
export function hidesBatch({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(BATCH_SEGMENT) || handlers.has(BATCH_SEGMENT);
}

/** Path segment of the route that searches all schemas. */
export const SEARCH_SEGMENT = "search";

/** Returns whether a module or handler of the application is named `search`. Its path then replaces that route. */
export function hidesSearch({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(SEARCH_SEGMENT) || handlers.has(SEARCH_SEGMENT);
}

/** Returns whether the application has entries that the platform serves over HTTP. */
export function hasEntryRoutes({ modules }: CompiledOrb): boolean {
  return [...modules.values()].some(({ routed }) => routed);
}

/** Path segment of the routes for preview links. Ids of modules and names of handlers never begin with an underscore. */
export const PREVIEWS_SEGMENT = "_previews";

/** Path segment of the routes for change sets. */
export const CHANGES_SEGMENT = "changes";

/** Returns whether a module or handler of the application is named `changes`. Its path then replaces those routes. */
export function hidesChanges({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(CHANGES_SEGMENT) || handlers.has(CHANGES_SEGMENT);
}

/** Path segment of the routes for forms in which people edit entries. */
export const EDITING_SEGMENT = "editing";

/** Returns whether a module or handler of the application is named `editing`. Its path then replaces those routes. */
export function hidesEditing({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(EDITING_SEGMENT) || handlers.has(EDITING_SEGMENT);
}

/** Path segment of the routes for the saved views of lists. */
export const VIEWS_SEGMENT = "views";

/** Returns whether a module or handler of the application is named `views`. Its path then replaces those routes. */
export function hidesViews({ modules, handlers }: CompiledOrb): boolean {
  return modules.has(VIEWS_SEGMENT) || handlers.has(VIEWS_SEGMENT);
}

export interface ActiveRoute {
  method: DescribedRoute["method"];
  path: string;
  orb: string;
  origin: RouteOrigin;
  /**
   * The role with the fewest rights that may use the route, at least for its own entries. It may be a custom role of
   * the application. `handler` means that only handlers may use the route, on behalf of their callers.
   */
  role: string;
  handler?: string;
}

/** A page of routes. Routes are in order of their orbs' ids. */
export interface ListRoutes {
  /** Ids of the published orbs to list, in order. */
  orbs: readonly string[];
  limit: number;
  /** Place after the last route of the previous page. */
  after?: { orb: string; number: number } | undefined;
}

/** Orbs whose definitions are read at the same time. */
const AT_ONCE = 8;

/** Lists the active routes. Reads the definitions of only as many orbs as the page shows. */
export async function listRoutes(
  deps: HandlerDeps,
  actor: Actor,
  { orbs, limit, after }: ListRoutes,
): Promise<{ routes: ActiveRoute[]; next: { orb: string; number: number } | null }> {
  requireOperator(actor, "routes.read");
  const handlers = await listHandlers(deps);
  const known = new Map(handlers.map((handler) => [handler.name, isFaulty(handler) ? undefined : handler]));
  const rest = after === undefined ? orbs : orbs.filter((orb) => orb >= after.orb);
  const routes: ActiveRoute[] = [];
  for (let i = 0; i < rest.length; i += AT_ONCE) {
    const some = await Promise.all(rest.slice(i, i + AT_ONCE).map((orb) => usableOrb(deps, orb)));
    for (const live of some) {
      if (live === null) continue;
      const skipped = live.orb === after?.orb ? after.number : 0;
      const own = routesOf(live, known).slice(skipped);
      const room = limit - routes.length;
      if (own.length > room) {
        const next = { orb: live.orb, number: skipped + room };
        return { routes: [...routes, ...own.slice(0, room)], next };
      }
      routes.push(...own);
    }
  }
  return { routes, next: null };
}

function routesOf(live: LiveOrb, known: ReadonlyMap<string, Handler | undefined>): ActiveRoute[] {
  return [
    ...signinRoutes(live),
    ...handlerRoutes(live.compiled, known),
    ...mcpRoutes(live.compiled),
    ...batchRoutes(live.compiled),
    ...searchRoutes(live.compiled),
    ...changeRoutes(live.compiled),
    ...editingRoutes(live.compiled),
    ...viewRoutes(live.compiled),
    ...[...live.compiled.modules.values()]
      .filter((module) => module.routed)
      .flatMap((module) => [...module.schemas.values()])
      .flatMap((schema) => entryRoutes(live.compiled, schema)),
  ];
}

function mcpRoutes(orb: CompiledOrb): ActiveRoute[] {
  const path = `/api/${orb.id}/${MCP_SEGMENT}`;
  return hidesMcp(orb) ? [] : [{ method: "POST", path, orb: orb.id, origin: "mcp", role: "public" }];
}

function batchRoutes(orb: CompiledOrb): ActiveRoute[] {
  const path = `/api/${orb.id}/${BATCH_SEGMENT}`;
  const route = { method: "POST", path, orb: orb.id, origin: "crud", role: "public" } as const;
  return hidesBatch(orb) || !hasEntryRoutes(orb) ? [] : [route];
}

function searchRoutes(orb: CompiledOrb): ActiveRoute[] {
  const path = `/api/${orb.id}/${SEARCH_SEGMENT}`;
  const route = { method: "GET", path, orb: orb.id, origin: "crud", role: "public" } as const;
  return hidesSearch(orb) || !hasEntryRoutes(orb) ? [] : [route];
}

/** The routes for change sets, below their segment. */
const CHANGE_ROUTES: readonly [method: ActiveRoute["method"], tail: string][] = [
  ["GET", ""],
  ["POST", ""],
  ["GET", "/{changeId}"],
  ["PATCH", "/{changeId}"],
  ["DELETE", "/{changeId}"],
  ["POST", "/{changeId}/review"],
  ["POST", "/{changeId}/approve"],
  ["POST", "/{changeId}/reject"],
  ["GET", "/{changeId}/comments"],
  ["POST", "/{changeId}/comments"],
  ["POST", "/{changeId}/comments/{commentId}/resolve"],
  ["GET", "/{changeId}/diff"],
  ["POST", "/{changeId}/publish"],
  ["POST", "/{changeId}/revert"],
  ["DELETE", "/{changeId}/entries/{entryId}"],
  ["POST", "/{changeId}/entries/{entryId}/rebase"],
  ["POST", "/tokens/{tokenId}/undo"],
];

function changeRoutes(orb: CompiledOrb): ActiveRoute[] {
  if (hidesChanges(orb) || !hasEntryRoutes(orb)) return [];
  const base = `/api/${orb.id}/${CHANGES_SEGMENT}`;
  return CHANGE_ROUTES.map(([method, tail]) => ({
    method,
    path: base + tail,
    orb: orb.id,
    origin: "crud",
    role: "user",
  }));
}

/** The routes of the forms of entries, below the schema. */
const EDITING_ROUTES: readonly [method: ActiveRoute["method"], tail: string][] = [
  ["GET", ""],
  ["PUT", "/{entryId}/unsaved"],
  ["DELETE", "/{entryId}/unsaved"],
  ["PUT", "/{entryId}/presence"],
  ["DELETE", "/{entryId}/presence"],
];

function editingRoutes(orb: CompiledOrb): ActiveRoute[] {
  if (hidesEditing(orb) || !hasEntryRoutes(orb)) return [];
  const base = `/api/${orb.id}/${EDITING_SEGMENT}/{module}/{schema}`;
  return EDITING_ROUTES.map(([method, tail]) => ({
    method,
    path: base + tail,
    orb: orb.id,
    origin: "crud",
    role: "user",
  }));
}

function viewRoutes(orb: CompiledOrb): ActiveRoute[] {
  if (hidesViews(orb) || !hasEntryRoutes(orb)) return [];
  const all = `/api/${orb.id}/${VIEWS_SEGMENT}/{module}/{schema}`;
  const one = `${all}/{viewId}`;
  const route = { orb: orb.id, origin: "crud", role: "user" } as const;
  return [
    ...(["GET", "POST"] as const).map((method) => ({ ...route, method, path: all })),
    ...(["GET", "PUT", "DELETE"] as const).map((method) => ({ ...route, method, path: one })),
  ];
}

/** Returns the URL path of a schema's entries. If the module has only one schema, the path omits the schema's name. */
export function entriesPath(orb: CompiledOrb, schema: CompiledSchema): string {
  const base = `/api/${orb.id}/${schema.module}`;
  return orb.modules.get(schema.module)?.only === undefined ? `${base}/${schema.id}` : base;
}

function entryRoutes(orb: CompiledOrb, schema: CompiledSchema): ActiveRoute[] {
  const path = entriesPath(orb, schema);
  const route = (method: ActiveRoute["method"], tail: string, operation: EntryOperation): ActiveRoute => ({
    method,
    path: path + tail,
    orb: orb.id,
    origin: "crud",
    role: lowestRole(schema.access[allowedBy(operation)]),
  });
  return [
    route("GET", "", "read"),
    route("GET", "/{id}", "read"),
    route("POST", "", "create"),
    route("PATCH", "", "update"),
    route("DELETE", "", "delete"),
    route("PUT", "/{id}", "update"),
    route("PATCH", "/{id}", "update"),
    route("DELETE", "/{id}", "delete"),
    ...(keyFields(schema).length === 0
      ? []
      : [
          route("GET", "/by/{field}/{value}", "read"),
          route("PUT", "/by/{field}/{value}", "update"),
          route("PATCH", "/by/{field}/{value}", "update"),
          route("DELETE", "/by/{field}/{value}", "delete"),
        ]),
    route("GET", "/{id}/revisions", "readRevisions"),
    route("GET", "/{id}/revisions/{revision}", "readRevisions"),
    route("POST", "/{id}/revisions/{revision}/restore", "update"),
    ...(["publish", "unpublish", "archive", "restore"] as const).map((operation) =>
      route("POST", `/{id}/${operation}`, operation),
    ),
  ];
}

export const CALLERS: Record<Handler["auth"], Role> = {
  None: "public",
  AuthRequired: "user",
  AdminRequired: "admin",
};

/**
 * Returns the routes of an application's handlers.
 * @param known all registered handlers by their full name
 */
export function handlerRoutes(
  orb: CompiledOrb,
  known: ReadonlyMap<string, Handler | undefined>,
): ActiveRoute[] {
  return [...orb.handlers].flatMap(([short, name]) => {
    const handler = known.get(name);
    if (handler === undefined) return [];
    const route = { orb: orb.id, origin: "handler", role: CALLERS[handler.auth], handler: name } as const;
    if (handler.kind === "http")
      return describedRoutes(handler, short).flatMap(({ method, path }) =>
        bothForms(orb.id, path).map((path): ActiveRoute => ({ method, path, ...route })),
      );
    const called = `/api/${orb.id}/call/${short}`;
    // In older definitions, a handler may have the same path as a sign-in route. The path then belongs to the sign-in
    // route.
    const hidden = isSigninPage(short) || (orb.usesAccess && isRealmSegment(short));
    const paths = hidden ? [called] : [`/api/${orb.id}/${short}`, called];
    return paths.map((path): ActiveRoute => ({ method: "POST", path, ...route }));
  });
}

/**
 * Returns the two paths of an HTTP handler.
 * @param path below /api/{orbId}
 */
export function bothForms(orb: string, path: string): [short: string, long: string] {
  return [`/api/${orb}${path}`, `/api/${orb}/call${path}`];
}

type RealmPath = (typeof REALM_SEGMENTS)[number];

/** Sign-in routes. A definition enables each one by listing a handler of the service `access`. */
const REALM_ROUTES: readonly [
  handler: string,
  method: ActiveRoute["method"],
  path: RealmPath | `${RealmPath}/${string}`,
  role: Role,
][] = [
  ["passkey", "POST", "passkey", "public"],
  ["passkey", "POST", "passkey/begin", "public"],
  ["passkey", "POST", "passkey/complete", "public"],
  ["passkey", "GET", "passkeys", "user"],
  ["passkey", "PUT", "passkeys/{id}", "user"],
  ["passkey", "DELETE", "passkeys/{id}", "user"],
  ["passkey", "GET", "me", "user"],
  ["passkey", "PUT", "me", "user"],
  ["passkey", "POST", "signout", "user"],
  ["passkey", "GET", "sessions", "user"],
  ["passkey", "DELETE", "sessions", "user"],
  ["passkey", "DELETE", "sessions/{id}", "user"],
  ["passkey", "GET", "recovery-codes", "user"],
  ["passkey", "POST", "recovery-codes", "user"],
  ["passkey", "GET", "tokens", "user"],
  ["passkey", "POST", "tokens", "user"],
  ["passkey", "GET", "tokens/current", "user"],
  ["passkey", "DELETE", "tokens/current", "user"],
  ["passkey", "GET", "tokens/{id}", "user"],
  ["passkey", "DELETE", "tokens/{id}", "user"],
  ["passkey", "GET", "users", "admin"],
  ["passkey", "POST", "users", "owner"],
  ["passkey", "PUT", "users/{id}", "admin"],
  ["passkey", "DELETE", "users/{id}", "admin"],
  ["passkey", "POST", "users/{id}/recovery", "admin"],
  ["invitations", "POST", "invitations", "admin"],
  ["invitations", "GET", "invitations", "admin"],
  ["invitations", "GET", "invitations/{code}", "public"],
  ["invitations", "DELETE", "invitations/{code}", "admin"],
  ["oauth", "GET", "oauth/{provider}", "public"],
  ["oauth", "GET", "oauth/{provider}/callback", "public"],
  ["oauth", "POST", "oauth/{provider}/link", "user"],
  ["oauth", "GET", "identities", "user"],
  ["oauth", "DELETE", "identities/{id}", "user"],
  ["bootstrap", "GET", "bootstrap", "owner"],
  ["bootstrap", "POST", "bootstrap", "owner"],
];

/** Routes with which programs sign in, such as the command `orb login`. */
const PROGRAM_ROUTES: readonly [method: ActiveRoute["method"], path: string, role: Role][] = [
  ["GET", "signin/program", "public"],
  ["POST", "signin/program", "user"],
  ["POST", "signin/program/token", "public"],
];

function signinRoutes(live: LiveOrb): ActiveRoute[] {
  const base = { orb: live.orb, origin: "signin" } as const;
  const page: ActiveRoute = { ...base, method: "GET", path: `/api/${live.orb}/signin`, role: "public" };
  const realm = orbRealm(live.document);
  if (realm === null) return [page];
  const served = REALM_ROUTES.filter(
    ([handler, , path]) =>
      realm.handlers.has(handler) && !hidesRealmSegment(live.document, path.split("/", 1)[0] ?? ""),
  );
  return [
    page,
    ...PROGRAM_ROUTES.map(
      ([method, path, role]): ActiveRoute => ({ ...base, method, path: `/api/${live.orb}/${path}`, role }),
    ),
    ...served.flatMap(([handler, method, path, role]) => {
      const [short, long] = bothForms(live.orb, `/${path}`);
      const named = path === handler || path.startsWith(`${handler}/`);
      return (named ? [short, long] : [short]).map(
        (path): ActiveRoute => ({ ...base, method, path, role, handler: `access.${handler}` }),
      );
    }),
  ];
}
