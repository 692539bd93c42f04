/**
 * Creates routes whose response depends only on the published applications. The query parameter `orb` selects one
 * application. Without it, the response has a bounded size.
 */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { type LiveSummary, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { CachedValue } from "../../shared/discovery/cached-value.ts";
import type { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { sha256 } from "../../shared/kernel/ids.ts";
import { type OrbPlace, readOrbPlace } from "../http/cursors.ts";
import { definitionOf, refuseDefinition } from "../http/definition-header.ts";
import { matchesTag } from "../http/etag.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { ANY_SESSION, Cursor, header, IfNoneMatch, json, Limit, OrbDefinition } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { orbWithin, WITHIN } from "./within.ts";

/** A request for one application, or for a page of all. */
export interface Asked<State> {
  deps: HandlerDeps;
  /** All published applications in order of their ids. */
  orbs: readonly LiveSummary[];
  state: State;
  orb: string | undefined;
  /** Revision of the orb's definition, if the request names one. */
  revision: number | undefined;
  /** The orb as a change set will leave it, if the request names one. */
  within?: LiveOrb | undefined;
  limit: number;
  after: OrbPlace | undefined;
}

interface Published<State> {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  response: string;
  schema: z.ZodType;
  orb: string;
  /** Whether the response about all applications has pages. */
  paged: boolean;
  /** Whether a request for one orb may name a revision of its definition. */
  pins?: boolean;
  /** Whether a request for one orb may name a change set. */
  changes?: boolean;
  published: PublishedOrbs;
  /** Further key-value buckets from which the response is computed. A change in any of them makes it outdated. */
  buckets: readonly string[];
  read: (deps: HandlerDeps) => Promise<State>;
  /** Returns undefined if the application is not published. */
  show: (asked: Asked<State>) => Promise<object | undefined>;
}

interface Rendered {
  bytes: Uint8Array<ArrayBuffer>;
  tag: string;
}

/** Maximum bytes of encoded responses that one route keeps. */
const KEPT_BYTES = 8_000_000;

/** Encoded responses for one state of the definitions. */
class RenderedResponses {
  readonly #known = new Map<string, Rendered>();
  #bytes = 0;
  #of: readonly unknown[] = [];

  /** Forgets all responses if a part of the state has changed. */
  require(...of: readonly unknown[]): void {
    if (of.length === this.#of.length && of.every((part, i) => part === this.#of[i])) return;
    this.#of = of;
    this.#clear();
  }

  #clear(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  get(key: string): Rendered | undefined {
    return this.#known.get(key);
  }

  async add(key: string, value: object): Promise<Rendered> {
    const of = this.#of;
    // Cache bytes, because strings may take twice the memory and must be encoded for each response.
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const made = { bytes, tag: `"${(await sha256(bytes)).slice(0, 22)}"` };
    if (of !== this.#of) return made;
    if (this.#bytes + bytes.length > KEPT_BYTES) this.#clear();
    this.#known.set(key, made);
    this.#bytes += bytes.length;
    return made;
  }
}

const PAGE = z.object({ limit: Limit, cursor: Cursor });

/** @throws AppError malformed if the request names a revision and the route does not take it, or without an orb */
function revisionOf(c: Context<AppEnv>, pins: boolean, orb: string | undefined): number | undefined {
  const revision = definitionOf(c);
  if (revision !== undefined && (!pins || orb === undefined)) throw refuseDefinition();
  return revision;
}

/** Returns the orb of a request within a change set. @throws AppError if the request names no orb, or a revision */
function requireOnly(orb: string | undefined, revision: number | undefined): string {
  if (orb !== undefined && revision === undefined) return orb;
  const message = "must be sent together with orb, and without Orb-Definition";
  throw invalidParameters([{ path: "/change", code: "not_applicable", message }]);
}

/** Serves a response from memory, with an ETag, until a definition or one of the buckets changes. */
export function publishedRoutes<State>({
  buckets,
  published,
  paged,
  pins = false,
  changes = false,
  read,
  show,
  ...texts
}: Published<State>) {
  const { path, operationId, summary, description, response, schema, orb: about } = texts;
  const kept = new CachedValue(buckets, async (deps) => ({ state: await read(deps) }));
  const rendered = new RenderedResponses();
  const whole = z.strictObject({
    orb: z.string().optional().openapi({ description: about, example: "shop" }),
  });
  const orPage = paged ? whole.extend(PAGE.shape) : whole;
  const query = changes ? orPage.extend(WITHIN.shape) : orPage;
  const route = defineRoute({
    method: "get",
    path,
    operationId,
    summary,
    description,
    tags: ["Discovery"],
    ...(changes ? { security: [{}, ...ANY_SESSION], ...scopesFor("changes.read") } : { security: [] }),
    request: { headers: pins ? IfNoneMatch.extend(OrbDefinition.shape) : IfNoneMatch, query },
    responses: {
      200: json(response, schema, { ETag: header(`Changes with ${response.toLowerCase()}`) }),
      304: { description: "Not modified" },
    },
    problems: changes ? [400, 401, 403, 404] : [400, 404],
  });
  return newRouter().openapi(route, async (c) => {
    const { deps } = c.var;
    const { orb } = c.req.valid("query");
    const { limit, cursor } = paged ? PAGE.parse(c.req.query()) : { limit: 1, cursor: undefined };
    const after = readOrbPlace(operationId, cursor);
    const [orbs, known] = await Promise.all([published.list(deps), kept.get(deps)]);
    rendered.require(orbs, known);
    const revision = revisionOf(c, pins, orb);
    const { change } = changes ? WITHIN.parse(c.req.query()) : {};
    if (change !== undefined) {
      const only = requireOnly(orb, revision);
      const within = await orbWithin(c, only, change);
      c.header("cache-control", "private, no-cache");
      return c.json(
        await show({ deps, orbs, state: known.state, orb: only, revision, limit, after, within }),
      ) as never;
    }
    const key = JSON.stringify(orb === undefined ? [limit, after] : [orb, revision]);
    let made = rendered.get(key);
    if (made === undefined) {
      const value = await show({ deps, orbs, state: known.state, orb, revision, limit, after });
      if (value === undefined) throw noLiveOrb();
      made = await rendered.add(key, value);
    }
    const { bytes, tag } = made;
    c.header("etag", tag);
    c.header("cache-control", "public, no-cache");
    if (revision !== undefined) {
      c.header("orb-definition", String(revision));
      c.header("vary", "Orb-Definition", { append: true });
    }
    if (matchesTag(c.req.header("if-none-match"), tag)) return c.body(null, 304);
    return c.body(bytes, 200, { "content-type": "application/json" }) as never;
  });
}
