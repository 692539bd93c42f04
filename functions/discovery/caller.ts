/**
 * Returns the caller's account and rights, so that a user interface can hide what the caller may not do. Also returns
 * the names of accounts, so that it can show who changed something.
 */
import { z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import {
  may,
  mayInRealm,
  PLATFORM_REALM,
  type Principal,
  principalIn,
  realmOf,
  SHARED_REALM,
} from "../../shared/access/authorize.ts";
import {
  NAME_LIMITS,
  type NamingOrb,
  namesOf,
  namesOfTokens,
  realmsOf,
  requireNames,
  searchNames,
} from "../../shared/access/naming/index.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { ACTIONS } from "../../shared/definition/document/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { usableOrb } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { namingOf } from "../../shared/editing/index.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { ANY_SESSION, json } from "../http/schemas.ts";
import { identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";
import { orbWithin, WITHIN } from "./within.ts";

const actions = z.array(z.enum(ACTIONS));

const CallerSchema = z
  .object({
    account: z
      .object({
        realm: z.string().openapi({ description: "`platform` for platform admins", example: "platform" }),
        id: z.string(),
        name: z.string(),
        role: z.string().openapi({ description: "`owner` for platform admins", example: "owner" }),
      })
      .nullable()
      .openapi({ description: "Null if the caller is not signed in" }),
    orb: z
      .object({
        id: z.string(),
        name: z.string().optional(),
        realm: z.string().openapi({ description: "Realm of the orb's users" }),
        signin: z.string().openapi({ description: "Sign-in page of the orb's users" }),
        role: z.string().openapi({ description: "Built-in role of the caller in the orb", example: "user" }),
        users: z.enum(["none", "read", "write"]).openapi({
          description: "Whether the caller may list and manage users and invitations",
        }),
        modules: z.array(
          z.object({
            id: z.string(),
            schemas: z.array(
              z.object({
                id: z.string(),
                can: actions.openapi({ description: "Actions that the caller may take on every entry" }),
                own: actions.openapi({
                  description: "Further actions that the caller may take on own entries",
                }),
              }),
            ),
          }),
        ),
      })
      .nullable()
      .openapi({ description: "Null without the parameter `orb`, and if no such orb is published" }),
  })
  .openapi("Caller");

const route = defineRoute({
  method: "get",
  path: "/api/discovery/me",
  operationId: "getCaller",
  summary: "Get the caller's account and rights",
  description:
    "User interfaces use this to show only what the caller may do. It also works without a session.",
  tags: ["Discovery"],
  security: [{}, ...ANY_SESSION],
  ...scopesFor("account.read"),
  request: {
    query: z.strictObject({
      orb: z.string().optional().openapi({
        description: "Also the caller's rights in this orb. Accepts sessions of the orb's users.",
        example: "shop",
      }),
      ...WITHIN.shape,
    }),
  },
  responses: { 200: json("The caller", CallerSchema) },
  problems: [400, 401, 403, 404],
});

function actionsOf(principal: Principal, { id, access }: CompiledSchema) {
  const allowed = (own: boolean) => ACTIONS.filter((action) => may(principal, action, { access, own }));
  const can = allowed(false);
  return { id, can, own: allowed(true).filter((action) => !can.includes(action)) };
}

function orbOf({ orb, document, compiled }: LiveOrb, actor: Actor) {
  const principal = principalIn(actor, orb, compiled);
  const manages = (operation: "users.read" | "users.write") => mayInRealm(principal.role, operation);
  return {
    id: orb,
    ...(document.name === undefined ? {} : { name: document.name }),
    realm: realmOf(orb, compiled.usesAccess),
    signin: `/api/${orb}/signin`,
    role: principal.role,
    users: manages("users.write")
      ? ("write" as const)
      : manages("users.read")
        ? ("read" as const)
        : ("none" as const),
    modules: [...compiled.modules.values()].map((module) => ({
      id: module.id,
      schemas: [...module.schemas.values()].map((schema) => actionsOf(principal, schema)),
    })),
  };
}

function accountOf(actor: Actor) {
  if (actor.kind === "platform") return { realm: "platform", id: actor.sub, name: actor.name, role: "owner" };
  if (actor.kind === "orb") return { realm: actor.realm, id: actor.sub, name: actor.name, role: actor.role };
  return null;
}

export function callerRoutes() {
  return newRouter().openapi(route, async (c) => {
    const { orb, change } = c.req.valid("query");
    if (change !== undefined && orb === undefined)
      throw invalidParameters([
        { path: "/change", code: "not_applicable", message: "must be sent together with orb" },
      ]);
    // Admins must be able to read their own account even if the application cannot be used.
    const live = orb === undefined ? null : await usableOrb(c.var.deps, orb, "cached");
    const realms = live === null ? [SHARED_REALM] : [realmOf(live.orb, live.compiled.usesAccess)];
    const actor = await identify(c, { platform: true, realms, pinned: true });
    const shown = live === null || change === undefined ? live : await orbWithin(c, live.orb, change);
    return c.json({ account: accountOf(actor), orb: shown === null ? null : orbOf(shown, actor) }, 200);
  });
}

const NamesSchema = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        realm: z.string().openapi({ description: "`platform`, `auth` or an orb's id" }),
        removed: z.literal(true).optional().openapi({ description: "Set if the account was removed" }),
      }),
    ),
  })
  .openapi("AccountNames");

/** Returns what decides who may see names in an application; null if no such application is published. */
async function namingOrb(deps: Deps, orb: string | undefined): Promise<NamingOrb | null> {
  const live = orb === undefined ? null : await usableOrb(deps, orb, "cached");
  return live === null ? null : namingOf(live.compiled);
}

/** Rejects callers who may not see names, before the parameters are checked. */
const admit: MiddlewareHandler<AppEnv> = async (c, next) => {
  const { orb: id, search } = c.req.query();
  const orb = await namingOrb(c.var.deps, id);
  const realms = [orb === null ? SHARED_REALM : realmOf(orb.id, orb.usesAccess)];
  const actor = await identify(c, { platform: true, realms, pinned: true });
  requireNames(actor, orb, search === undefined ? "ids" : "search");
  await next();
};

const namesRoute = defineRoute({
  method: "get",
  path: "/api/discovery/names",
  operationId: "getAccountNames",
  summary: "Get names of accounts",
  description:
    "With `ids`, the names of these accounts, for platform admins and for users who may read the history of entries. With `search`, accounts whose names contain the text, for platform admins and for users who may list accounts. Removed accounts are included; ids without an account are left out.",
  tags: ["Discovery"],
  security: ANY_SESSION,
  ...scopesFor("users.read"),
  middleware: [admit],
  request: {
    query: z.strictObject({
      orb: z.string().optional().openapi({
        description: "The orb in which the accounts changed something. Users must give it.",
        example: "shop",
      }),
      ids: z
        .string()
        .min(1)
        .max(10_000)
        .optional()
        .openapi({
          description: `Up to ${NAME_LIMITS.ids} ids of accounts, separated by commas. Platform admins also get names of API tokens: the id of the account, a dot and the id of the token.`,
        }),
      search: z
        .string()
        .min(1)
        .max(NAME_LIMITS.text)
        .optional()
        .openapi({
          description: `Part of a name. Returns up to ${NAME_LIMITS.found} accounts.`,
        }),
    }),
  },
  responses: { 200: json("The names", NamesSchema) },
  problems: [400, 401, 403],
});

const badIds = (message: string) => invalidParameters([{ path: "/ids", code: "invalid_value", message }]);

export function nameRoutes() {
  return newRouter().openapi(namesRoute, async (c) => {
    const { orb: id, ids, search } = c.req.valid("query");
    const { deps, actor } = c.var;
    if ((ids === undefined) === (search === undefined)) throw badIds("must be given, or search instead");
    const orb = await namingOrb(deps, id);
    const realms = realmsOf(actor, id ?? null, orb);
    if (search !== undefined) {
      // Admins of an orb list its accounts, but not those of the platform.
      const searched = actor.kind === "orb" ? realms.filter((realm) => realm !== PLATFORM_REALM) : realms;
      return c.json({ items: await searchNames(deps, search, id === undefined ? null : searched) }, 200);
    }
    const asked = (ids ?? "").split(",");
    if (asked.length > NAME_LIMITS.ids)
      throw badIds(`must have at most ${NAME_LIMITS.ids} ids (has ${asked.length})`);
    // Users of an orb see no names of other users' tokens.
    const [accounts, tokens] = await Promise.all([
      namesOf(deps, asked, realms),
      actor.kind === "orb" ? [] : namesOfTokens(deps, asked, realms),
    ]);
    return c.json({ items: [...accounts, ...tokens] }, 200);
  });
}
