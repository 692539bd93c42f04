import { z } from "@hono/zod-openapi";
import { CANS, type Can, type Scope as TokenScope } from "../../shared/access/credentials/index.ts";
import {
  allowProgram,
  CODE_SECONDS,
  exchangeCode,
  type ProgramRequest,
} from "../../shared/access/machines/index.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { refuseForeignOrigin, requireOwnPage } from "../middleware/origin.ts";
import { pathParams, realmRoute, type Scope } from "./scope.ts";
import { CreatedSchema, createdResponse } from "./tokens.ts";

const CAN = CANS.join("|");
const ONE_SCOPE = `(?:\\*|[a-z][a-z0-9_-]{1,62}):(?:${CAN})(?:,(?:${CAN}))*`;
const SCOPES = new RegExp(`^${ONE_SCOPE}(?: ${ONE_SCOPE})*$`);

/**
 * Matches loopback URLs. Only a program on the user's own computer can receive the redirect (RFC 8252, section 7.3).
 */
const REDIRECT =
  /^http:\/\/(?:127\.0\.0\.1|\[::1\]):(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])\/callback$/;
const LONGEST_DAYS = 365;

const redirect = z.string().regex(REDIRECT, "must be http://127.0.0.1:<port>/callback").optional().openapi({
  description: "Loopback address that receives the code: `127.0.0.1` or `[::1]`, any port",
  example: "http://127.0.0.1:51234/callback",
});

/**
 * A program's sign-in request: the query parameters of the sign-in page, and the body of `POST`. Names allow few
 * characters, so that a program cannot inject misleading text into the page.
 */
export const ProgramSchema = z
  .strictObject({
    program: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,23}$/, "must be a name of at most 24 letters and digits")
      .openapi({ example: "orb" }),
    host: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,35}$/, "must be the name of a computer")
      .openapi({ description: "Name of the computer that runs the program", example: "laptop" }),
    scope: z
      .string()
      .max(4_000)
      .regex(SCOPES, "must be like shop:read,write")
      .openapi({ description: "Scopes of the token, separated by spaces", example: "*:read,write" }),
    days: z
      .int()
      .min(1)
      .max(LONGEST_DAYS)
      .openapi({ description: "Lifetime of the token in days", example: 30 }),
    challenge: z
      .string()
      .regex(/^[A-Za-z0-9_-]{43}$/, "must be a SHA-256 in base64url")
      .openapi({
        description: "PKCE code challenge, S256",
        example: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      }),
    redirect,
    state: z
      .string()
      .regex(/^[A-Za-z0-9_-]{16,128}$/, "must have 16 to 128 characters of base64url")
      .optional()
      .openapi({ description: "Comes back with the code. Required with `redirect`" }),
  })
  .refine(({ redirect: to, state }) => to === undefined || state !== undefined, {
    path: ["state"],
    error: "is required with redirect",
    params: { code: "required" },
  })
  .openapi("ProgramRequest");

export type Program = z.infer<typeof ProgramSchema>;

/** Parses scopes such as `shop:read,write *:read`. */
function scopesIn(text: string): TokenScope[] {
  return text.split(" ").map((one) => {
    const [orb = "", list = ""] = one.split(":");
    const named = new Set(list.split(","));
    return { orb, can: CANS.filter((can: Can) => named.has(can)) };
  });
}

export function programRequest({ scope, redirect: to, state: _, ...rest }: Program): ProgramRequest {
  return { ...rest, scopes: scopesIn(scope), redirect: to ?? null };
}

/**
 * Returns the program's loopback URL with the result and the program's state, which the browser then opens. Returns
 * null if the program has no such URL.
 */
export function resultUrl(
  { redirect: to, state = "" }: Program,
  result: Record<"code", string> | Record<"error", string>,
  issuer: string,
): string | null {
  if (to === undefined) return null;
  // `iss` lets the program detect a response from another platform (RFC 9207).
  return `${to}?${new URLSearchParams({ ...result, state, iss: issuer })}`;
}

const AllowedSchema = z
  .object({
    code: z.string(),
    url: z
      .string()
      .nullable()
      .openapi({ description: "`redirect` with `code`, `state` and `iss`; null without one" }),
  })
  .openapi("AllowedProgram");

const ExchangeSchema = z
  .strictObject({
    code: z.string().max(200),
    verifier: z
      .string()
      .regex(/^[A-Za-z0-9._~-]{43,128}$/, "must have 43 to 128 characters")
      .openapi({ description: "PKCE code verifier" }),
    redirect: redirect.openapi({ description: "The `redirect` of the request" }),
  })
  .openapi("CodeExchange");

/** Routes with which programs sign in. `functions/pages/program.ts` serves the page. */
export function programRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const params = z.object(pathParams(prefix));
  const allow = defineRoute({
    ...realmRoute(scope, "programs"),
    method: "post",
    path: `${prefix}/signin/program`,
    operationId: `allow${name}Program`,
    summary: "Allow a program to act as the signed-in account",
    description: `The sign-in page of programs sends this. Answers a code that works once, within ${CODE_SECONDS} seconds, together with the verifier of \`challenge\`.`,
    request: { params, body: jsonRequest(ProgramSchema) },
    responses: { 201: json("Allowed", AllowedSchema) },
    problems: [401, 403, 404],
  });
  const exchange = defineRoute({
    ...realmRoute(scope, "anyone"),
    method: "post",
    path: `${prefix}/signin/program/token`,
    operationId: `exchange${name}ProgramCode`,
    summary: "Exchange a program's code for an API token",
    request: { params, body: jsonRequest(ExchangeSchema) },
    responses: { 201: json("The token, with its text", CreatedSchema) },
    problems: [401, 403, 404, 409, 429],
  });
  return newRouter()
    .openapi(allow, async (c) => {
      requireOwnPage(c);
      const { deps, actor, realm } = c.var;
      const body = c.req.valid("json");
      const code = await allowProgram(deps, actor, { realm, ...programRequest(body) });
      c.header("cache-control", "no-store");
      return c.json({ code, url: resultUrl(body, { code }, deps.config.publicUrl) }, 201);
    })
    .openapi(exchange, async (c) => {
      refuseForeignOrigin(c);
      const { deps, realm } = c.var;
      const { redirect: to, ...given } = c.req.valid("json");
      const made = await exchangeCode(deps, { realm, ...given, redirect: to ?? null });
      c.header("cache-control", "no-store");
      return c.json(createdResponse(made), 201);
    });
}
