import { actorId, atLeast } from "../access/actor.ts";
import { type Principal, requireAct } from "../access/authorize.ts";
import { requireCovered } from "../access/credentials/index.ts";
import { refusal } from "../access/refusals.ts";
import type { LiveOrb } from "../definition/live-orb.ts";
import { AppError, invalid } from "../kernel/errors.ts";
import { type Caller, type FaultyEntry, type Handler, type HandlerDeps, isFaulty } from "./contract/index.ts";
import { credentialFor, handlerActor } from "./credential.ts";
import { getHandler } from "./registry.ts";
import { askRemote, checkSpeculatively, type RemoteRequest, type SpeculativeCheck } from "./remote.ts";
import { compileJsonSchema, type JsonSchema } from "./schema/index.ts";

function faulty(cause: string): AppError {
  const words =
    "The handler's registration is not valid. The operator of its service must register it again.";
  return new AppError("bad_gateway", "handler_faulty", words, { cause });
}

export interface Resolved {
  handler: Handler;
  guess: SpeculativeCheck | undefined;
}

/** Returns a handler that an application uses. Throws 503 if the handler's service has no valid registration now. */
export async function resolveHandler(
  deps: Pick<HandlerDeps, "store" | "log" | "builtIn">,
  name: string,
): Promise<Resolved> {
  const guess = checkSpeculatively(deps, name);
  const entry: Handler | FaultyEntry | null = await getHandler(deps, name);
  if (entry === null) {
    throw new AppError(
      "unavailable",
      "handler_unavailable",
      "The handler is not registered at the moment. Start its service or try again later.",
      {
        retryAfter: 5,
        cause: `${name}: not registered`,
      },
    );
  }
  if (isFaulty(entry)) throw faulty(`${name}: its registration is not valid`);
  return { handler: entry, guess };
}

/**
 * Throws 401 or 403 if the caller may not call the handler. A handler that acts on behalf of its caller may call only
 * built-in handlers.
 */
export function requireCallable(handler: Handler, principal: Principal): void {
  const { actor, role, acting, scope } = principal;
  requireCovered(scope, "call");
  if (acting !== undefined) {
    if (handler.kind !== "local" || handler.act === undefined) throw nested(acting.handler, handler.name);
    requireAct(principal, handler.act);
    // A schema can allow anonymous callers to record transactions, or to evaluate rules, through this handler. So these
    // handlers check access, not this function.
    if (handler.act === "transactions:record" || handler.act === "rules:evaluate") return;
  }
  if (handler.auth === "None") return;
  const least = handler.auth === "AdminRequired" ? "admin" : "user";
  if (!atLeast(role, least)) throw refusal(actor, least);
}

/**
 * Returns the error for a service that calls another service on behalf of its caller. This is forbidden, because the
 * application's owner could not see which of the services acts.
 */
function nested(handler: string, called: string): AppError {
  const words = `The handler ${handler} cannot call ${called} for its caller, because that is not a built-in handler. Call it without the credential, or let the client call it.`;
  return new AppError("forbidden", "nested_call", words);
}

/** Returns the caller as services see it, or null for an anonymous caller. */
export function callerOf({ actor, role, orbRole }: Principal): Caller | null {
  if (role === "public") return null;
  return { sub: actorId(actor), role, ...(orbRole === undefined ? {} : { orbRole }) };
}

export function checkInput(schema: JsonSchema | undefined, input: unknown): void {
  if (schema === undefined) return;
  const check = compileJsonSchema(schema);
  if (Array.isArray(check)) throw faulty("the input schema is not valid");
  const faults = check(input);
  if (faults.length > 0) throw invalid(faults);
}

/** Calls a handler. Before, check whether the caller may call it, and validate the input. */
export async function invoke(
  deps: HandlerDeps,
  { handler, guess }: Resolved,
  call: { live: LiveOrb; principal: Principal; input: unknown; idempotencyKey?: string | undefined },
): Promise<unknown> {
  const { live, principal, input, idempotencyKey } = call;
  if (handler.kind === "local") {
    const acting = deps.actingFor(deps, live, handlerActor(deps, live, handler, principal));
    const given = input as Record<string, unknown>;
    return handler.run({ deps, live, principal, input: given, idempotencyKey, acting });
  }
  if (handler.kind === "http") {
    throw new AppError(
      "not_found",
      "route_not_found",
      "This handler has its own HTTP routes. Call those instead.",
    );
  }
  const caller = callerOf(principal);
  const credential = await credentialFor(deps, live, handler, principal);
  const request: RemoteRequest = {
    orbId: live.orb,
    handler: handler.name,
    input: input ?? null,
    caller,
    ...(credential === undefined ? {} : { credential }),
  };
  return askRemote(deps, handler, request, { guess, idempotencyKey });
}
