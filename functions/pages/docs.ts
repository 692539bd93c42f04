/** Shows the OpenAPI document in Swagger UI. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { AppError, notFound } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { AnyQuery } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { html } from "./html.ts";

export const RENDERER_FILES = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
} as const;

const START_FILE = "docs.js";
const STYLE_FILE = "docs.css";

/** Starts Swagger UI. The query parameter `orb` selects an orb. */
const START = `"use strict";
const orb = new URLSearchParams(location.search).get("orb");

// Swagger UI switches to dark colours when the page has this class.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

function say(text) {
  const words = Object.assign(document.createElement("p"), { className: "words", textContent: text });
  const whole = Object.assign(document.createElement("a"), { href: "/api/docs", textContent: "The whole platform" });
  document.getElementById("docs").replaceChildren(words);
  if (orb !== null) words.append(" ", whole);
}

async function load() {
  const answer = await fetch("/api/openapi" + (orb === null ? "" : "?orb=" + encodeURIComponent(orb))).catch(() => null);
  if (answer?.ok) return answer.json();
  const unknown = orb !== null && answer?.status === 404;
  throw new Error(unknown ? "No orb “" + orb + "” is published." : "The API description cannot be loaded. Try again in a few seconds.");
}

// Scripts cannot set the Cookie header. The browser sends cookies with every request anyway.
function withoutCookies(description) {
  const schemes = description.components.securitySchemes;
  const cookies = new Set(Object.keys(schemes).filter((name) => schemes[name].in === "cookie"));
  for (const name of cookies) delete schemes[name];
  for (const operation of Object.values(description.paths).flatMap((item) => Object.values(item))) {
    operation.security &&= operation.security.filter((each) => !Object.keys(each).some((name) => cookies.has(name)));
  }
  return description;
}

function show(description) {
  document.title = description.info.title + " · API";
  if (orb !== null) document.getElementById("source").search = "?orb=" + encodeURIComponent(orb);
  SwaggerUIBundle({
    spec: description,
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null,
    withCredentials: true,
  });
}

// Return to the operation that is open.
document.getElementById("signin").addEventListener("click", (event) => {
  const here = location.pathname + location.search + location.hash;
  event.currentTarget.href = "/api/_auth/signin?return=" + encodeURIComponent(here);
});
load().then(withoutCookies).then(show).catch((error) => say(error.message));
`;

/** On small screens, Swagger UI shrinks a tag's description to the width of one letter. */
const STYLE = `body { margin: 0; background: #fff; color: #1b1b1b; font-family: system-ui, sans-serif; }
.words, noscript { display: block; max-width: 1460px; margin: 0 auto; padding: 1.25rem 20px 0; box-sizing: border-box; line-height: 1.5; }
.words a, noscript a { color: #1d5fb4; }
@media (scripting: none) { #docs { display: none; } }
@media (prefers-color-scheme: dark) {
  body { background: #1c2022; color: #e4e6e6; }
  .words a, noscript a { color: #8ab8ff; }
}
@media (max-width: 40rem) {
  .swagger-ui .opblock-tag { flex-wrap: wrap; }
  .swagger-ui .opblock-tag > a { flex: 1; overflow-wrap: anywhere; }
  .swagger-ui .opblock-tag small { flex-basis: 100%; order: 1; padding: 0; }
  .swagger-ui .filter .operation-filter-input { max-width: none; box-sizing: border-box; }
}
`;

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

const PAGE_HTML = `<!doctype html>${
  html`
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>API of the platform</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/api/_docs/swagger-ui.css">
    <link rel="stylesheet" href="/api/_docs/${STYLE_FILE}">
    <script src="/api/_docs/swagger-ui-bundle.js" defer></script>
    <script src="/api/_docs/${START_FILE}" defer></script>
  </head>
  <body>
    <header class="words">
      <a id="signin" href="/api/_auth/signin?return=/api/docs">Sign in</a>, and what you try out here is done as you.
      The description itself is at <a id="source" href="/api/openapi">/api/openapi</a>.
    </header>
    <main id="docs"><p class="words">The description is being loaded …</p></main>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
`.markup
}`;

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

async function rendererFile(c: Context<AppEnv>, name: keyof typeof RENDERER_FILES): Promise<Response> {
  const found = await c.var.host.assets?.(name, c.req.header("if-none-match"));
  if (found === undefined) {
    throw new AppError(
      "not_found",
      "file_not_found",
      "This server has no files for this page. Check that its host provides swagger-ui-dist.",
    );
  }
  const headers: Record<string, string> = { "content-type": RENDERER_FILES[name], "cache-control": CACHE };
  const tag = found.headers.get("etag");
  if (tag !== null) headers.etag = tag;
  if (found.status === 304) return c.body(null, 304, headers);
  if (found.status !== 200) {
    await found.body?.cancel();
    throw notFound("file");
  }
  return c.newResponse(found.body, 200, headers);
}

function isRendererFile(name: string): name is keyof typeof RENDERER_FILES {
  return Object.hasOwn(RENDERER_FILES, name);
}

export function docsRoutes() {
  const router = newRouter();
  router.openapi(page, (c) =>
    c.body(PAGE_HTML, 200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "content-language": "en",
      "cache-control": "no-cache",
    }),
  );
  router.openapi(file, (c) => {
    const name = c.req.valid("param").file;
    const own = { "cache-control": CACHE };
    if (name === START_FILE) {
      return c.body(START, 200, { ...own, "content-type": "text/javascript; charset=utf-8" });
    }
    if (name === STYLE_FILE) return c.body(STYLE, 200, { ...own, "content-type": "text/css; charset=utf-8" });
    if (!isRendererFile(name)) throw notFound("file");
    return rendererFile(c, name);
  });
  return router;
}
