import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, SHARED_REALM } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { type LiveSummary, liveOrb } from "../../shared/definition/stored/index.ts";
import type { Config } from "../../shared/deps.ts";
import { DESCRIBED } from "../../shared/discovery/cached-value.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { describedAs } from "../../shared/entry/pinned/index.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
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
import { type Asked, publishedRoutes } from "./published.ts";

const DESCRIPTION = [
  "An application engine. Orbs declare modules, schemas and handlers, and each published orb gets an API.",
  "Errors are `application/problem+json` (RFC 9457) with a stable `code`. `errors` lists all faults of the input at once.",
  "Methods that an address does not support get 405 with `Allow`. HEAD works wherever GET does. Unknown query parameters get 400.",
  "`/api/_orbs…` is an alias of `/api/admin/orbs…`.",
  "Paged lists return `items` and `nextCursor`, short lists an array. `If-Match` takes an ETag. `Idempotency-Key` makes a POST safe to repeat for 24 hours.",
  "Every response has an `X-Request-Id`: the request's own or a new one. Log lines contain it.",
].join("\n\n");

const TAGS = [
  { name: "Discovery", description: "API description, published orbs, active routes, health and metrics." },
  { name: "Platform: sign-in", description: "Registration and sign-in of platform admins." },
  { name: "Platform: own account", description: "Account and passkeys of the signed-in platform admin." },
  { name: "Platform: recovery", description: "Recovery of platform admins who lost their passkeys." },
  { name: "Platform: admins", description: "Platform admins and their invitations." },
  { name: "Users: sign-in", description: "Registration and sign-in in the shared realm." },
  { name: "Users: own account", description: "Account and passkeys of the signed-in user." },
  { name: "Users: recovery", description: "Recovery of users who lost their passkeys." },
  { name: "Users: management", description: "Users of the shared realm and their invitations." },
  { name: "Orbs", description: "Definitions of applications: drafts, publication, revisions." },
  { name: "Orbs: content", description: "Everything that an orb stores: numbers, export, import." },
  {
    name: "Entries",
    description: "Entries of orbs on the management API, including drafts and all revisions.",
  },
  { name: "Entries: many at once", description: "Writes of many entries in one request." },
  { name: "Entries: searches", description: "Entries of all schemas, by their words." },
  { name: "Change sets", description: "Changes of many entries that are published together." },
  { name: "Change sets, review", description: "Approvals, rejections and comments." },
  { name: "Saved views", description: "Saved views of lists, of one account or shared." },
  { name: "Forms", description: "Unsaved changes of a person, and who edits an entry." },
  { name: "Files", description: "The library of files: their descriptions, replacement and deletion." },
  { name: "Deliveries", description: "Deliveries of the hooks after writes, and calls of schedules." },
  { name: "Handlers", description: "The registry of handlers." },
  { name: "Streams", description: "Broker streams over HTTP, and which ones are served." },
  { name: "Definitions", description: "Message schemas and module templates." },
  { name: "Agents", description: "Tools of the Model Context Protocol." },
  { name: "Audit", description: "Records of administrative actions." },
];

export const OPENAPI_PATH = "/api/openapi";

export interface Described {
  own: OpenAPIHono<AppEnv>;
  runtime: OpenAPIHono<AppEnv>;
  published: PublishedOrbs;
}

const Description = z.looseObject({
  openapi: z.string().openapi({ example: "3.0.3" }),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.unknown()),
  "x-orbs": z
    .array(z.object({ id: z.string(), name: z.string().optional(), openapi: z.string() }))
    .optional()
    .openapi({
      description:
        "The published orbs in order of their ids, without `orb`. Beyond a million characters, the list ends: `/api/discovery` has all orbs",
    }),
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

  /** Describes the platform's routes, or those of one application. Undefined if it is not published. */
  async document({ deps, orbs, state, orb, revision }: Asked<Handlers>): Promise<ApiDocument | undefined> {
    if (orb === undefined) return { ...this.#describe(deps), "x-orbs": linksTo(orbs) };
    const newest = await liveOrb(deps, orb);
    if (newest === null) return undefined;
    const live = revision === undefined ? newest : await describedAs(deps, newest, revision, true);
    const { generic, own } = this.#base();
    const source = { paths: generic.paths, components: own.components };
    return this.#describe(deps, { live, part: describeOrb(source, live, state, deps.config) });
  }

  #describe({ config }: HandlerDeps, only?: { live: LiveOrb; part: OrbPart }): ApiDocument {
    const { own } = this.#base();
    return {
      ...own,
      info: only === undefined ? own.info : infoOf(own, only.live),
      servers: [{ url: config.publicUrl }],
      tags: only === undefined ? own.tags : only.part.tags,
      paths: only === undefined ? own.paths : only.part.paths,
      components: {
        ...own.components,
        schemas: { ...own.components.schemas, ...only?.part.schemas },
        securitySchemes: {
          ...own.components.securitySchemes,
          cookie: cookieScheme(config, SHARED_REALM, "Session of the shared realm"),
          platformCookie: cookieScheme(config, PLATFORM_REALM, "Session of a platform admin"),
          ...only?.part.securitySchemes,
        },
      },
    };
  }
}

const infoOf = ({ info }: ApiDocument, { document, orb }: LiveOrb) => ({
  ...info,
  title: document.name ?? orb,
  description: [document.description, DESCRIPTION].filter(Boolean).join("\n\n"),
});

/** Maximum characters of the list of orbs. With names of usual length, it has about 10,000 orbs. */
const LINKS_LENGTH = 1_000_000;

/** Lists the published orbs with the URLs of their descriptions. */
function linksTo(orbs: readonly LiveSummary[]) {
  let length = 0;
  const links = orbs.map(({ orb, name }) => ({
    id: orb,
    ...(name === undefined ? {} : { name }),
    openapi: `/api/openapi?orb=${orb}`,
  }));
  const end = links.findIndex((link) => {
    length += JSON.stringify(link).length;
    return length > LINKS_LENGTH;
  });
  return end === -1 ? links : links.slice(0, end);
}

/** Register all routes before the first request, which caches the OpenAPI document. */
export function openApiRoutes(described: Described) {
  const describer = new Describer(described);
  return publishedRoutes<Handlers>({
    path: OPENAPI_PATH,
    operationId: "getOpenApi",
    summary: "Get this API description",
    description:
      "OpenAPI 3.0 description of the platform's routes, or of the routes of one orb with `orb`. Without `orb`, `x-orbs` lists the published orbs with the paths of their descriptions. With `Orb-Definition`, the entries of the orb have the shape of that revision.",
    response: "The description",
    schema: Description,
    orb: "Id of a published orb, to describe its routes",
    paged: false,
    pins: true,
    published: described.published,
    buckets: DESCRIBED,
    read: async (deps) => new Map((await listHandlers(deps)).map((entry) => [entry.name, entry])),
    show: (asked) => describer.document(asked),
  });
}
