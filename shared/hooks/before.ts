/**
 * Before-write hooks. A handler receives the entry as it would be stored, and can reject the write or change values.
 * The write waits for the handlers, so all hooks of one write share one time limit.
 */
import type { Principal } from "../access/authorize.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import type { HookDefinition, HookEvent } from "../definition/document/index.ts";
import type { Deps } from "../deps.ts";
import { callerOf, resolveHandler } from "../handlers/dispatch.ts";
import { askRemote, faultsOf, ServiceRefusal } from "../handlers/remote.ts";
import { AppError, invalid } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";

/** Maximum milliseconds that all hooks of one write may take together. */
export const BEFORE_MS = 2_000;

/**
 * Maximum concurrent calls of one hook in this process. Stops endless recursion: a handler may write entries, and these
 * writes may trigger the hook that called it.
 */
export const BEFORE_CALLS = 64;

/** A write as its hooks receive it. Values of sensitive fields are masked. */
export interface HookedWrite {
  orb: string;
  event: HookEvent;
  principal: Principal;
  /** The entry as it would be stored. */
  entry: object;
  /** The newest stored revision, or null if the entry is new. */
  previous: object | null;
}

/** Returns the hooks to run before a write, in the order of the application's document. */
export function hooksBefore(
  { hooks }: { hooks?: readonly HookDefinition[] | undefined },
  schema: CompiledSchema,
  events: readonly HookEvent[],
): { hook: HookDefinition; event: HookEvent }[] {
  // Settings entries are updated by separate code, which runs no hooks.
  if (hooks === undefined || schema.moduleType === "SETTINGS") return [];
  return hooks.flatMap((hook) => {
    const event = events.find((one) => hook.on.includes(one));
    const here = (hook.module ?? schema.module) === schema.module && (hook.schema ?? schema.id) === schema.id;
    return event === undefined || !here || hook.mode !== "before" ? [] : [{ hook, event }];
  });
}

/**
 * Calls a hook's handler.
 * @param until time at which the write stops waiting, in milliseconds since the epoch
 * @returns the values to change, by field name
 * @throws AppError `invalid` if the handler rejects the write
 * @throws AppError `hook_unavailable` or `hook_failed` if a required hook gives no usable response
 */
export async function askBefore(
  deps: Deps,
  hook: HookDefinition,
  write: HookedWrite,
  until: number,
): Promise<Record<string, unknown>> {
  const release = enter(`${write.orb}/${hook.id}`, deps.clock.now());
  try {
    if (release === undefined) throw new NoAnswer(true, "too many calls at the same time");
    return changesIn(await call(deps, hook, write, until));
  } catch (error) {
    if (error instanceof ServiceRefusal) throw refused(error);
    const reason = reasonOf(error);
    if (hook.required !== false) throw failed(hook, reason);
    deps.log.warn("a hook was skipped", { orb: write.orb, hook: hook.id, reason: reason.message });
    return {};
  } finally {
    release?.();
  }
}

async function call(
  deps: Deps,
  { id, handler: name = "" }: HookDefinition,
  { orb, event, principal, entry, previous }: HookedWrite,
  until: number,
): Promise<unknown> {
  const { handler, guess } = await resolveHandler({ ...deps, builtIn: [] }, name);
  if (handler.kind !== "nats") throw new NoAnswer(false, "the handler is not called over the broker");
  const left = until - deps.clock.now();
  if (left <= 0) throw new NoAnswer(true, "earlier hooks took all the time");
  const input = { event, entry, previous };
  const request = { orbId: orb, handler: name, hook: id, input, caller: callerOf(principal) };
  return askRemote(deps, { ...handler, timeoutMs: Math.min(handler.timeoutMs, left) }, request, { guess });
}

function changesIn(answer: unknown): Record<string, unknown> {
  if (answer === null) return {};
  const { values = {}, errors } = isObject(answer) ? answer : { values: null };
  if (errors !== undefined && !(Array.isArray(errors) && errors.length === 0)) {
    const faults = faultsOf(errors);
    if (faults === undefined) throw new NoAnswer(false, "errors is not a list of path, code and message");
    throw invalid(faults);
  }
  if (!isObject(values)) throw new NoAnswer(false, "the answer has no object of values");
  return values;
}

/**
 * Returns the handler's rejection as status 422. Other statuses have their own meaning for a write, so the handler
 * cannot choose one.
 */
function refused({ detail, errors }: ServiceRefusal): AppError {
  return new AppError("invalid", "write_refused", detail, { errors });
}

/** Thrown if a handler does not respond, or its response is unusable. */
class NoAnswer extends Error {
  readonly absent: boolean;

  constructor(absent: boolean, message: string) {
    super(message);
    this.absent = absent;
  }
}

/**
 * Returns the reason why a handler gave no usable response. Rethrows all other errors, such as the handler's
 * rejection of the write.
 */
function reasonOf(error: unknown): NoAnswer {
  if (error instanceof NoAnswer) return error;
  if (!(error instanceof AppError) || error.kind === "invalid") throw error;
  const absent = error.kind === "unavailable" || error.kind === "timeout";
  return new NoAnswer(absent, error.cause === undefined ? error.code : `${error.code} ${error.cause}`);
}

function failed({ id }: HookDefinition, { absent, message }: NoAnswer): AppError {
  const data = { hook: id };
  const cause = `${id}: ${message}`;
  if (absent) {
    const detail = `The hook "${id}" must agree to this write, but its handler does not answer. Try again later.`;
    return new AppError("unavailable", "hook_unavailable", detail, { retryAfter: 1, data, cause });
  }
  const detail = `The hook "${id}" must agree to this write, but its handler failed. Look for the error in the log of its service.`;
  return new AppError("bad_gateway", "hook_failed", detail, { data, cause });
}

/**
 * Start times of the running calls of each hook. A cancelled request cannot remove its call, so `enter` discards old
 * start times.
 */
const running = new Map<string, Set<{ since: number }>>();

/** Registers a call. Returns a function to call when the call ends, or undefined if too many calls are running. */
function enter(key: string, now: number): (() => void) | undefined {
  const calls = running.get(key) ?? new Set();
  for (const call of calls) if (call.since < now - 2 * BEFORE_MS) calls.delete(call);
  if (calls.size >= BEFORE_CALLS) return undefined;
  const call = { since: now };
  running.set(key, calls.add(call));
  return () => {
    calls.delete(call);
    if (calls.size === 0) running.delete(key);
  };
}
