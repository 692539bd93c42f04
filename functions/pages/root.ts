/** Redirects browsers from `/` to the console. Programs get a list of URLs instead. */
import { z } from "@hono/zod-openapi";
import { VERSION } from "../../shared/kernel/version.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { AnyQuery, json, redirect } from "../http/schemas.ts";

const PAGE = "/console";

const LINKS = {
  console: PAGE,
  docs: "/api/docs",
  openapi: "/api/openapi",
  discovery: "/api/discovery",
  health: "/api/health",
  platformSignin: "/api/_auth/signin",
  signin: "/api/auth/signin",
} as const;

const Start = z
  .object({
    name: z.string(),
    version: z.string().openapi({ description: "Version of the platform", example: VERSION }),
    links: z.object({
      console: z.string().openapi({ description: "The console, for browsers" }),
      docs: z.string().openapi({ description: "The API as a page" }),
      openapi: z.string().openapi({ description: "The API as OpenAPI 3.0" }),
      discovery: z.string().openapi({ description: "Published orbs" }),
      health: z.string().openapi({ description: "Health of the platform" }),
      platformSignin: z.string().openapi({ description: "Sign-in page of platform admins" }),
      signin: z.string().openapi({ description: "Sign-in page of users of the shared realm" }),
    }),
  })
  .openapi("Start");

const start = (path: "/" | "/api" | "/api/", operationId: string) => ({
  ...defineRoute({
    method: "get",
    path,
    operationId,
    summary: "Get the addresses to start with",
    description: `Redirects requests that accept \`text/html\` to ${PAGE}. \`/\` and \`/api/\` are the same.`,
    tags: ["Discovery"],
    security: [],
    // A browser may open `/` by a link to which a mail program or a search engine added parameters.
    ...(path === "/" ? { request: { query: AnyQuery } } : {}),
    responses: {
      200: json("The addresses", Start),
      302: redirect(`To ${PAGE}`),
    },
  }),
  hide: path !== "/api",
});

export function rootRoutes() {
  const router = newRouter();
  for (const route of [start("/", "getRoot"), start("/api", "getStart"), start("/api/", "getStartBelow")]) {
    router.openapi(route, (c) => {
      c.header("vary", "Accept", { append: true });
      if (/\btext\/html\b/i.test(c.req.header("accept") ?? "")) return c.redirect(PAGE, 302);
      return c.json({ name: "Composable application platform", version: VERSION, links: LINKS }, 200);
    });
  }
  return router;
}
