/** Lists published applications in enough detail to build menus and forms. */

import type { z } from "@hono/zod-openapi";
import { realmOf } from "../../shared/access/authorize.ts";
import {
  type CompiledField,
  type CompiledModule,
  type CompiledSchema,
  isKey,
} from "../../shared/definition/compile.ts";
import {
  accessLists,
  type SchemaToken,
  shownAccess,
  sourceOf,
} from "../../shared/definition/document/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { allowedIn } from "../../shared/definition/rich-text.ts";
import { isUnusable, liveOrb, unreadableAt } from "../../shared/definition/stored/index.ts";
import { LISTED } from "../../shared/discovery/cached-value.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { describedAs } from "../../shared/entry/pinned/index.ts";
import {
  describedRoutes,
  type FaultyEntry,
  type Handler,
  type HandlerDeps,
  isFaulty,
  isRemote,
} from "../../shared/handlers/contract/index.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { mapInParallel } from "../../shared/kernel/parallel.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { entriesPath } from "../../shared/orb/routes.ts";
import { isOfOrb, listMappings, type Mapping } from "../../shared/streams/mappings/index.ts";
import { writeOrbPlace } from "../http/cursors.ts";
import {
  type AccessView,
  type FieldView,
  type OrbView,
  Overview,
  type UnusableOrb,
} from "./overview-schemas.ts";
import { type Asked, publishedRoutes } from "./published.ts";
import { describedIn } from "./typed-handlers.ts";

function present<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

/**
 * Returns the views of the fields that each object has: under the component's id for blocks, else under `fields`. If
 * the objects are references to several schemas, all have the same fields.
 */
function innerViews({ shapes, blocks, kind }: CompiledField, paths: ReadonlyMap<string, string>) {
  const views = [...(shapes ?? [])].map(([component, fields]) => ({
    component,
    fields: [...fields.values()].map((field) => fieldView(field, paths)),
  }));
  if (blocks) return { blocks: views };
  const kinds = views.flatMap(({ fields }) => fields.find(({ name }) => name === kind)?.enum ?? []);
  return {
    fields: views[0]?.fields.map((one) => (one.name === kind ? { ...one, enum: kinds } : one)),
  };
}

/** Returns what a field of rich text allows, apart from its components. */
function formatsOf({ definition }: CompiledField) {
  if (definition.type !== "richText") return {};
  const { styles, marks, lists, links } = allowedIn(definition);
  return { styles: [...styles], marks: [...marks], lists: [...lists], links: [...links] };
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
    scale,
    pattern,
    message,
    group,
    width,
    placeholder,
    showIf,
    format,
    access,
  } = field.definition;
  const [target, ...others] = field.targets;
  return {
    name,
    type,
    ...(field.parent === undefined || field.isPart ? {} : { path: field.name }),
    required: field.always || (field.definition.required ?? false),
    list: field.list,
    translatable: field.translatable,
    marketSpecific: field.marketSpecific,
    sensitive: field.sensitive,
    unique: field.unique,
    key: isKey(field),
    search: field.searched,
    sortable: field.sortable,
    filters: field.isPart ? [] : [...field.operators],
    ...present({
      label,
      description,
      ref,
      options:
        target === undefined || others.length > 0 ? undefined : paths.get(collectionKey(target.orb, target)),
      enum: allowed,
      default: standard,
      min,
      max,
      from: sourceOf(field.definition),
      scale,
      pattern,
      message,
      group,
      width,
      placeholder,
      showIf,
      format,
      access,
      ...formatsOf(field),
      ...innerViews(field, paths),
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
function collectionKey(orb: string, { module, schema }: { module: string; schema: SchemaToken }): string {
  return `${orb}/${module}/${schema}`;
}

/** @param paths URLs of collections, keyed by the result of {@link collectionKey} */
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
    ...(schema.definition.preview === undefined ? {} : { preview: true as const }),
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
        paths.set(collectionKey(orb, { module: module.id, ...schema.home }), entriesPath(compiled, schema));
      }
    }
  }
  return paths;
}

interface Registered {
  handlers: ReadonlyMap<string, Handler | FaultyEntry>;
  mappings: readonly Mapping[];
}

async function registered(deps: HandlerDeps): Promise<Registered> {
  const [entries, mappings] = await Promise.all([listHandlers(deps), listMappings(deps.store)]);
  return { handlers: new Map(entries.map((entry) => [entry.name, entry])), mappings };
}

/** Maximum number of orbs that are read before the length of the page is known. */
const AT_ONCE = 16;

interface FoundOrbs {
  live: LiveOrb[];
  unusable: UnusableOrb[];
}

async function liveOrUnusable(deps: HandlerDeps, id: string): Promise<LiveOrb | UnusableOrb | null> {
  try {
    return await liveOrb(deps, id);
  } catch (error) {
    if (!isUnusable(error)) throw error;
    return { id, reason: unreadableAt(error) === undefined ? "damaged" : "newer_version" };
  }
}

async function findOrbs(deps: HandlerDeps, ids: readonly string[]): Promise<FoundOrbs> {
  const found: FoundOrbs = { live: [], unusable: [] };
  for (const one of await mapInParallel(ids, (id) => liveOrUnusable(deps, id))) {
    if (one === null) continue;
    if ("reason" in one) found.unusable.push(one);
    else found.live.push(one);
  }
  return found;
}

/** Returns the ids of the other applications to which fields of an application refer. */
function targetsOf({ orb, compiled }: LiveOrb): Set<string> {
  const targets = new Set<string>();
  for (const module of compiled.modules.values())
    for (const schema of module.schemas.values())
      for (const target of schema.references.flatMap((field) => field.targets))
        if (target.orb !== orb) targets.add(target.orb);
  return targets;
}

async function viewsOf(
  deps: HandlerDeps,
  ids: readonly string[],
  { handlers, mappings }: Registered,
  { revision, within }: Pick<Asked<Registered>, "revision" | "within"> = { revision: undefined },
): Promise<{ views: OrbView[]; unusable: UnusableOrb[] }> {
  const { live, unusable } = await findOrbs(deps, ids);
  const shaped = (one: LiveOrb) =>
    within ?? (revision === undefined ? one : describedAs(deps, one, revision, false));
  const orbs = await Promise.all(live.map(shaped));
  const targets = new Set(orbs.flatMap((live) => [...targetsOf(live)]));
  const paths = pathsOf([...orbs, ...(await findOrbs(deps, [...targets])).live]);
  return { views: orbs.map((one) => orbView(one, handlers, mappings, paths)), unusable };
}

/** A page with more characters ends, even if it has fewer orbs than `limit`. */
const PAGE_LENGTH = 1_000_000;

async function pageOf({ deps, orbs, state, limit, after }: Asked<Registered>) {
  const ids = orbs.map(({ orb }) => orb);
  const rest = after === undefined ? ids : ids.filter((orb) => orb > after.orb);
  const page: OrbView[] = [];
  const unusableOrbs: UnusableOrb[] = [];
  let length = 0;
  let at = 0;
  while (at < rest.length && page.length < limit && length < PAGE_LENGTH) {
    const some = rest.slice(at, at + Math.min(AT_ONCE, limit - page.length));
    const { views, unusable } = await viewsOf(deps, some, state);
    unusableOrbs.push(...unusable);
    at += some.length;
    length += JSON.stringify(views).length;
    page.push(...views);
  }
  const last = at < rest.length ? rest[at - 1] : undefined;
  return { orbs: page, unusableOrbs, next: last === undefined ? null : { orb: last, number: 0 } };
}

const LINKS = {
  openapi: "/api/openapi",
  docs: "/api/docs",
  health: "/api/health",
  signin: "/api/auth/signin",
  streams: "/api/streams/",
};

const OPERATION = "discover";

export function overviewRoutes(published: PublishedOrbs) {
  return publishedRoutes<Registered>({
    path: "/api/discovery",
    operationId: OPERATION,
    summary: "List published orbs with their modules, schemas, fields and handlers",
    description:
      "Contains everything that a program needs to build menus and forms. Lists only published orbs, in order of their ids. A page ends early if its orbs are large. Follow `nextCursor`. With `Orb-Definition`, the modules, schemas and fields of the orb are those of that revision; with `change`, those of a change set.",
    response: "The overview",
    schema: Overview,
    orb: "Only this orb",
    paged: true,
    pins: true,
    changes: true,
    published,
    buckets: LISTED,
    read: registered,
    async show(asked) {
      const { deps, state, orb } = asked;
      if (orb !== undefined && (await liveOrb(deps, orb)) === null) return undefined;
      const { orbs, unusableOrbs, next } =
        orb === undefined
          ? await pageOf(asked)
          : { orbs: (await viewsOf(deps, [orb], state, asked)).views, unusableOrbs: [], next: null };
      const nextCursor = writeOrbPlace(OPERATION, next);
      const shown = { version: VERSION, links: LINKS, orbs, nextCursor };
      return (unusableOrbs.length === 0 ? shown : { ...shown, unusableOrbs }) satisfies z.infer<
        typeof Overview
      >;
    },
  });
}
