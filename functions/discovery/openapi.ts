/** Section E: /api/openapi describes every route, from the route definitions themselves. */
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, SHARED_REALM } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveDefinitions, noLiveOrb } from "../../shared/definition/stored/live.ts";
import type { Config, Deps } from "../../shared/deps.ts";
import { CachedValue, DESCRIBED } from "../../shared/discovery/cached-value.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { listHandlers } from "../../shared/handlers/registry.ts";
import { sha256 } from "../../shared/kernel/ids.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { matchesTag } from "../http/etag.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { header, IfNoneMatch, json } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { type ApiDocument, generated, nameHeaders, shareParts } from "./document.ts";
import { describeOrb, type Handlers, type OrbPart } from "./orb.ts";
import { DESCRIPTION, TAGS } from "./words.ts";

/** The routers to describe. */
export interface Described {
  own: OpenAPIHono<AppEnv>;
  runtime: OpenAPIHono<AppEnv>;
}

/** A serialized description with its entity tag. */
interface Rendered {
  bytes: Uint8Array<ArrayBuffer>;
  tag: string;
}

/** Descriptions for one state of the live definitions and the registry. */
interface State {
  orbs: Map<string, { live: LiveOrb; part: OrbPart }>;
  /** By orb; the key undefined holds the description of the whole platform. */
  rendered: Map<string | undefined, Rendered>;
}

const route = defineRoute({
  method: "get",
  path: "/api/openapi",
  operationId: "getOpenApi",
  summary: "Get this API description",
  description:
    "OpenAPI 3.0 description of the platform's routes and of all published orbs, or of one orb with `orb`.",
  tags: ["Discovery"],
  security: [],
  request: {
    headers: IfNoneMatch,
    query: z.strictObject({
      orb: z
        .string()
        .optional()
        .openapi({ description: "Id of a published orb, to describe only its routes", example: "shop" }),
    }),
  },
  responses: {
    200: json(
      "The description",
      z.looseObject({
        openapi: z.string().openapi({ example: "3.0.3" }),
        info: z.looseObject({ title: z.string(), version: z.string() }),
        paths: z.record(z.string(), z.unknown()),
      }),
      { ETag: header("Changes with the description") },
    ),
    304: { description: "Not modified" },
  },
  problems: [400, 404],
});

/** The cookie of the routes that are not an orb's own. */
const sharedCookie = (config: Config) => ({
  type: "apiKey",
  in: "cookie",
  name: cookieName(config, SHARED_REALM),
  description: `Session of the shared realm. Platform admins use \`${cookieName(config, PLATFORM_REALM)}\`.`,
});

/** Creates and caches the descriptions of one app. */
class Describer {
  readonly #described: Described;
  #fixed: { own: ApiDocument; generic: ApiDocument } | undefined;
  readonly #state = new CachedValue<State>(DESCRIBED, (deps) => this.#compile(deps));

  constructor(described: Described) {
    this.#described = described;
  }

  /**
   * The platform's own routes and the generic routes of orbs, which do not depend on what is published. Computed once.
   */
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
    const generic = wrap(generated(this.#described.runtime));
    nameHeaders(own.paths);
    nameHeaders(generic.paths);
    // The platform's own routes use components of the runtime routes too.
    own.components.schemas = { ...generic.components.schemas, ...own.components.schemas };
    own.components.securitySchemes = {
      bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "A token from a sign-in" },
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

  /** @throws AppError not_found if the orb is not published */
  async render(deps: HandlerDeps, orb: string | undefined): Promise<Rendered> {
    const state = await this.#state.get(deps);
    const known = state.rendered.get(orb);
    if (known !== undefined) return known;
    const only = orb === undefined ? undefined : state.orbs.get(orb);
    if (orb !== undefined && only === undefined) throw noLiveOrb();
    const parts = only === undefined ? [...state.orbs.values()] : [only];
    const document = this.#assemble(
      deps,
      parts.map(({ part }) => part),
      only?.live,
    );
    // Keep bytes: a string with characters beyond Latin-1 takes twice the memory and must be encoded for each response.
    const bytes = new TextEncoder().encode(JSON.stringify(document));
    const rendered = { bytes, tag: `"${(await sha256(bytes)).slice(0, 22)}"` };
    state.rendered.set(orb, rendered);
    return rendered;
  }

  async #compile(deps: HandlerDeps): Promise<State> {
    const [{ orbs }, entries] = await Promise.all([liveDefinitions(deps), listHandlers(deps)]);
    const handlers: Handlers = new Map(entries.map((entry) => [entry.name, entry]));
    const { generic, own } = this.#base();
    const source = { paths: generic.paths, components: own.components };
    const described = new Map<string, { live: LiveOrb; part: OrbPart }>();
    for (const live of orbs) {
      try {
        described.set(live.orb, { live, part: describeOrb(source, live, handlers, deps.config) });
      } catch (error) {
        // One orb that cannot be described must not hide the others.
        deps.log.error("an orb cannot be described", { orb: live.orb, error: String(error) });
      }
    }
    return { orbs: described, rendered: new Map() };
  }

  /** @param only describes this orb alone, without the platform's own routes */
  #assemble(deps: Deps, parts: readonly OrbPart[], only: LiveOrb | undefined): ApiDocument {
    const { own } = this.#base();
    const merged = <K extends "paths" | "schemas" | "securitySchemes">(member: K) =>
      Object.assign({}, ...parts.map((part) => part[member])) as OrbPart[K];
    return {
      ...own,
      info: only === undefined ? own.info : { ...own.info, title: only.document.name ?? only.orb },
      servers: [{ url: deps.config.publicUrl }],
      tags: [...(only === undefined ? TAGS : []), ...parts.flatMap(({ tags }) => tags)],
      paths: { ...(only === undefined ? own.paths : {}), ...merged("paths") },
      components: {
        ...own.components,
        schemas: { ...own.components.schemas, ...merged("schemas") },
        securitySchemes: {
          ...own.components.securitySchemes,
          cookie: sharedCookie(deps.config),
          ...merged("securitySchemes"),
        },
      },
    };
  }
}

/** @param described the routers; all routes must be registered before the first request */
export function openApiRoutes(described: Described) {
  const describer = new Describer(described);
  return newRouter().openapi(route, async (c) => {
    const { bytes, tag } = await describer.render(c.var.deps, c.req.valid("query").orb);
    c.header("etag", tag);
    c.header("cache-control", "public, no-cache");
    if (matchesTag(c.req.header("if-none-match"), tag)) return c.body(null, 304);
    return c.body(bytes, 200, { "content-type": "application/json" }) as never;
  });
}
