import { z } from "zod";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";

export const MANIFEST = "manifest.json";

/** Name prefix of temporary streams that test a backup before a restore. */
export const TRIAL = "restore-trial-";
/**
 * Name prefix of a temporary stream. It marks the broker that is being restored, so that an interrupted restore is
 * never finished at another broker.
 */
export const MARK = "restore-mark-";

export const isOfRestore = (name: string) => name.startsWith(TRIAL) || name.startsWith(MARK);

/** Matches the stream names that the broker allows. After percent-encoding, such a name is a safe file name. */
const STREAM_NAME = /^[^\s.*>/\\\p{C}]{1,255}$/u;

/**
 * Returns the name of the file for a stream's snapshot. The name is not read from the manifest, because a forged
 * manifest could then name a file outside the backup.
 */
export const snapshotFile = (stream: string) => `${encodeURIComponent(stream)}.snapshot`;

const streamSchema = z
  .object({
    name: z.string().regex(STREAM_NAME),
    file: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: z.int().min(0),
    /** The stream's configuration and state, in the broker's format. */
    config: z.looseObject({ name: z.string() }),
    state: z.looseObject({ messages: z.int().min(0), last_seq: z.int().min(0) }),
  })
  .refine(({ name, file }) => file === snapshotFile(name), "The file name does not match the stream.")
  .refine(({ name, config }) => config.name === name, "The configuration is that of another stream.")
  .refine(
    ({ name }) => !isOfRestore(name),
    "This stream belongs to a restore and cannot be part of a backup.",
  );

/**
 * Streams that every backup must contain. They store the accounts, and without any account the first visitor becomes
 * a platform admin.
 */
const REQUIRED = [streams.platform, streams.kv(buckets.platformAdmins), streams.kv(buckets.orbUsers)];

export const manifestSchema = z.object({
  v: z.literal(1),
  /** Time at which the backup began, in ISO 8601. */
  at: z.string(),
  broker: z.string(),
  streams: z
    .array(streamSchema)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "A stream is listed twice.")
    .refine(
      (all) => REQUIRED.every((name) => all.some((stream) => stream.name === name)),
      `A backup must contain these streams: ${REQUIRED.join(", ")}.`,
    ),
});
export type Manifest = z.infer<typeof manifestSchema>;
export type SavedStream = Manifest["streams"][number];

interface ApiAnswer {
  error?: { description: string };
  [member: string]: unknown;
}

/**
 * Calls the broker's JetStream API. Errors contain the broker's own message. That is safe, because only operators see
 * them.
 */
export async function api(store: Store, subject: string, body: unknown): Promise<ApiAnswer> {
  const reply = await store.request(`$JS.API.${subject}`, body === undefined ? "" : JSON.stringify(body), {
    timeoutMs: 30_000,
  });
  const answer = JSON.parse(new TextDecoder().decode(reply.data)) as ApiAnswer;
  if (answer.error !== undefined) throw new Failure(`${subject}: ${answer.error.description}`);
  return answer;
}

export async function allStreams(store: Store): Promise<string[]> {
  return (await streamNames(store)).filter((name) => !isOfRestore(name));
}

export async function streamNames(store: Store): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const answer = await api(store, "STREAM.NAMES", { offset: names.length });
    const page = (answer.streams as string[] | null) ?? [];
    names.push(...page);
    if (page.length === 0 || names.length >= Number(answer.total)) return names.sort();
  }
}
