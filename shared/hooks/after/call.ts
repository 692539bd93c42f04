import { scheduleActor } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/index.ts";
import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { credentialFor } from "../../handlers/credential.ts";
import { resolveHandler } from "../../handlers/dispatch.ts";
import { askRemote, type RemoteRequest } from "../../handlers/remote.ts";
import { AppError } from "../../kernel/errors.ts";
import { rhythmOf } from "./crons.ts";
import type { Delivery, TickDelivery } from "./source.ts";

/** Maximum milliseconds that a delivery waits for the handler's response. */
const AFTER_MS = 10_000;

/** Returns the id of a delivery. All attempts have the same id, so the receiver can detect duplicates. */
export function deliveryId(delivery: Delivery): string {
  const { hook } = delivery;
  if ("comment" in delivery) return `${delivery.comment.orb}.${hook.id}.${delivery.comment.id}`;
  const { orb, id, revision } = "entry" in delivery ? delivery.entry : delivery.change;
  return `${orb}.${hook.id}.${id}.${revision}`;
}

/**
 * Calls the handler of an after-write hook. The delivery succeeds unless the handler responds with an error.
 * @throws Error with the reason, which the list of deliveries shows
 */
export async function callAfter(deps: HandlerDeps, delivery: Delivery): Promise<void> {
  const { live, hook, event, attempt, ...about } = delivery;
  const id = deliveryId(delivery);
  const input = { event, ...about, delivery: { id, attempt } };
  const handler = hook.handler ?? "";
  await ask(deps, { orbId: live.orb, handler, hook: hook.id, input, caller: null }, id);
}

/**
 * Calls the handler of a schedule, with the settings of the current definition.
 * @returns false if the call must be dropped because the definition no longer has the schedule, or has changed its
 * times
 * @throws Error with the reason, which the list of deliveries shows
 */
export async function callTick(deps: HandlerDeps, tick: TickDelivery): Promise<boolean> {
  const { orb } = tick.live;
  const live = await liveOrb(deps, orb);
  const schedule = live?.document.schedules?.find(({ id }) => id === tick.schedule.id);
  if (live === null || schedule === undefined) return false;
  if (rhythmOf(live, schedule) !== rhythmOf(tick.live, tick.schedule)) return false;
  const { handler, input = null } = schedule;
  // After a restore, the same tick can have another sequence number. Its due time stays, so the receiver knows it.
  const id = `${orb}.${schedule.id}.${tick.at}`;
  const at = new Date(tick.at).toISOString();
  const about = { id: schedule.id, at, delivery: { id, attempt: tick.attempt } };
  const principal: Principal = { actor: scheduleActor(orb, schedule.id), role: "owner" };
  await ask(deps, { orbId: orb, handler, schedule: about, input, caller: null }, id, { live, principal });
  return true;
}

/** @param acting the caller for whom the handler may use its acts. Without it, the handler gets no credential. */
async function ask(
  deps: HandlerDeps,
  request: RemoteRequest,
  idempotencyKey: string,
  acting?: { live: LiveOrb; principal: Principal },
): Promise<void> {
  const by = { ...deps, builtIn: [], request: { ...deps.request, requestId: deps.newId() } };
  try {
    const { handler, guess } = await resolveHandler(by, request.handler);
    if (handler.kind !== "nats") throw new Error("The handler is not called over the broker.");
    const called = { ...handler, timeoutMs: Math.min(handler.timeoutMs, AFTER_MS) };
    const credential =
      acting === undefined ? undefined : await credentialFor(by, acting.live, called, acting.principal);
    const sent = credential === undefined ? request : { ...request, credential };
    await askRemote(by, called, sent, { guess, idempotencyKey });
  } catch (error) {
    if (error instanceof AppError) throw new Error(`${error.code}: ${error.detail}`);
    throw error;
  }
}
