/** Calls a handler: what goes in is checked before anything is called, and what comes out before it is passed on. */
import { type Actor, actorId, type Role } from "../access/actor.ts";
import { atLeast, refusal } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { AppError, invalid } from "../errors.ts";
import type { LiveOrb } from "../orb/live-orb.ts";
import { type FaultyEntry, isFaulty } from "./entry.ts";
import { compileJsonSchema, type JsonSchema } from "./json-schema.ts";
import { getHandler } from "./registry.ts";
import { askRemote, type Guess, guessFree } from "./remote.ts";
import type { Caller, Handler, HandlerAuth, HandlerDeps } from "./types.ts";

/** 502: the registry's entry cannot be used. */
function faulty(cause: string): AppError {
  const words = "The handler is not registered as it should be.";
  return new AppError("bad_gateway", "handler_faulty", words, { cause });
}

/** A handler, with what was begun for it beside the reading of its entry. */
export interface Resolved {
  handler: Handler;
  guess: Guess | undefined;
}

/**
 * The handler that a live orb uses. One request for a remote one.
 * @throws AppError unavailable when its service has taken its entry away, bad_gateway when the entry cannot be used
 */
export async function resolveHandler(deps: HandlerDeps, name: string): Promise<Resolved> {
  const guess = guessFree(deps, name);
  const entry: Handler | FaultyEntry | null = await getHandler(deps, name);
  if (entry === null) {
    throw new AppError("unavailable", "handler_unavailable", "The handler is not registered at the moment.", {
      retryAfter: 5,
      cause: `${name}: not registered`,
    });
  }
  if (isFaulty(entry)) throw faulty(`${name}: its entry cannot be used`);
  return { handler: entry, guess };
}

/** @throws AppError unauthenticated, forbidden */
export function requireAuth(auth: HandlerAuth, actor: Actor, role: Role): void {
  if (auth === "None") return;
  const least = auth === "AdminRequired" ? "admin" : "user";
  if (!atLeast(role, least)) throw refusal(actor, least);
}

/** Who calls, as a handler is told; null for nobody signed in. */
export function callerOf(actor: Actor, role: Role): Caller | null {
  return role === "public" ? null : { sub: actorId(actor), role };
}

/** @throws AppError invalid with every fault, bad_gateway when the schema itself cannot be used */
export function checkInput(schema: JsonSchema | undefined, input: unknown): void {
  if (schema === undefined) return;
  const check = compileJsonSchema(schema);
  if (Array.isArray(check)) throw faulty("the input schema cannot be used");
  const faults = check(input);
  if (faults.length > 0) throw invalid(faults);
}

/** One call. The caller was let in and the input was checked. */
export async function invoke(
  deps: Deps,
  { handler, guess }: Resolved,
  call: { live: LiveOrb; actor: Actor; role: Role; input: unknown; idempotencyKey?: string | undefined },
): Promise<unknown> {
  const { live, actor, role, input, idempotencyKey } = call;
  if (handler.kind === "local") {
    return handler.run({ deps, live, actor, role, input: input as Record<string, unknown>, idempotencyKey });
  }
  if (handler.kind === "http") {
    throw new AppError("not_found", "route_not_found", "This handler has routes of its own.");
  }
  const caller = callerOf(actor, role);
  const request = { orbId: live.orb, handler: handler.name, input: input ?? null, caller };
  return askRemote(deps, handler, request, { guess, idempotencyKey });
}
