import type { HandlerDeps } from "../../handlers/contract/types.ts";
import { resolveHandler } from "../../handlers/dispatch.ts";
import { askRemote } from "../../handlers/remote.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Delivery } from "./lane.ts";

/** Maximum milliseconds that a delivery waits for the handler's response. */
export const AFTER_MS = 10_000;

/** Returns the id of a delivery. All attempts have the same id, so the receiver can detect duplicates. */
export function deliveryId({ hook, entry }: Pick<Delivery, "hook" | "entry">): string {
  return `${entry.orb}.${hook.id}.${entry.id}.${entry.revision}`;
}

/**
 * Calls the handler of an after-write hook. Any response other than an error counts as delivered.
 * @throws Error with the reason that the list of deliveries shows
 */
export async function callAfter(deps: HandlerDeps, delivery: Delivery): Promise<void> {
  const { live, hook, event, entry, attempt } = delivery;
  const id = deliveryId(delivery);
  const by = { ...deps, builtIn: [], request: { ...deps.request, requestId: deps.newId() } };
  try {
    const { handler, guess } = await resolveHandler(by, hook.handler ?? "");
    if (handler.kind !== "nats") throw new Error("The handler is not called over the broker.");
    const input = { event, entry, delivery: { id, attempt } };
    const request = { orbId: live.orb, handler: hook.handler ?? "", hook: hook.id, input, caller: null };
    const called = { ...handler, timeoutMs: Math.min(handler.timeoutMs, AFTER_MS) };
    await askRemote(by, called, request, { guess, idempotencyKey: id });
  } catch (error) {
    if (error instanceof AppError) throw new Error(`${error.code}: ${error.detail}`);
    throw error;
  }
}
