/** Lists published applications in enough detail to build menus and forms. */
import type { z } from "@hono/zod-openapi";
import { realmOf } from "../../shared/access/authorize.ts";
import type { CompiledField, CompiledModule, CompiledSchema } from "../../shared/definition/compile.ts";
import { accessLists, shownAccess } from "../../shared/definition/document/access.ts";
import type { SchemaToken } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveDefinitions } from "../../shared/definition/stored/live.ts";
import { LISTED } from "../../shared/discovery/cached-value.ts";
import { type FaultyEntry, isFaulty } from "../../shared/handlers/contract/entry.ts";
import { describedRoutes } from "../../shared/handlers/contract/http.ts";
import { type Handler, type HandlerDeps, isRemote } from "../../shared/handlers/contract/types.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { entriesPath } from "../../shared/orb/routes.ts";
import { isOfOrb, listMappings, type Mapping } from "../../shared/streams/mappings/mapping.ts";
import { type AccessView, type FieldView, type OrbView, Overview } from "./overview-schemas.ts";
import { publishedRoutes } from "./published.ts";
import { describedIn } from "./typed-handlers.ts";

function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

function fieldView(field: CompiledField, paths: ReadonlyMap<string, string>): FieldView {
  const {
    name,
    type,
    label,
    description,
    ref,
    enum: allowed,
    default: standard,
    min,
    max,
    pattern,
    access,
  } = field.definition;
  const { target } = field;
  return {
    name,
    type,
    required: field.required,
    list: field.list,
    translatable: field.translatable,
    marketSpecific: field.marketSpecific,
    sensitive: field.sensitive,
    unique: field.unique,
    search: field.searched,
    sortable: field.sortable,
    filters: [...field.operators],
    ...present({
      label,
      description,
      ref,
      options: target === undefined ? undefined : paths.get(placeOf(target.orb, target)),
      enum: allowed,
      default: standard,
      min,
      max,
      pattern,
      access,
    }),
  };
}

function handlerView(live: LiveOrb, route: string, full: string, found: Handler | FaultyEntry | undefined) {
  const handler = found === undefined || isFaulty(found) ? undefined : found;
  const base = `/api/${live.orb}`;
  if (handler === undefined) return { name: full, available: false, href: `${base}/${route}` };
  const { description, kind, auth, input, output } = describedIn(live, handler);
  const routes =
    handler.kind === "http"
      ? describedRoutes(handler, route).map(({ method, path }) => ({ method, path: base + path }))
      : undefined;
  const own = routes === undefined || isRemote(handler) ? `${base}/${route}` : routes[0]?.path;
  return {
    name: full,
    available: true,
    description,
    kind,
    auth,
    href: own ?? null,
    ...present({ routes, input, output }),
  };
}

/**
 * Returns the key of a schema in a map of collection URLs. The key contains the name under which the schema's entries
 * are stored. The schema's current id is not suitable, because another application may still refer to the schema by
 * an earlier id.
 */
function placeOf(orb: string, { module, schema }: { module: string; schema: SchemaToken }): string {
  return `${orb}/${module}/${schema}`;
}

/** @param paths URLs of collections, keyed by the result of {@link placeOf} */
function orbView(
  live: LiveOrb,
  handlers: ReadonlyMap<string, Handler | FaultyEntry>,
  mappings: readonly Mapping[],
  paths: ReadonlyMap<string, string>,
): OrbView {
  const { compiled, document, orb } = live;
  const { name, description } = document;
  const schemaView = (module: CompiledModule, schema: CompiledSchema) => ({
    id: schema.id,
    ...present({ name: schema.definition.name, description: schema.definition.description }),
    access: shownAccess(accessLists(module.type, schema.definition)) as AccessView,
    href: module.routed ? entriesPath(compiled, schema) : null,
    fields: [...schema.fields.values()].map((field) => fieldView(field, paths)),
  });
  return {
    id: orb,
    ...present({ name, description }),
    revision: live.revision,
    languages: [...compiled.languages],
    markets: [...compiled.markets],
    ...present({
      roles: document.roles?.map((role) => ({ ...role, extends: role.extends ?? ("user" as const) })),
    }),
    realm: realmOf(orb, compiled.usesAccess),
    links: { signin: `/api/${orb}/signin`, openapi: `/api/openapi?orb=${orb}` },
    streams: mappings
      .filter((mapping) => isOfOrb(mapping, orb))
      .map((mapping) => ({
        name: mapping.name,
        description: mapping.description,
        href: `/api/streams/${mapping.name}`,
      })),
    modules: [...compiled.modules.values()].map((module) => ({
      id: module.id,
      type: module.type,
      ...present({ name: module.definition.name, description: module.definition.description }),
      schemas: [...module.schemas.values()].map((schema) => schemaView(module, schema)),
    })),
    handlers: [...compiled.handlers].map(([short, full]) =>
      handlerView(live, short, full, handlers.get(full)),
    ),
  };
}

function pathsOf(orbs: readonly LiveOrb[]): Map<string, string> {
  const paths = new Map<string, string>();
  for (const { orb, compiled } of orbs) {
    for (const module of compiled.modules.values()) {
      if (!module.routed) continue;
      for (const schema of module.schemas.values()) {
        paths.set(placeOf(orb, { module: module.id, ...schema.home }), entriesPath(compiled, schema));
      }
    }
  }
  return paths;
}

async function overview(deps: HandlerDeps): Promise<OrbView[]> {
  const [{ orbs }, entries, mappings] = await Promise.all([
    liveDefinitions(deps),
    listHandlers(deps),
    listMappings(deps.store),
  ]);
  const handlers = new Map(entries.map((entry) => [entry.name, entry]));
  const paths = pathsOf(orbs);
  return orbs.map((live) => orbView(live, handlers, mappings, paths));
}

const LINKS = {
  openapi: "/api/openapi",
  docs: "/api/docs",
  health: "/api/health",
  signin: "/api/auth/signin",
  streams: "/api/streams/",
};

export function overviewRoutes() {
  return publishedRoutes({
    path: "/api/discovery",
    operationId: "discover",
    summary: "List published orbs with their modules, schemas, fields and handlers",
    description:
      "Contains everything that a program needs to build menus and forms. Lists only published orbs.",
    response: "The overview",
    schema: Overview,
    orb: "Only this orb",
    buckets: LISTED,
    read: overview,
    show: (all, _, orb) => {
      const orbs = orb === undefined ? all : all.filter(({ id }) => id === orb);
      if (orb !== undefined && orbs.length === 0) return undefined;
      return { version: VERSION, links: LINKS, orbs } satisfies z.infer<typeof Overview>;
    },
  });
}
