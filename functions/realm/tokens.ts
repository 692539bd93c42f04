/** Routes for the API tokens of the caller's account, and of service accounts that the caller manages. */
import { z } from "@hono/zod-openapi";
import { CANS, EVERY_ORB } from "../../shared/access/credentials/index.ts";
import {
  type ApiToken,
  createApiToken,
  getApiToken,
  getCurrentToken,
  listApiTokens,
  revokeApiToken,
  revokeCurrentToken,
  TOKEN_LIMIT,
} from "../../shared/access/machines/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { wasLive } from "../../shared/entry/pinned/index.ts";
import { invalid } from "../../shared/kernel/errors.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest, Moment } from "../http/schemas.ts";
import { displayName } from "./schemas.ts";
import { credentialRoute, pathParams, realmRoute, type Scope } from "./scope.ts";

const ScopeSchema = z
  .strictObject({
    orb: z
      .string()
      .regex(/^(\*|[a-z][a-z0-9_-]{1,62})$/, "must be the id of an orb, or *")
      .openapi({ description: "Id of an orb; `*` for all orbs and the platform itself", example: "shop" }),
    can: z
      .array(z.enum(CANS))
      .min(1)
      .max(CANS.length)
      .refine((list) => new Set(list).size === list.length, {
        error: "must not name anything twice",
        params: { code: "duplicate" },
      })
      .openapi({ uniqueItems: true, example: ["read", "write"] }),
  })
  .openapi("ApiTokenScope");

const NEVER = "never";
const expiresAt = z.union([z.iso.datetime({ offset: true }), z.literal(NEVER)]);

const Definition = z.int().min(1).max(999_999_999).openapi({
  description:
    "Published revision of the orb's definition. The token sees and writes entries in the shape of this revision",
  example: 12,
});

const NewTokenSchema = z
  .strictObject({
    name: displayName,
    expiresAt: z.union([z.literal(NEVER), Moment]).openapi({
      description: "At most a year ahead. `never` is for platform admins.",
    }),
    scopes: z.array(ScopeSchema).min(1).max(50),
    definition: Definition.optional(),
    account: z.string().max(128).optional().openapi({
      description: "Id of a service account that you manage. By default, your own account",
    }),
  })
  .openapi("ApiTokenInput");

const TokenSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(ScopeSchema),
    definition: Definition.optional(),
    expiresAt,
    createdAt: z.iso.datetime(),
    createdBy: z.string().openapi({ description: "Id of the account that created it" }),
    lastUsedAt: z.iso.datetime().nullable().openapi({ description: "Recorded at most once an hour" }),
  })
  .openapi("ApiToken");

export const CreatedSchema = TokenSchema.omit({ lastUsedAt: true })
  .extend({ token: z.string().openapi({ description: "Send it as a bearer token. It is shown only once." }) })
  .openapi("CreatedApiToken");

function response({ scopes, expiresAt: end, ...rest }: ApiToken): z.infer<typeof TokenSchema> {
  return { ...rest, scopes: scopes.map(({ orb, can }) => ({ orb, can: [...can] })), expiresAt: end ?? NEVER };
}

export function createdResponse({
  text,
  ...made
}: ApiToken & { text: string }): z.infer<typeof CreatedSchema> {
  const { lastUsedAt: _, id, ...rest } = response(made);
  return { id, token: text, ...rest };
}

/** @throws AppError invalid if a new token names a revision that its orb has never published */
async function inputOf(deps: Deps, { expiresAt: end, ...body }: z.infer<typeof NewTokenSchema>) {
  await requireRevision(deps, body);
  return { ...body, expiresAt: end === NEVER ? null : end };
}

async function requireRevision(
  deps: Deps,
  { definition, scopes }: Pick<z.infer<typeof NewTokenSchema>, "definition" | "scopes">,
): Promise<void> {
  const [scope, ...others] = scopes;
  // The verb refuses a revision for several orbs.
  if (definition === undefined || scope === undefined || scope.orb === EVERY_ORB || others.length > 0) return;
  if (await wasLive(deps, scope.orb, definition)) return;
  const message = "must be the number of a published revision of the orb's definition";
  throw invalid([{ path: "/definition", code: "unknown_revision", message }]);
}

export function tokenRoutes(scope: Scope) {
  const { prefix, name } = scope;
  const params = z.object(pathParams(prefix));
  const withId = params.extend({ id: z.string() });
  const query = z.strictObject({
    account: z.string().optional().openapi({ description: "Id of a service account that you manage" }),
  });

  const list = defineRoute({
    ...realmRoute(scope, "tokens.read"),
    method: "get",
    path: `${prefix}/tokens`,
    operationId: `list${name}Tokens`,
    summary: "List API tokens",
    description:
      "Lists the API tokens of your own account, or of a service account. The response does not contain the tokens themselves.",
    request: { params, query },
    responses: { 200: json("The tokens, oldest first", z.array(TokenSchema)) },
    problems: [401, 403, 404, 422],
  });
  const create = defineRoute({
    ...credentialRoute(scope, "tokens.write"),
    method: "post",
    path: `${prefix}/tokens`,
    operationId: `create${name}Token`,
    summary: "Create an API token",
    description: `A token acts as its account, within its scopes, and ends with the account. Scopes: \`read\` entries, streams and exports; \`write\`: create, change and delete entries, call handlers; \`publish\` entries; \`manage\`: everything else. An account has at most ${TOKEN_LIMIT} tokens (409). A token can only create tokens with its own scopes that expire no later.`,
    request: { params, body: jsonRequest(NewTokenSchema) },
    responses: { 201: json("The token, with its text", CreatedSchema) },
    problems: [401, 403, 404, 409],
  });
  const current = {
    ...realmRoute(scope, "tokens.current"),
    path: `${prefix}/tokens/current`,
    request: { params },
    problems: [401, 403, 404] as const,
  };
  const getCurrent = defineRoute({
    ...current,
    method: "get",
    operationId: `getCurrent${name}Token`,
    summary: "Get the API token of this request",
    responses: { 200: json("The token, without its text", TokenSchema) },
  });
  const revokeCurrent = defineRoute({
    ...current,
    method: "delete",
    operationId: `revokeCurrent${name}Token`,
    summary: "Revoke the API token of this request",
    description: "Every token may revoke itself, whatever its scopes are.",
    responses: { 204: { description: "Revoked" } },
  });
  const get = defineRoute({
    ...realmRoute(scope, "tokens.read"),
    method: "get",
    path: `${prefix}/tokens/{id}`,
    operationId: `get${name}Token`,
    summary: "Get an API token",
    request: { params: withId, query },
    responses: { 200: json("The token, without its text", TokenSchema) },
    problems: [401, 403, 404, 422],
  });
  const revoke = defineRoute({
    ...realmRoute(scope, "tokens.write"),
    method: "delete",
    path: `${prefix}/tokens/{id}`,
    operationId: `revoke${name}Token`,
    summary: "Revoke an API token",
    description: "The token then no longer works, on any host.",
    request: { params: withId, query },
    responses: { 204: { description: "Revoked" } },
    problems: [401, 403, 404, 422],
  });

  return (
    newRouter()
      .openapi(list, async (c) => {
        const { deps, actor, realm } = c.var;
        const tokens = await listApiTokens(deps, actor, { realm, ...c.req.valid("query") });
        return c.json(tokens.map(response), 200);
      })
      .openapi(create, async (c) => {
        const { deps, actor, realm } = c.var;
        const input = await inputOf(deps, c.req.valid("json"));
        const made = await createApiToken(deps, actor, { realm, ...input });
        c.header("cache-control", "no-store");
        return c.json(createdResponse(made), 201);
      })
      // Register these before the routes with an id, whose paths match too.
      .openapi(getCurrent, async (c) => {
        const { deps, actor, realm } = c.var;
        return c.json(response(await getCurrentToken(deps, actor, realm)), 200);
      })
      .openapi(revokeCurrent, async (c) => {
        const { deps, actor, realm } = c.var;
        await revokeCurrentToken(deps, actor, realm);
        return c.body(null, 204);
      })
      .openapi(get, async (c) => {
        const { deps, actor, realm } = c.var;
        const input = { realm, ...c.req.valid("query"), id: c.req.valid("param").id };
        return c.json(response(await getApiToken(deps, actor, input)), 200);
      })
      .openapi(revoke, async (c) => {
        const { deps, actor, realm } = c.var;
        await revokeApiToken(deps, actor, { realm, ...c.req.valid("query"), id: c.req.valid("param").id });
        return c.body(null, 204);
      })
  );
}
