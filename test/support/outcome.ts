/** Results and errors of store calls, in a form that tests can compare between stores and between isolates. */
import { AppError } from "../../shared/kernel/errors.ts";
import { NoResponders } from "../../shared/store/broker/read.ts";
import type { Store } from "../../shared/store/types.ts";
import { Conflict, StreamMissing, SubjectFull, SubjectsTaken, TooMuch } from "../../shared/store/types.ts";

/** A call with its arguments. */
export interface Asked {
  call: keyof Store;
  args: unknown[];
}

/** The result or the error of a call, as JSON. */
export type Outcome = { answer: unknown } | { thrown: Record<string, unknown> };

/** Represents bytes in JSON, for {@link revive}. */
export const bytes = (...values: number[]) => ({ $bytes: values });

/** Restores bytes from their JSON form. */
export function revive(_: string, value: unknown): unknown {
  const given = (value as { $bytes?: number[] } | null)?.$bytes;
  return given === undefined ? value : Uint8Array.from(given);
}

/** One header of each kind: set by the publisher, an expectation, set by the broker, and a missing one. */
const HEADERS = [
  "Own",
  "KV-Operation",
  "Nats-TTL",
  "Nats-Expected-Stream",
  "Nats-Rollup",
  "Nats-Subject",
  "None",
];
const SHOWN = 30;

/** Returns all data of a value, including what the methods of messages, entries and replies return. */
function shown(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(([key, of]) => [key, shown(of)]);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  const of = value as Record<string, unknown>;
  const plain: Record<string, unknown> = {};
  for (const name of ["subject", "key", "seq", "revision", "time", "size", "pending", "lastSeq"])
    if (name in of) plain[name] = of[name];
  if (typeof of.text === "function") {
    const text = (of.text as () => string).call(of);
    plain.text = text.length > SHOWN ? `${text.slice(0, SHOWN)} (${text.length})` : text;
    plain.json = parsed(() => (of.json as () => unknown).call(of));
  }
  if (of.data instanceof Uint8Array) plain.bytes = [of.data.length, ...of.data.subarray(0, SHOWN)];
  if (typeof of.header === "function") {
    const header = (of.header as (name: string) => string | undefined).bind(of);
    plain.headers = HEADERS.map((name) => header(name) ?? null);
  }
  if (Array.isArray(of.messages)) plain.messages = of.messages.map(shown);
  return Object.keys(plain).length === 0 ? value : plain;
}

function parsed(read: () => unknown): unknown {
  try {
    const text = JSON.stringify(read());
    return text.length > SHOWN ? text.length : text;
  } catch (error) {
    return error instanceof Error ? error.name : "?";
  }
}

/** The store's error classes by name, because a bundle may rename classes. */
const ERRORS = { AppError, Conflict, NoResponders, StreamMissing, SubjectFull, SubjectsTaken, TooMuch };

function classOf(error: Error): string {
  const known = Object.entries(ERRORS).find(([, of]) => error instanceof of);
  return known?.[0] ?? error.name;
}

/** Calls a store and returns the outcome. */
export async function outcomeOf(store: Store, { call, args }: Asked): Promise<Outcome> {
  try {
    const method = store[call] as (...args: unknown[]) => Promise<unknown>;
    const answer = shown(await method.apply(store, args));
    return { answer: answer === undefined ? null : answer };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const thrown: Record<string, unknown> = { of: classOf(error), message: error.message };
    if (error instanceof StreamMissing) thrown.stream = error.stream;
    if (error instanceof AppError) {
      const { kind, code, detail, retryAfter, errors, data } = error;
      Object.assign(thrown, { kind, code, detail, retryAfter, errors, data });
      thrown.cause = error.cause === undefined ? undefined : String(error.cause);
    }
    return JSON.parse(JSON.stringify({ thrown })) as Outcome;
  }
}
