import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../shared/kernel/errors.ts";
import { type RetryPolicy, retry } from "../../shared/kernel/retry.ts";
import { orbOf, RESTORED, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";
import { api, isOfRestore, type SavedStream, streamNames, TRIAL } from "./format.ts";

/** Maximum bytes of one piece of a snapshot that is sent to the broker. This is the limit of the broker. */
const PIECE = 128 * 1024;

/** Maximum milliseconds until the cluster accepts pieces of the snapshot. */
const LISTENING_MS = 5_000;

/**
 * Sends one piece of a snapshot. Retries, because the other servers of a cluster may not know for a moment which
 * server receives the stream.
 */
async function piece(store: Store, subject: string, data: Uint8Array) {
  for (const deadline = Date.now() + LISTENING_MS; ; await delay(50)) {
    try {
      return await store.request(subject, data, { timeoutMs: 60_000 });
    } catch (error) {
      const unheard = error instanceof AppError && error.code === "no_responders";
      if (!unheard || Date.now() > deadline) throw error;
    }
  }
}

async function send(store: Store, path: string, subject: string): Promise<void> {
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(PIECE);
    for (;;) {
      const length = readSync(file, buffer, 0, PIECE, null);
      const reply = await piece(store, subject, buffer.slice(0, length));
      const text = new TextDecoder().decode(reply.data);
      if (text !== "") {
        const answer = JSON.parse(text) as { error?: { description: string } };
        if (answer.error !== undefined) throw new Failure(answer.error.description);
      }
      if (length === 0) return;
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Restores a snapshot as a new stream.
 * @returns the number of messages
 */
async function put(
  store: Store,
  folder: string,
  { file, state }: SavedStream,
  config: { name: string; [member: string]: unknown },
): Promise<number> {
  const answer = await api(store, `STREAM.RESTORE.${config.name}`, { config, state });
  await send(store, join(folder, file), String(answer.deliver_subject));
  const info = await store.streamInfo(config.name);
  // The restored stream is complete if its last sequence number is not lower than the snapshot's. The number of
  // messages proves nothing: some may have expired, and the broker's scheduler may have added new ones.
  if (info === null || info.state.last_seq < state.last_seq) throw new Failure("it came back incomplete");
  return info.state.messages;
}

/**
 * Tells hosts that the stream of an application was restored, so that they forget what they have cached. They compare
 * the streams with their caches only every few seconds, and would answer with earlier data until then.
 */
async function announce(store: Store, stream: string): Promise<void> {
  const orb = orbOf(stream);
  if (orb === undefined) return;
  const subject = subjects.guard(orb, "restore", 0);
  await store.append(stream, { subject, data: "", ttl: 1, headers: { [RESTORED]: "1" } });
}

const AFTER_FAILURE: RetryPolicy = {
  attempts: 10,
  after: (error) => error instanceof Failure,
  pauseMs: () => 200,
};

/**
 * Restores a stream. Retries after a failure: about 2% of the attempts fail, because the broker is still deleting the
 * old files, or because a concurrent write has created the stream again.
 */
export async function restoreStream(
  store: Store,
  folder: string,
  stream: SavedStream,
  replicas: number,
): Promise<number> {
  return retry(AFTER_FAILURE, async () => {
    await store.deleteStream(stream.name);
    const messages = await put(store, folder, stream, { ...stream.config, num_replicas: replicas });
    await announce(store, stream.name);
    return messages;
  });
}

export async function removeTrialStreams(store: Store): Promise<void> {
  for (const name of await streamNames(store)) if (isOfRestore(name)) await store.deleteStream(name);
}

/**
 * Tests a snapshot by restoring it under a temporary name. Each test uses another name, because the broker may reject
 * a name that was just deleted.
 */
export async function trialRestore(store: Store, folder: string, stream: SavedStream): Promise<void> {
  const name = TRIAL + crypto.randomUUID();
  const {
    republish: _1,
    sources: _2,
    mirror: _3,
    subject_transform: _4,
    placement: _5,
    ...kept
  } = stream.config;
  const quiet = { max_age: 0, allow_msg_ttl: false, allow_msg_schedules: false, num_replicas: 1 };
  try {
    await put(store, folder, stream, { ...kept, ...quiet, name, subjects: [`_${name}.>`] });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(`The snapshot of ${stream.name} cannot be restored: ${error.message}`);
  } finally {
    await store.deleteStream(name);
  }
}
