/** Shows the OpenAPI document in Swagger UI. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import { orbRealm, platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { liveOrb } from "../../shared/definition/stored/index.ts";
import { AppError, notFound } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { AnyQuery } from "../http/schemas.ts";
import { identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { files } from "./assets.generated.ts";
import { hostFile } from "./host-file.ts";
import { type Html, html } from "./html.ts";

export const RENDERER_FILES = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
} as const;

/** Swagger UI sets styles through the DOM and embeds icons as data URLs. It needs no inline script or style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The user who opens the page. */
interface Visitor {
  actor: Actor;
  /** The accounts that may sign in: the application's own, or accounts that several applications share. */
  users: Realm;
}

/**
 * Creates a link to the sign-in page, which sends the user back to the API page. A script adds the open operation.
 */
function signinLink(realm: Realm, orb: string | undefined, text: string): Html {
  const here = orb === undefined ? "/api/docs" : `/api/docs?orb=${encodeURIComponent(orb)}`;
  return html`<a class="signin" href="${realm.base}/signin?return=${encodeURIComponent(here)}">${text}</a>`;
}

function greeting({ actor, users }: Visitor, orb: string | undefined): Html {
  const noun = users === sharedRealm ? "user" : `user of ${users.title}`;
  if (actor.kind === "platform" || actor.kind === "orb") {
    const [realm, role] =
      actor.kind === "platform" ? ([platformRealm, "platform admin"] as const) : ([users, noun] as const);
    return html`You are signed in as <strong>${actor.name}</strong> (${role}), and so are the requests that you try out.
      <button id="signout" type="button" data-realm="${realm.base}">Sign out</button><br>`;
  }
  return html`${signinLink(platformRealm, orb, "Sign in as a platform admin")} or
      ${signinLink(users, orb, `as a ${noun}`)} to try out requests as yourself.`;
}

function pageHtml(visitor: Visitor, orb: string | undefined): string {
  const source = orb === undefined ? "/api/openapi" : `/api/openapi?orb=${encodeURIComponent(orb)}`;
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>API of the platform</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/api/_docs/swagger-ui.css">
    <link rel="stylesheet" href="${files.docs.style}">
    <script src="/api/_docs/swagger-ui-bundle.js" defer></script>
    <script src="${files.docs.script}" defer></script>
  </head>
  <body>
    <header class="words" id="header">
      ${greeting(visitor, orb)}
      The description itself is at <a href="${source}">${source}</a>.
    </header>
    <main id="docs"><p class="words">The description is being loaded …</p></main>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
`.markup;
}

/**
 * Returns the signed-in user. If the session is invalid or the broker is unavailable, the user counts as anonymous.
 */
async function visitorOf(c: Context<AppEnv>, orb: string | undefined): Promise<Visitor> {
  let users = sharedRealm;
  try {
    const live = orb === undefined ? null : await liveOrb(c.var.deps, orb);
    users = (live === null ? null : orbRealm(live.document)) ?? sharedRealm;
    return { actor: await identify(c, { platform: true, realms: [users.name] }), users };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { actor: anonymous, users };
  }
}

const page = defineRoute({
  method: "get",
  path: "/api/docs",
  operationId: "getDocs",
  summary: "Get this API description as a page",
  tags: ["Discovery"],
  security: [],
  request: {
    query: z.strictObject({
      orb: z.string().optional().openapi({ description: "Only this orb's own routes", example: "shop" }),
    }),
  },
  responses: { 200: { description: "The page", content: { "text/html": { schema: z.string() } } } },
  problems: [400],
});

const file = {
  ...defineRoute({
    method: "get",
    path: "/api/_docs/{file}",
    operationId: "getDocsFile",
    summary: "A static file of the page",
    tags: ["Discovery"],
    security: [],
    request: { params: z.object({ file: z.string() }), query: AnyQuery },
    responses: { 200: { description: "The file" }, 304: { description: "Not modified" } },
    problems: [404],
  }),
  hide: true,
};

const CACHE = "public, max-age=3600";

function isRendererFile(name: string): name is keyof typeof RENDERER_FILES {
  return Object.hasOwn(RENDERER_FILES, name);
}

export function docsRoutes() {
  const router = newRouter();
  router.openapi(page, async (c) => {
    const { orb } = c.req.valid("query");
    return c.body(pageHtml(await visitorOf(c, orb), orb), 200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "content-language": "en",
      "cache-control": "no-store",
    });
  });
  router.openapi(file, (c) => {
    const name = c.req.valid("param").file;
    if (!isRendererFile(name)) throw notFound("file");
    const headers = { "content-type": RENDERER_FILES[name], "cache-control": CACHE };
    return hostFile(c, { path: name, contents: "swagger-ui-dist", headers });
  });
  return router;
}
