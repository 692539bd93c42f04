import { z } from "zod";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../process/failure.ts";

/** Name of the file that says what a backup holds. */
export const MANIFEST = "manifest.json";

/** Begins the names of streams in which a restore tries snapshots. No backup holds one, and no subject of the platform leads to one. */
export const TRIAL = "restore-trial-";
/** Begins the name of a stream that exists while a restore replaces others: it tells their broker from any other. */
export const MARK = "restore-mark-";

/** Whether a stream is a restore's own, and not the platform's. */
export const isOfRestore = (name: string) => name.startsWith(TRIAL) || name.startsWith(MARK);

/** A stream's name as the broker allows it: nothing in it can lead out of a folder once it is percent-encoded. */
const STREAM_NAME = /^[^\s.*>/\\\p{C}]{1,255}$/u;

/** The file of a stream's snapshot. Its name follows from the stream's, so a manifest cannot name another file. */
export const snapshotFile = (stream: string) => `${encodeURIComponent(stream)}.snapshot`;

const streamSchema = z
  .object({
    name: z.string().regex(STREAM_NAME),
    file: z.string(),
    /** Of the file, hex. */
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: z.int().min(0),
    /** The stream's settings and state, as the broker takes them back. */
    config: z.looseObject({ name: z.string() }),
    state: z.looseObject({ messages: z.int().min(0), last_seq: z.int().min(0) }),
  })
  .refine(({ name, file }) => file === snapshotFile(name), "The file is not named after its stream.")
  .refine(({ name, config }) => config.name === name, "The settings are those of another stream.")
  .refine(({ name }) => !isOfRestore(name), "This stream is never part of a backup.");

/** Without these a platform has no history of orbs, or no accounts: the first visitor would become its admin. */
const REQUIRED = [streams.platform, streams.kv(buckets.platformAdmins), streams.kv(buckets.orbUsers)];

/** What a backup holds. */
export const manifestSchema = z.object({
  v: z.literal(1),
  /** When it was begun, ISO 8601. */
  at: z.string(),
  /** Version of the broker that it was taken from. */
  broker: z.string(),
  streams: z
    .array(streamSchema)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "A stream is listed twice.")
    .refine(
      (all) => REQUIRED.every((name) => all.some((stream) => stream.name === name)),
      `Every backup has these streams: ${REQUIRED.join(", ")}.`,
    ),
});
export type Manifest = z.infer<typeof manifestSchema>;
export type SavedStream = Manifest["streams"][number];

interface ApiAnswer {
  error?: { description: string };
  [member: string]: unknown;
}

/** Asks the broker's JetStream API. @throws Failure with the broker's own words: it is an operator who reads them */
export async function api(store: Store, subject: string, body: unknown): Promise<ApiAnswer> {
  const reply = await store.request(`$JS.API.${subject}`, body === undefined ? "" : JSON.stringify(body), {
    timeoutMs: 30_000,
  });
  const answer = JSON.parse(new TextDecoder().decode(reply.data)) as ApiAnswer;
  if (answer.error !== undefined) throw new Failure(`${subject}: ${answer.error.description}`);
  return answer;
}

/** The names of all streams but those of restores. */
export async function allStreams(store: Store): Promise<string[]> {
  return (await streamNames(store)).filter((name) => !isOfRestore(name));
}

/** The names of all streams that there are. The broker tells them page by page. */
export async function streamNames(store: Store): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const answer = await api(store, "STREAM.NAMES", { offset: names.length });
    const page = (answer.streams as string[] | null) ?? [];
    names.push(...page);
    if (page.length === 0 || names.length >= Number(answer.total)) return names.sort();
  }
}
