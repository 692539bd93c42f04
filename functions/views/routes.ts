/** The routes for saved views of lists: `/api/{orbId}/views/{module}/{schema}` and their twins of the management API. */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { ViewOperation } from "../../shared/access/credentials/index.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import type { OrbContext } from "../../shared/entry/model/index.ts";
import { hidesViews, VIEWS_SEGMENT } from "../../shared/orb/routes.ts";
import {
  admitToViews,
  createView,
  deleteView,
  getView,
  listViews,
  updateView,
  type ViewWrite,
} from "../../shared/views/views.ts";
import { definition } from "../admin/entry-schemas.ts";
import { ifMatch, revisionTag } from "../http/etag.ts";
import { orbFamily } from "../http/orb-family.ts";
import { type AdminPrefix, entryRoute, PREFIXES, scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter, type Router } from "../http/router.ts";
import { ANY_SESSION, IfMatch, json, jsonRequest, Location, RevisionTag } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { ViewAnswer, ViewBody, ViewsAnswer, viewAnswer, viewInput } from "./schemas.ts";

/** One of the places where the routes are: the API of an application, or the management API. */
interface Place {
  prefix: "/api" | AdminPrefix;
  /** Suffix that makes operation ids unique. */
  suffix: "" | "Of";
  common: (operation: ViewOperation) => Pick<RouteConfig, "tags" | "security" | "middleware" | "hide">;
  inOrb: (
    c: Context<AppEnv>,
  ) => Pick<ViewWrite, "orbId" | "renew"> & { orb: OrbContext | Promise<OrbContext> };
  router: Router;
}

const Params = z.object({
  orbId: z.string().openapi({ param: { name: "orbId", in: "path" }, example: "shop" }),
  module: z.string().openapi({ param: { name: "module", in: "path" }, example: "catalog" }),
  schema: z.string().openapi({ param: { name: "schema", in: "path" }, example: "product" }),
});
const ViewParams = Params.extend({
  viewId: z.string().openapi({ param: { name: "viewId", in: "path" }, description: "The view's id" }),
});
const PROBLEMS = [401, 403, 404] as const;
const WRITES = [...PROBLEMS, 409, 429, 507] as const;
const one = (description: string, headers = {}) =>
  json(description, ViewAnswer, { ...RevisionTag, ...headers });

function addCollection({ prefix, suffix, common, inOrb, router }: Place): void {
  const path = `${prefix}/{orbId}/${VIEWS_SEGMENT}/{module}/{schema}` as const;
  const list = defineRoute({
    ...common("views.read"),
    method: "get",
    path,
    operationId: `listViews${suffix}`,
    summary: "List the saved views of a schema's lists",
    description:
      "Your own ones first, then those that others share with you. An orb's admins see all shared ones.",
    request: { params: Params },
    responses: { 200: json("All views", ViewsAnswer) },
    problems: PROBLEMS,
  });
  const create = defineRoute({
    ...common("views.write"),
    method: "post",
    path,
    operationId: `createView${suffix}`,
    summary: "Save a view of a schema's lists",
    description: "Views for others are saved by those who manage the orb's users.",
    request: { params: Params, body: jsonRequest(ViewBody) },
    responses: { 201: one("The view", Location) },
    problems: WRITES,
  });
  router.openapi(list, async (c) => {
    const { items, ...rest } = await listViews(
      c.var.deps,
      c.var.actor,
      await inOrb(c).orb,
      c.req.valid("param"),
    );
    return c.json({ ...rest, items: items.map(viewAnswer) }, 200);
  });
  router.openapi(create, async (c) => {
    const of = { ...inOrb(c), ...c.req.valid("param") };
    const view = await createView(c.var.deps, c.var.actor, of, viewInput(c.req.valid("json")));
    c.header("etag", revisionTag(view.revision));
    c.header("location", `${c.req.path.replace(/\/$/, "")}/${view.id}`);
    return c.json(viewAnswer(view), 201);
  });
}

function addView({ prefix, suffix, common, inOrb, router }: Place): void {
  const path = `${prefix}/{orbId}/${VIEWS_SEGMENT}/{module}/{schema}/{viewId}` as const;
  const get = defineRoute({
    ...common("views.read"),
    method: "get",
    path,
    operationId: `getView${suffix}`,
    summary: "Get a saved view",
    request: { params: ViewParams },
    responses: { 200: one("The view") },
    problems: PROBLEMS,
  });
  const update = defineRoute({
    ...common("views.write"),
    method: "put",
    path,
    operationId: `updateView${suffix}`,
    summary: "Replace a saved view",
    description: "Its audience may change. Views for others are changed by those who manage the orb's users.",
    request: { params: ViewParams, headers: IfMatch, body: jsonRequest(ViewBody) },
    responses: { 200: one("The view") },
    problems: [...WRITES, 412],
  });
  const remove = defineRoute({
    ...common("views.write"),
    method: "delete",
    path,
    operationId: `deleteView${suffix}`,
    summary: "Delete a saved view",
    request: { params: ViewParams, headers: IfMatch },
    responses: { 204: { description: "Deleted" } },
    problems: [400, ...WRITES, 412],
  });
  const target = (c: Context<AppEnv>, params: z.infer<typeof ViewParams>, tag: string | undefined) => {
    const { module, schema, viewId: id } = params;
    return { ...inOrb(c), module, schema, id, ifMatch: ifMatch(tag) };
  };
  router.openapi(get, async (c) => {
    const { viewId: id, ...at } = c.req.valid("param");
    const view = await getView(c.var.deps, c.var.actor, await inOrb(c).orb, { ...at, id });
    c.header("etag", revisionTag(view.revision));
    return c.json(viewAnswer(view), 200);
  });
  router.openapi(update, async (c) => {
    const of = target(c, c.req.valid("param"), c.req.valid("header")["if-match"]);
    const view = await updateView(c.var.deps, c.var.actor, of, viewInput(c.req.valid("json")));
    c.header("etag", revisionTag(view.revision));
    return c.json(viewAnswer(view), 200);
  });
  router.openapi(remove, async (c) => {
    const of = target(c, c.req.valid("param"), c.req.valid("header")["if-match"]);
    await deleteView(c.var.deps, c.var.actor, of);
    return c.body(null, 204);
  });
}

/** The routes of the management API. */
export function adminViewRoutes() {
  const router = newRouter();
  for (const prefix of PREFIXES) {
    const common = (operation: ViewOperation) => ({
      ...entryRoute(prefix, operation),
      tags: ["Saved views"],
    });
    const inOrb = (c: Context<AppEnv>) => {
      const orbId = c.req.param("orbId") ?? "";
      return { orbId, orb: definition(c, orbId), renew: () => definition(c, orbId) };
    };
    const place: Place = { prefix, suffix: "", common, inOrb, router };
    addCollection(place);
    addView(place);
  }
  return router;
}

/** The routes of published applications. An application's module or handler named `views` takes their place. */
export function orbViews() {
  const { router, handedTo, answer } = orbFamily(hidesViews);
  const place: Place = {
    prefix: "/api",
    suffix: "Of",
    common: (operation) => ({
      ...{ tags: ["saved views"], security: ANY_SESSION, "x-role": "user" },
      ...scopesFor(operation),
      // Refuses callers without rights before their parameters and bodies are checked.
      middleware: [
        async (c: Context<AppEnv>, next) => {
          const at = { module: c.req.param("module") ?? "", schema: c.req.param("schema") ?? "" };
          admitToViews(c.var.actor, handedTo(c), at, operation);
          await next();
        },
      ],
    }),
    inOrb: (c) => {
      const live = handedTo(c);
      return { orbId: live.orb, orb: live, renew: () => requireLive(c.var.deps, live.orb) };
    },
    router,
  };
  addCollection(place);
  addView(place);
  return { router, answer };
}
