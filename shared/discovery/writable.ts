/**
 * Proves that the broker stores data. A broker with a full or failing disk still answers reads, so a health check that
 * only reads reports success.
 */
import type { Config, Deps } from "../deps.ts";
import { AppError, isSilence } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { streams, subjects } from "../store/subjects.ts";
import { Conflict, type Store, StreamMissing, SubjectFull } from "../store/types.ts";

/** All processes together prove one write in this many milliseconds, whatever the number of health checks. */
const EVERY_MS = 5_000;
/** Writes may fail for this many milliseconds, because a cluster that lost a broker elects a leader. */
const ELECTION_MS = 15_000;
/** Milliseconds to wait for the broker to store the message. */
const PATIENCE_MS = 2_000;
/** Milliseconds to wait for the program that started the broker. */
const ASK_MS = 500;
/** Larger than the files of a small atomic batch, so that the proof fails before the batches do. */
const PROOF = "0".repeat(64 * 1024);

interface Verdict {
  checkedAt: number;
  fault: string | undefined;
}

/** The last verdict of this process. Workers must not share promises between requests, so it holds results only. */
const verdicts = new WeakMap<Config, Verdict>();

const isRecent = (time: number, now: number, ms: number) => Math.abs(now - time) < ms;

/** Asks the program that started the broker, if there is one: it reads the broker's log and its free space. */
async function toldFault(store: Store): Promise<string | undefined> {
  try {
    const reply = await store.request(subjects.brokerFault, "", { timeoutMs: ASK_MS });
    return new TextDecoder().decode(reply.data) || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Stores a message, unless a process has stored one within the last seconds.
 * @returns why the broker stores no data; undefined if it does
 * @throws AppError unavailable or timeout if a broker does not answer
 */
export async function proveWrite(store: Store, now: number): Promise<string | undefined> {
  const subject = subjects.writeProof;
  const [told, last] = await Promise.all([
    toldFault(store),
    store.get(streams.limits, subject, { consistency: "stale" }),
  ]);
  if (told !== undefined) return told;
  if (last !== null && isRecent(last.time, now, EVERY_MS)) return undefined;
  const write = store.append(streams.limits, { subject, data: PROOF, expect: { seq: last?.seq ?? 0 } }).then(
    () => undefined,
    (error: unknown) => {
      // Another process proved the write at the same time.
      if (error instanceof Conflict || error instanceof SubjectFull) return undefined;
      if (error instanceof StreamMissing) throw error;
      return "the broker did not store a message";
    },
  );
  const late = pause(PATIENCE_MS).then(() => "the broker did not store a message in time");
  const fault = await Promise.race([write, late]);
  return last !== null && isRecent(last.time, now, ELECTION_MS) ? undefined : fault;
}

/** Returns why the broker stores no data; undefined if it does. The answer may be some seconds old. */
export async function writeFault(
  deps: Pick<Deps, "store" | "clock" | "config" | "readOnly">,
): Promise<string | undefined> {
  if (deps.readOnly === true) return undefined;
  const now = deps.clock.now();
  const known = verdicts.get(deps.config);
  if (known !== undefined) {
    if (isRecent(known.checkedAt, now, EVERY_MS)) return known.fault;
    // Other requests get the earlier verdict until this one is known.
    known.checkedAt = now;
  }
  const fault = await proveWrite(deps.store, now).catch((error: unknown) => {
    // The read can reach the one broker of a cluster that is frozen. That says nothing about the others.
    if (isSilence(error)) return known?.fault;
    throw error;
  });
  verdicts.set(deps.config, { checkedAt: now, fault });
  return fault;
}

/** @throws AppError writes_unavailable if the broker stores no data */
export async function requireWritable(deps: Parameters<typeof writeFault>[0]): Promise<void> {
  const fault = await writeFault(deps);
  if (fault === undefined) return;
  throw new AppError(
    "unavailable",
    "writes_unavailable",
    `The broker answers reads, but stores no data (${fault}). Its disk is full or fails. The operator must mend the disk.`,
    { retryAfter: 5, cause: fault },
  );
}
