/** The routes of preview links: `POST /api/{orbId}/_previews`, `DELETE` of one, and the document for the console's frame. */
import { type RouteConfig, z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { may, principalIn, requireScope } from "../../shared/access/authorize.ts";
import { refusal } from "../../shared/access/refusals.ts";
import { isOrbId } from "../../shared/definition/document/index.ts";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { isLocale, isMarket } from "../../shared/entry/model/index.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { PREVIEWS_SEGMENT } from "../../shared/orb/routes.ts";
import { endPreview, makePreview, PREVIEW_SECONDS, previewSites } from "../../shared/preview/links.ts";
import { requireNoDefinition } from "../http/definition-header.ts";
import { innerRouter } from "../http/inner-router.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, type Router } from "../http/router.ts";
import { ANY_SESSION, json, jsonRequest, LOCALE, MARKET_NAME, OrbIdParam } from "../http/schemas.ts";
import { definitionIn, readingFrom } from "../http/within.ts";
import { createsCredential } from "../middleware/origin.ts";
import { beginCaller, receiveEarly } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

const NewLink = z
  .strictObject({
    module: z.string().openapi({ example: "pages" }),
    schema: z.string().openapi({ example: "article" }),
    entry: z.string().openapi({ description: "Id of the entry" }),
    change: z.string().optional().openapi({ description: "Id of the change set to show" }),
    locale: z
      .string()
      .refine((text) => text !== "*" && isLocale(text), "must be a language tag")
      .optional()
      .openapi({ ...LOCALE, description: "Language of the page. Default: that of the orb", example: "en" }),
    market: z
      .string()
      .refine(isMarket, "must be the name of a market")
      .optional()
      .openapi({ ...MARKET_NAME, description: "Market of the page. Default: that of the orb" }),
    expiresIn: z
      .int()
      .min(PREVIEW_SECONDS.min)
      .max(PREVIEW_SECONDS.max)
      .default(PREVIEW_SECONDS.default)
      .openapi({ description: "Seconds until the link ends. It ends earlier if your session does" }),
  })
  .openapi("PreviewLinkInput");

const Link = z
  .object({
    id: z.string().openapi({ description: "With it, you can end the link" }),
    url: z.string().openapi({ description: "Address of the page, with the token" }),
    site: z.string().openapi({ description: "Origin of the site", example: "https://site.example" }),
    expiresAt: z.string(),
  })
  .openapi("PreviewLink");

/** Admits only accounts that may read drafts of some schema, before the body is checked. */
function drafts(handedTo: (c: Context<AppEnv>) => LiveOrb): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { orb, compiled } = handedTo(c);
    const { actor } = c.var;
    if (actor.kind !== "platform" && actor.kind !== "orb") throw refusal(actor, "user");
    const caller = principalIn(actor, orb, compiled);
    const schemas = [...compiled.modules.values()].flatMap((module) => [...module.schemas.values()]);
    requireScope(actor, "readDraft", orb);
    if (!schemas.some(({ access }) => may(caller, "readDraft", { access, own: true })))
      throw refusal(actor, "admin");
    await next();
  };
}

/** The document that contains the page of a site. The console fills it, so it needs neither scripts nor styles. */
const EMPTY = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preview</title></head><body></body></html>`;

/** Adds the route for the document of the console's frame. */
function addFrame(
  router: Router,
  handedTo: (c: Context<AppEnv>) => LiveOrb,
  common: Pick<RouteConfig, "tags" | "security" | "middleware" | "path">,
): void {
  const frame = defineRoute({
    ...common,
    method: "get",
    operationId: "getPreviewFrame",
    summary: "Get the document in which the console shows the page of a site",
    description:
      "An empty document. Its Content-Security-Policy allows the sites that the definition of the orb names.",
    request: { params: OrbIdParam },
    responses: { 200: { description: "The document", content: { "text/html": { schema: z.string() } } } },
    problems: [401, 403, 404],
  });
  router.openapi(frame, (c) => {
    const own = new URL(c.var.deps.config.publicUrl).origin;
    const sites = previewSites(handedTo(c)).filter((site) => site !== own);
    return c.body(EMPTY, 200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; frame-src ${sites.join(" ") || "'none'"}; frame-ancestors 'self'; base-uri 'none'; form-action 'none'`,
      "x-frame-options": "SAMEORIGIN",
    });
  });
}

export function orbPreviews() {
  const { router, handedTo, hand } = innerRouter<LiveOrb>();
  const ofDrafts = {
    tags: ["previews"],
    security: ANY_SESSION,
    "x-role": "user",
    ...scopesFor("readDraft"),
    middleware: [drafts(handedTo)],
  };
  const common = createsCredential(ofDrafts);
  const path = `/api/{orbId}/${PREVIEWS_SEGMENT}` as const;
  const make = defineRoute({
    ...common,
    method: "post",
    path,
    operationId: "createPreviewLink",
    summary: "Make a preview link for an entry",
    description:
      "The link leads to the page that `preview` of the schema names. Its token lets the site read this entry as you see it, drafts included, or within a change set: without the fields that visitors may not read. Everything else looks as it does to visitors. The link ends with the session or API token that made it.",
    request: { params: OrbIdParam, body: jsonRequest(NewLink) },
    responses: { 201: json("The link", Link) },
    problems: [401, 403, 404, 409],
  });
  const end = defineRoute({
    ...common,
    method: "delete",
    path: `${path}/{linkId}` as const,
    operationId: "endPreviewLink",
    summary: "End a preview link that you have made",
    request: {
      params: OrbIdParam.extend({ linkId: z.string().openapi({ param: { name: "linkId", in: "path" } }) }),
    },
    responses: { 204: { description: "The link has ended" } },
    problems: [401, 403, 404],
  });
  addFrame(router, handedTo, { ...ofDrafts, path: `${path}/frame` });
  router.openapi(make, async (c) => {
    const { module, schema: name, expiresIn, ...rest } = c.req.valid("json");
    const { deps, actor } = c.var;
    const live = handedTo(c);
    const within = await definitionIn(deps, live, rest.change, async () => actor);
    const schema = within.compiled.modules.get(module)?.schemas.get(name);
    if (schema === undefined) throw notFound("schema");
    const reading = await readingFrom(deps, actor, within, { change: rest.change }, true);
    const caller = principalIn(actor, live.orb, live.compiled);
    const input = { ...rest, live, within, schema, seconds: expiresIn };
    return c.json(await makePreview(deps, reading.deps, caller, input), 201);
  });
  router.openapi(end, async (c) => {
    await endPreview(c.var.deps, c.var.actor, c.req.valid("param").linkId);
    return c.body(null, 204);
  });

  async function answer(c: Context<AppEnv>): Promise<Response> {
    const orbId = c.req.param("orbId") ?? "";
    if (!isOrbId(orbId)) throw noLiveOrb();
    await receiveEarly(c);
    const caller = beginCaller(c, orbId);
    const live = await liveOrb(c.var.deps, orbId, "cached");
    if (live === null) throw noLiveOrb();
    requireNoDefinition(c);
    c.set("lossHeaders", lossHeaders(live.fence?.loss));
    c.set("actor", await caller(live.compiled.usesAccess));
    return hand(c, live);
  }
  return { router, answer };
}
