/** Calls handlers of a published application. {@link CHAIN} lists the steps. */

import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { type Principal, PUBLIC, principalIn } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { parseExtras } from "../../shared/entry/query/index.ts";
import { HTTP_METHODS, isRemote } from "../../shared/handlers/contract/index.ts";
import {
  checkInput,
  invoke,
  type Resolved,
  requireCallable,
  resolveHandler,
} from "../../shared/handlers/dispatch.ts";
import { ServiceRefusal } from "../../shared/handlers/remote.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { countCall } from "../../shared/quotas/quotas.ts";
import { idempotencyKeyOf } from "../http/idempotency.ts";
import { scopesFor } from "../http/prefixes.ts";
import { problem, wrongMethod } from "../http/problem.ts";
import { defineRoute } from "../http/router.ts";
import { ANY_SESSION, IdempotencyKey, json } from "../http/schemas.ts";
import { readJson } from "../middleware/body.ts";
import type { AppEnv } from "../request/context.ts";
import { callOverHttp, LEADING } from "./handlers-remote.ts";
import { searchOf } from "./request.ts";

interface Call {
  c: Context<AppEnv>;
  live: LiveOrb;
  resolved: Resolved;
  principal: Principal;
  input: unknown;
}

type Middleware = (call: Call, next: () => Promise<Response>) => Promise<Response>;

const logging: Middleware = async (call, next) => {
  const { deps } = call.c.var;
  const started = deps.clock.now();
  let outcome = "failed";
  try {
    const response = await next();
    outcome = String(response.status);
    return response;
  } finally {
    const durationMs = deps.clock.now() - started;
    deps.log.info("handler", {
      handler: call.resolved.handler.name,
      orb: call.live.orb,
      outcome,
      durationMs,
    });
  }
};

/** Finds the caller's role. Rejects an invalid token with 401, even if the handler needs no sign-in. */
const jwt: Middleware = async (call, next) => {
  call.principal = principalIn(call.principal.actor, call.live.orb, call.live.compiled);
  return next();
};

const role: Middleware = async (call, next) => {
  requireCallable(call.resolved.handler, call.principal);
  return next();
};

const quota: Middleware = async (call, next) => {
  await countCall(call.c.var.deps, call.principal.actor, call.live.orb);
  return next();
};

const input: Middleware = async (call, next) => {
  const { c } = call;
  parseExtras(searchOf(c));
  call.input = await readJson(c, false);
  checkInput(call.resolved.handler.input, call.input);
  return next();
};

/**
 * The methods that never reach an HTTP handler, because fetch forbids them to web pages: they concern the connection, or
 * send the request back with its credentials.
 */
const KEPT_BACK_METHODS: ReadonlySet<string> = new Set(["TRACE", "TRACK", "CONNECT"]);
const USUAL_METHODS = HTTP_METHODS.map((method) => method.toUpperCase());

/** The middleware that runs before a call, in order. */
const CHAIN: readonly Middleware[] = [logging, jwt, role, quota];

const answer = async ({ c, live, resolved, principal, input }: Call): Promise<Response> => {
  // Pass the idempotency key on to the service. The platform itself neither repeats calls nor stores responses.
  const idempotencyKey = idempotencyKeyOf(c);
  const call = { live, principal, input, idempotencyKey };
  const result = await invoke(c.get("deps"), resolved, call);
  c.header("cache-control", "no-store");
  return c.body(JSON.stringify(result ?? null), 200, { "content-type": "application/json" });
};

export async function callHandler(
  c: Context<AppEnv>,
  live: LiveOrb,
  actor: Actor,
  { name, above }: { name: string; above: number },
): Promise<Response> {
  // The response may depend on data whose changes the cache does not notice, so never cache it.
  c.var.deps.expires?.(0);
  const resolved = await resolveHandler(c.get("deps"), name);
  const { handler } = resolved;
  const overHttp = handler.kind === "http" && isRemote(handler) ? handler : undefined;
  if (overHttp === undefined && c.req.path.split("/").length > LEADING + above) {
    throw new AppError(
      "not_found",
      "route_not_found",
      `The handler ${name} has no paths below its own. Call the handler itself.`,
    );
  }
  if (overHttp === undefined && c.req.method !== "POST") return wrongMethod(c, ["POST"]);
  if (KEPT_BACK_METHODS.has(c.req.method)) return wrongMethod(c, USUAL_METHODS);
  const call: Call = { c, live, resolved, principal: { ...PUBLIC, actor }, input: undefined };
  const last = () =>
    overHttp === undefined
      ? input(call, () => answer(call))
      : callOverHttp(c, live, overHttp, { above, principal: call.principal, guess: resolved.guess });
  const run = (at: number): Promise<Response> => {
    const step = CHAIN[at];
    return step === undefined ? last() : step(call, () => run(at + 1));
  };
  try {
    return await run(0);
  } catch (error) {
    // The service chose this status. Keep it, even if the platform itself never uses it.
    if (!(error instanceof ServiceRefusal)) throw error;
    const { status, code, detail, errors } = error;
    const headers: Record<string, string> =
      status === 401 ? { "www-authenticate": 'Bearer realm="platform"' } : {};
    return problem(c, status as 400, code, detail, { errors, headers });
  }
}

/**
 * This path always reaches the handler. The short path `/api/{orbId}/{handler}` may belong to a module of the same
 * name.
 */
export const callRoute = defineRoute({
  method: "post",
  path: "/api/{orbId}/call/{handler}",
  operationId: "callHandler",
  summary: "Call a handler",
  description:
    "The same as `POST /api/{orbId}/{handler}`. The description of each published orb contains the input and output.",
  tags: ["Handlers"],
  ...scopesFor("call"),
  security: [...ANY_SESSION, {}],
  request: {
    params: z.object({
      orbId: z.string().openapi({ example: "shop" }),
      handler: z
        .string()
        .openapi({ description: "Name of a handler in the orb's `uses`", example: "evaluate" }),
    }),
    headers: z.object({
      "idempotency-key": IdempotencyKey.shape["idempotency-key"].openapi({
        description: "The platform passes the key on to the handler, and never repeats a call itself.",
      }),
    }),
  },
  responses: { 200: json("The handler's output", z.unknown()) },
  problems: [400, 401, 403, 404, 409, 413, 415, 422, 429, 502, 507],
});
