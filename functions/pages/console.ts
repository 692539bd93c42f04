/** Serves the console (the admin user interface): the same page for all its URLs, and the page's files. */
import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { notFound } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { AnyQuery, redirect } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { hostFile } from "./host-file.ts";
import { languageOf, VARIES } from "./language.ts";
import { byName } from "./signin.ts";

/** @param streamsUrl URL of the streams process, to which `/api/streams` redirects */
function policy(streamsUrl: string | undefined): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${streamsUrl === undefined ? "" : ` ${new URL(streamsUrl).origin}`}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    // Only the empty document of a preview, whose own policy names the sites.
    "frame-src 'self'",
    "require-trusted-types-for 'script'",
    // The editor of rich text parses what people paste, in a document that is never shown.
    "trusted-types rich-text",
  ].join("; ");
}

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

const page = (path: "/console" | "/console/*", operationId: string) => ({
  ...defineRoute({
    method: "get",
    path,
    operationId,
    summary: "Open the console",
    tags: ["Console"],
    security: [],
    request: { query: AnyQuery },
    responses: {
      200: { description: "The page", content: { "text/html": { schema: z.string() } } },
      302: redirect("To the same page with a host name, which passkeys need"),
      304: { description: "Not modified" },
    },
    problems: [404],
  }),
  hide: true,
});

const file = {
  ...defineRoute({
    method: "get",
    path: "/console/assets/{file}",
    operationId: "getConsoleFile",
    summary: "A static file of the console",
    tags: ["Console"],
    security: [],
    request: { params: z.object({ file: z.string() }), query: AnyQuery },
    responses: { 200: { description: "The file" }, 304: { description: "Not modified" } },
    problems: [404],
  }),
  hide: true,
};

const asset = (c: Context<AppEnv>, name: string, headers: Record<string, string>): Promise<Response> =>
  hostFile(c, { path: `console/${name}`, contents: "the console", headers });

export function consoleRoutes() {
  const router = newRouter();
  router.openapi(file, (c) => {
    const name = c.req.valid("param").file;
    const type = TYPES[/^[A-Za-z0-9_-]+\.(js|css)$/.exec(name)?.[1] ?? ""];
    if (type === undefined) throw notFound("file");
    // The file name contains a hash of the content, so caches may keep it forever.
    return asset(c, name, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
  });
  for (const route of [page("/console", "getConsole"), page("/console/*", "getConsoleBelow")]) {
    router.openapi(route, (c) => {
      const elsewhere = byName(c);
      if (elsewhere !== null) return elsewhere;
      const language = languageOf(c);
      // The tag of the file differs by language, too, so a cached page of another language is replaced.
      return asset(c, `shell-${language}.txt`, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy(c.var.deps.config.streamsUrl),
        "content-language": language,
        vary: VARIES,
        "cache-control": "no-cache",
      });
    });
  }
  return router;
}
