/**
 * Finds out whether services are running, without calling them. The platform sends a message with the header
 * `Nats-Trace-Only`. The broker does not deliver it, but reports who would receive it.
 */
import type { Deps } from "../deps.ts";
import { randomToken } from "../kernel/ids.ts";
import { subjects } from "../store/subjects.ts";

const PATIENCE_MS = 1_000;
/** Kinds of connections that a trace report names: clients and leaf nodes. */
const CLIENT = 0;
const LEAF = 4;

interface TraceEvent {
  type: string;
  kind?: number;
  hop?: string;
  error?: string;
}

interface Trace {
  request?: { header?: Record<string, string[]> };
  hops?: number;
  events?: TraceEvent[];
}

/** Returns, for each subject, whether a service listens on it, or null if the broker does not respond in time. */
export async function respondingSubjects(
  deps: Pick<Deps, "store">,
  asked: readonly string[],
): Promise<Map<string, boolean | null>> {
  const answers = new Map<string, boolean | null>(asked.map((subject) => [subject, null]));
  if (answers.size === 0) return answers;
  const { store } = deps;
  const id = randomToken(12);
  const names = [...answers.keys()];
  const open = new Set(names.keys());
  /**
   * For each subject, the number of reports (traces) that are still missing. Each report tells how many other servers
   * will send one too.
   */
  const heard = names.map(() => ({ first: false, missing: 1 }));
  let done: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => {
    done = resolve;
  });
  const subscription = store.subscribe(subjects.probes(id), (message) => {
    const index = Number(message.subject.slice(message.subject.lastIndexOf(".") + 1));
    const name = names[index];
    if (name === undefined || !open.has(index)) return;
    const trace = read(message.data);
    const leaving = (trace.events ?? []).filter(({ type, error }) => type === "eg" && error === undefined);
    if (leaving.some(({ kind }) => kind === CLIENT || kind === LEAF)) {
      answers.set(name, true);
      open.delete(index);
    } else {
      const state = heard[index];
      if (state === undefined) return;
      state.missing += (trace.hops ?? 0) - 1;
      state.first ||= trace.request?.header?.["Nats-Trace-Hop"] === undefined;
      if (state.first && state.missing <= 0) {
        answers.set(name, false);
        open.delete(index);
      }
    }
    if (open.size === 0) done();
  });
  const timer = setTimeout(done, PATIENCE_MS);
  try {
    await store.ping();
    for (const [index, name] of names.entries()) {
      store.publish(name, "", {
        "Nats-Trace-Dest": subjects.probe(id, index),
        "Nats-Trace-Only": "true",
      });
    }
    await settled;
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
  return answers;
}

function read(data: Uint8Array): Trace {
  try {
    return JSON.parse(new TextDecoder().decode(data)) as Trace;
  } catch {
    return {};
  }
}
