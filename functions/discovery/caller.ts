/** Returns the caller's account and rights, so that a user interface can hide what the caller may not do. */
import { z } from "@hono/zod-openapi";
import type { Actor } from "../../shared/access/actor.ts";
import {
  may,
  mayInRealm,
  type Principal,
  principalIn,
  realmOf,
  SHARED_REALM,
} from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { ACTIONS } from "../../shared/definition/document/access.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { scopesFor } from "../http/prefixes.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { ANY_SESSION, json } from "../http/schemas.ts";
import { identify } from "../middleware/session.ts";

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
    }),
  },
  responses: { 200: json("The caller", CallerSchema) },
  problems: [400, 401, 403],
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

/**
 * Returns a published application, or null if its definition is damaged. Admins must be able to read their own account
 * even if the application is damaged.
 */
async function usable(deps: Pick<Deps, "store">, orb: string): Promise<LiveOrb | null> {
  try {
    return await liveOrb(deps, orb, "cached");
  } catch (error) {
    if (error instanceof AppError && error.code === "definition_damaged") return null;
    throw error;
  }
}

function accountOf(actor: Actor) {
  if (actor.kind === "platform") return { realm: "platform", id: actor.sub, name: actor.name, role: "owner" };
  if (actor.kind === "orb") return { realm: actor.realm, id: actor.sub, name: actor.name, role: actor.role };
  return null;
}

export function callerRoutes() {
  return newRouter().openapi(route, async (c) => {
    const { orb } = c.req.valid("query");
    const live = orb === undefined ? null : await usable(c.var.deps, orb);
    const realms = live === null ? [SHARED_REALM] : [realmOf(live.orb, live.compiled.usesAccess)];
    const actor = await identify(c, { platform: true, realms });
    return c.json({ account: accountOf(actor), orb: live === null ? null : orbOf(live, actor) }, 200);
  });
}
