import { z } from "@hono/zod-openapi";
import { platformRealm, sharedRealm } from "../../shared/access/realms.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { AnyQuery, redirect } from "../http/schemas.ts";
import { bootstrapAccess } from "../platform-auth/bootstrap.ts";
import { ProgramSchema } from "../realm/programs.ts";
import { types } from "./assets.generated.ts";
import { accentStyle } from "./branding.ts";
import { hostFile } from "./host-file.ts";
import { showProgram } from "./program.ts";
import { showSignin } from "./signin.ts";

export const PageQuery = z.object({
  invite: z.string().optional().openapi({ description: "Invitation code. The page offers a registration." }),
  signup: z.string().optional().openapi({
    description: "`true`: the page offers a registration without an invitation, if sign-up is open.",
  }),
  recover: z.string().optional().openapi({
    description: "`true`: the page asks for a recovery code.",
  }),
  account: z.string().optional().openapi({
    description: "`true`: the page shows the account, with a link to the address in `return`.",
  }),
  return: z.string().optional().openapi({
    description:
      "Where to go after sign-in: a path of this origin, or a URL whose origin is in ALLOWED_ORIGINS. Other values are ignored.",
  }),
});

const html = { "text/html": { schema: z.string() } };

export const pageResponses = {
  200: { description: "The page", content: html },
  429: { description: "An error page", content: html },
  503: { description: "An error page", content: html },
  504: { description: "An error page", content: html },
  302: redirect(
    "To the same page with a host name, which passkeys need, or for somebody who is signed in to the account page",
  ),
};

const platformSignin = defineRoute({
  method: "get",
  path: "/api/_auth/signin",
  operationId: "platformSigninPage",
  summary: "Sign-in page for platform admins",
  tags: ["Platform: sign-in"],
  security: [],
  middleware: [bootstrapAccess("page")],
  request: { query: PageQuery },
  responses: pageResponses,
});

const sharedSignin = defineRoute({
  method: "get",
  path: "/api/auth/signin",
  operationId: "sharedSigninPage",
  summary: "Sign-in page of the shared realm",
  tags: ["Users: sign-in"],
  security: [],
  request: { query: PageQuery },
  responses: pageResponses,
});

export const programPage = {
  security: [],
  description:
    "A program opens this page in a browser. The person signs in, and allows or refuses what the parameters ask for, which are those of `POST`. The browser then goes to `redirect` with `code`, `state` and `iss`, or with `error=access_denied`. Without `redirect` the page shows the code.",
  request: {
    query: z.object({
      ...Object.fromEntries(
        Object.keys(ProgramSchema.shape).map((name) => [name, z.string().optional()] as const),
      ),
      result: z.string().optional().openapi({
        description: "`done`, `refused` or `failed`: the page only says so",
      }),
    }),
  },
  responses: { ...pageResponses, 302: redirect("To the sign-in page, which leads back") },
};

const platformProgram = defineRoute({
  ...programPage,
  method: "get",
  path: "/api/_auth/signin/program",
  operationId: "platformProgramPage",
  summary: "Page on which a platform admin allows a program",
  tags: ["Platform: sign-in"],
});

const sharedProgram = defineRoute({
  ...programPage,
  method: "get",
  path: "/api/auth/signin/program",
  operationId: "sharedProgramPage",
  summary: "Page on which a user of the shared realm allows a program",
  tags: ["Users: sign-in"],
});

const asset = {
  ...defineRoute({
    method: "get",
    path: "/api/_auth/assets/{name}",
    operationId: "getPageAsset",
    summary: "A static file of the pages",
    tags: ["Platform: sign-in"],
    security: [],
    request: { params: z.object({ name: z.string() }), query: AnyQuery },
    responses: { 200: { description: "The file" }, 304: { description: "Not modified" } },
    problems: [404],
  }),
  hide: true,
};

export function pageRoutes() {
  const router = newRouter();
  router.openapi(platformSignin, (c) => showSignin(c, platformRealm));
  router.openapi(sharedSignin, (c) => showSignin(c, sharedRealm));
  router.openapi(platformProgram, (c) => showProgram(c, platformRealm));
  router.openapi(sharedProgram, (c) => showProgram(c, sharedRealm));
  router.openapi(asset, (c) => {
    const { name } = c.req.valid("param");
    const accent = accentStyle(name);
    if (accent !== undefined) {
      return c.body(accent, 200, {
        "content-type": "text/css; charset=utf-8",
        "cache-control": "public, max-age=3600",
      });
    }
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === undefined) throw notFound("file");
    // The file name contains a hash of the content, so caches may keep it forever.
    const headers = { "content-type": type, "cache-control": "public, max-age=31536000, immutable" };
    return hostFile(c, { path: `pages/${name}`, contents: "the files of the pages", headers });
  });
  return router;
}
