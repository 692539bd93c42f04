import type { HandlerDeps } from "../../handlers/contract/types.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import type { HookedOrb } from "./definitions.ts";
import { revisionFor } from "./events.ts";
import { type LaneOptions, recordMessage, recordOf } from "./lane.ts";
import type { DeliveryRecord } from "./stored.ts";

/** Maximum redelivery requests that run at the same time. */
const AT_ONCE = 16;

/** Makes one extra attempt for each delivery that an operator asked to send again. */
export async function deliverAgain(
  deps: HandlerDeps,
  orbs: ReadonlyMap<string, HookedOrb>,
  options: LaneOptions,
): Promise<void> {
  const asked = await deps.store.scan(streams.hooks, subjects.allHooksAgain, {
    fromSeq: 1,
    limit: AT_ONCE,
    maxBytes: READ_BYTES,
  });
  const open = asked.messages.filter(({ size }) => size > 0);
  await Promise.all(open.map((message) => again(deps, orbs, options, message)));
}

async function again(
  deps: HandlerDeps,
  orbs: ReadonlyMap<string, HookedOrb>,
  { deliver, valid }: LaneOptions,
  message: StoredMessage,
): Promise<void> {
  const { store, clock } = deps;
  const [, , orb = "", hookId = "", number] = message.subject.split(".");
  const seq = Number(number);
  const done = { subject: message.subject, data: "", rollup: true, ttl: 1, expect: { seq: message.seq } };
  const found = orbs.get(orb);
  const hook = found?.hooks.find((one) => one.hook.id === hookId)?.hook;
  const stored = found === undefined || hook === undefined ? null : await store.getSeq(streams.orb(orb), seq);
  const revision =
    found === undefined || hook === undefined || stored === null
      ? null
      : revisionFor(found.live.compiled, hook, stored);
  // The orb, the hook or the revision no longer exists, so there is nothing to deliver. Clear the request.
  if (found === undefined || hook === undefined || revision === null) {
    await store.append(streams.hooks, done);
    return;
  }
  const subject = subjects.hookFailed(orb, hookId, seq);
  const before = await store.get(streams.hooks, subject);
  const attempts = (before?.size ? before.json<DeliveryRecord>().attempts : 0) + 1;
  if (!valid()) return;
  const error = await deliver({ ...revision, live: found.live, hook, seq, attempt: attempts }).then(
    () => undefined,
    (cause: unknown) => (cause instanceof Error ? cause.message : String(cause)).slice(0, 500),
  );
  const record = recordMessage(orb, hookId, recordOf(revision, seq, attempts, clock.now(), error));
  const gone = error === undefined && before !== null ? [{ subject, data: "", rollup: true, ttl: 1 }] : [];
  await store.batch(streams.hooks, [done, ...gone, record]);
}
