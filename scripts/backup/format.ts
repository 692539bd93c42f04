import type { Store } from "../../shared/store/types.ts";
import { Failure } from "../failure.ts";

/** Name of the file that says what a backup holds. */
export const MANIFEST = "manifest.json";

/** What a backup holds. */
export interface Manifest {
  v: 1;
  /** When it was begun, ISO 8601. */
  at: string;
  /** Version of the broker that it was taken from. */
  broker: string;
  streams: {
    name: string;
    file: string;
    /** Of the file, hex. */
    sha256: string;
    bytes: number;
    /** The stream's settings and state, as the broker takes them back. */
    config: Record<string, unknown>;
    state: { messages: number; last_seq: number; [member: string]: unknown };
  }[];
}

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

/** The names of all streams that there are. The broker tells them page by page. */
export async function allStreams(store: Store): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const answer = await api(store, "STREAM.NAMES", { offset: names.length });
    const page = (answer.streams as string[] | null) ?? [];
    names.push(...page);
    if (page.length === 0 || names.length >= Number(answer.total)) return names.sort();
  }
}
