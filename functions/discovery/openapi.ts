import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, SHARED_REALM } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveDefinitions } from "../../shared/definition/stored/live.ts";
import type { Config, Deps } from "../../shared/deps.ts";
import { DESCRIBED } from "../../shared/discovery/cached-value.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import type { AppEnv } from "../request/context.ts";
import type { Handlers } from "./calls.ts";
import {
  type ApiDocument,
  describeTwins,
  generated,
  nameHeaders,
  operationsOf,
  shareParts,
} from "./document.ts";
import type { OrbPart } from "./entry-schemas.ts";
import { PROPERTY_FILTERS, propertyFilters } from "./filters.ts";
import { describeOrb } from "./orb.ts";
import { publishedRoutes } from "./published.ts";
import { DESCRIPTION, TAGS } from "./words.ts";

export interface Described {
  own: OpenAPIHono<AppEnv>;
  runtime: OpenAPIHono<AppEnv>;
}

type Parts = Map<string, { live: LiveOrb; part: OrbPart }>;

const Description = z.looseObject({
  openapi: z.string().openapi({ example: "3.0.3" }),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
});

const cookieScheme = (config: Config, realm: string, description: string) => ({
  type: "apiKey",
  in: "cookie",
  name: cookieName(config, realm),
  description,
});

class Describer {
  readonly #described: Described;
  #fixed: { own: ApiDocument; generic: ApiDocument } | undefined;

  constructor(described: Described) {
    this.#described = described;
  }

  /** Describes the routes that all applications share, and caches the result. */
  #base() {
    if (this.#fixed !== undefined) return this.#fixed;
    const wrap = (made: Pick<ApiDocument, "paths" | "components">): ApiDocument => ({
      openapi: "3.0.3",
      info: { title: "Composable application platform", version: VERSION, description: DESCRIPTION },
      servers: [],
      tags: [],
      ...made,
    });
    const own = wrap(generated(this.#described.own));
    Object.assign(own.components.parameters, propertyFilters());
    for (const { operation } of operationsOf(own.paths)) {
      if (operation.operationId === "listEntries") operation.parameters?.push(...PROPERTY_FILTERS);
    }
    const generic = wrap(generated(this.#described.runtime));
    own.tags = [...TAGS, ...describeTwins(own.paths)];
    nameHeaders(own.paths);
    nameHeaders(generic.paths);
    own.components.schemas = { ...generic.components.schemas, ...own.components.schemas };
    own.components.securitySchemes = {
      bearer: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "JWT or API token",
        description:
          "The token of a session, from a sign-in, or an API token. `x-scope` says which scopes an API token needs.",
      },
    };
    const joint = {
      paths: Object.fromEntries([
        ...Object.entries(own.paths).map(([path, item]) => [`own ${path}`, item] as const),
        ...Object.entries(generic.paths).map(([path, item]) => [`orb ${path}`, item] as const),
      ]),
      components: own.components,
    };
    shareParts(joint);
    this.#fixed = { own, generic };
    return this.#fixed;
  }

  async parts(deps: HandlerDeps): Promise<Parts> {
    const [{ orbs }, entries] = await Promise.all([liveDefinitions(deps), listHandlers(deps)]);
    const handlers: Handlers = new Map(entries.map((entry) => [entry.name, entry]));
    const { generic, own } = this.#base();
    const source = { paths: generic.paths, components: own.components };
    const described: Parts = new Map();
    for (const live of orbs) {
      try {
        described.set(live.orb, { live, part: describeOrb(source, live, handlers, deps.config) });
      } catch (error) {
        // An application that cannot be described must not affect the others. Leave it out of the document.
        deps.log.error("an orb cannot be described", { orb: live.orb, error: String(error) });
      }
    }
    return described;
  }

  /**
   * @param orb id of the only application to describe. If undefined, describes all applications and the
   * platform's routes.
   */
  document(all: Parts, { config }: Deps, orb: string | undefined): ApiDocument | undefined {
    const { own } = this.#base();
    const one = orb === undefined ? undefined : all.get(orb);
    if (orb !== undefined && one === undefined) return undefined;
    const only = one?.live;
    const parts = (one === undefined ? [...all.values()] : [one]).map(({ part }) => part);
    const merged = <K extends "paths" | "schemas" | "securitySchemes">(member: K) =>
      Object.assign({}, ...parts.map((part) => part[member])) as OrbPart[K];
    return {
      ...own,
      info:
        only === undefined
          ? own.info
          : {
              ...own.info,
              title: only.document.name ?? only.orb,
              description: [only.document.description, DESCRIPTION].filter(Boolean).join("\n\n"),
            },
      servers: [{ url: config.publicUrl }],
      tags: [...(only === undefined ? own.tags : []), ...parts.flatMap(({ tags }) => tags)],
      paths: { ...(only === undefined ? own.paths : {}), ...merged("paths") },
      components: {
        ...own.components,
        schemas: { ...own.components.schemas, ...merged("schemas") },
        securitySchemes: {
          ...own.components.securitySchemes,
          cookie: cookieScheme(config, SHARED_REALM, "Session of the shared realm"),
          platformCookie: cookieScheme(config, PLATFORM_REALM, "Session of a platform admin"),
          ...merged("securitySchemes"),
        },
      },
    };
  }
}

/** Register all routes before the first request, which caches the OpenAPI document. */
export function openApiRoutes(described: Described) {
  const describer = new Describer(described);
  return publishedRoutes({
    path: "/api/openapi",
    operationId: "getOpenApi",
    summary: "Get this API description",
    description:
      "OpenAPI 3.0 description of the platform's routes and of all published orbs, or of one orb with `orb`.",
    response: "The description",
    schema: Description,
    orb: "Id of a published orb, to describe only its routes",
    buckets: DESCRIBED,
    read: (deps) => describer.parts(deps),
    show: (parts, deps, orb) => describer.document(parts, deps, orb),
  });
}
