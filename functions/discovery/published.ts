/**
 * Creates routes whose response depends only on the published applications. The query parameter `orb` selects one
 * application.
 */
import { z } from "@hono/zod-openapi";
import { noLiveOrb } from "../../shared/definition/stored/live.ts";
import { CachedValue } from "../../shared/discovery/cached-value.ts";
import type { HandlerDeps } from "../../shared/handlers/contract/types.ts";
import { sha256 } from "../../shared/kernel/ids.ts";
import { matchesTag } from "../http/etag.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { header, IfNoneMatch, json } from "../http/schemas.ts";

interface Published<State> {
  path: string;
  operationId: string;
  summary: string;
  description: string;
  response: string;
  schema: z.ZodType;
  orb: string;
  /** Key-value buckets from which the response is computed. A change in any of them makes the response outdated. */
  buckets: readonly string[];
  read: (deps: HandlerDeps) => Promise<State>;
  show: (state: State, deps: HandlerDeps, orb: string | undefined) => object | undefined;
}

/** Serves a response from memory, with an ETag, until one of the buckets changes. */
export function publishedRoutes<State>({ buckets, read, show, ...texts }: Published<State>) {
  const { path, operationId, summary, description, response, schema, orb: about } = texts;
  const kept = new CachedValue(buckets, async (deps) => ({
    state: await read(deps),
    /** Encoded responses by application id. The key `undefined` holds the response for all applications. */
    rendered: new Map<string | undefined, { bytes: Uint8Array<ArrayBuffer>; tag: string }>(),
  }));
  const route = defineRoute({
    method: "get",
    path,
    operationId,
    summary,
    description,
    tags: ["Discovery"],
    security: [],
    request: {
      headers: IfNoneMatch,
      query: z.strictObject({
        orb: z.string().optional().openapi({ description: about, example: "shop" }),
      }),
    },
    responses: {
      200: json(response, schema, { ETag: header(`Changes with ${response.toLowerCase()}`) }),
      304: { description: "Not modified" },
    },
    problems: [400, 404],
  });
  return newRouter().openapi(route, async (c) => {
    const { orb } = c.req.valid("query");
    const { state, rendered } = await kept.get(c.var.deps);
    let known = rendered.get(orb);
    if (known === undefined) {
      const value = show(state, c.var.deps, orb);
      if (value === undefined) throw noLiveOrb();
      // Cache bytes, because strings may take twice the memory and must be encoded for each response.
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      known = { bytes, tag: `"${(await sha256(bytes)).slice(0, 22)}"` };
      rendered.set(orb, known);
    }
    const { bytes, tag } = known;
    c.header("etag", tag);
    c.header("cache-control", "public, no-cache");
    if (matchesTag(c.req.header("if-none-match"), tag)) return c.body(null, 304);
    return c.body(bytes, 200, { "content-type": "application/json" }) as never;
  });
}
