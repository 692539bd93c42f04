import type { HandlerDeps } from "../../handlers/contract/index.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { outcomeOf, type QueueOptions, recordMessage, recordOf } from "./queue.ts";
import type { Source } from "./source.ts";
import type { DeliveryRecord } from "./stored.ts";

/** Maximum redeliveries that run at the same time. */
const AT_ONCE = 16;

/** Finds a hook or a schedule. "unknown": the definition of the application cannot be read. */
type SourceOf = (orb: string, id: string) => Source | "unknown" | undefined;

/** Repeats the deliveries for which an operator has requested another attempt, once per request. */
export async function deliverAgain(
  deps: HandlerDeps,
  sourceOf: SourceOf,
  options: QueueOptions,
): Promise<void> {
  const asked = await deps.store.scan(streams.hooks, subjects.allHooksAgain, {
    fromSeq: 1,
    limit: AT_ONCE,
    maxBytes: READ_BYTES,
  });
  const open = asked.messages.filter(({ size }) => size > 0);
  await Promise.all(open.map((message) => again(deps, sourceOf, options, message)));
}

async function again(
  deps: HandlerDeps,
  sourceOf: SourceOf,
  { valid }: QueueOptions,
  message: StoredMessage,
): Promise<void> {
  const { store, clock } = deps;
  const [, , orb = "", hookId = "", number] = message.subject.split(".");
  const seq = Number(number);
  const done = { subject: message.subject, data: "", rollup: true, ttl: 1, expect: { seq: message.seq } };
  const source = sourceOf(orb, hookId);
  if (source === "unknown") return;
  const stored = source === undefined ? null : await store.getSeq(source.stream, seq);
  const revision = stored === null ? null : (source?.read(stored) ?? null);
  // The application, the hook or the revision no longer exists, so there is nothing to deliver. Mark the request as
  // done.
  if (revision === null) {
    await store.append(streams.hooks, done);
    return;
  }
  const subject = subjects.hookFailed(orb, hookId, seq);
  const before = await store.get(streams.hooks, subject);
  const attempts = (before?.size ? before.json<DeliveryRecord>().attempts : 0) + 1;
  if (!valid()) return;
  const { wanted, error } = await outcomeOf(revision, attempts);
  if (!wanted) {
    await store.append(streams.hooks, done);
    return;
  }
  const record = recordMessage(orb, hookId, recordOf(revision, seq, attempts, clock.now(), error));
  const gone = error === undefined && before !== null ? [{ subject, data: "", rollup: true, ttl: 1 }] : [];
  await store.batch(streams.hooks, [done, ...gone, record]);
}
