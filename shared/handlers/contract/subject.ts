import { AppError } from "../../kernel/errors.ts";
import type { Store } from "../../store/types.ts";
import { SERVICES } from "./types.ts";

const TOKEN = /^[^\s.*>\p{C}]+$/u;
const MAX_LENGTH = 255;

/**
 * Returns the reason why a service must not register a subject; undefined if it may. With another service's subject, it
 * would receive calls for which only the other service's access rules were checked.
 */
export function subjectFault(subject: string, service: string | undefined): string | undefined {
  if (subject.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters long`;
  if (!subject.split(".").every((part) => TOKEN.test(part))) {
    return "must be tokens joined by dots, without spaces and wildcards";
  }
  if (/^(\$|_|platform)/.test(subject)) return "must not begin with $, _ or platform";
  if (service !== undefined && subject.startsWith(SERVICES) && subject.split(".")[1] !== service) {
    return `must begin with ${SERVICES}${service}. because other subjects below ${SERVICES} belong to other services`;
  }
  return undefined;
}

/**
 * Returns the streams that store messages with these subjects. One request to the broker covers all subjects that begin
 * with the same part.
 */
export async function capturingStreams(
  store: Pick<Store, "streamNames">,
  subjects: readonly string[],
): Promise<Map<string, string>> {
  const spaces = Map.groupBy(new Set(subjects), (subject) => subject.replace(/\..*$/s, ".>"));
  const captured = new Map<string, string>();
  const ask = async (subject: string) => {
    const [stream] = await store.streamNames(subject);
    if (stream !== undefined) captured.set(subject, stream);
  };
  await Promise.all(
    [...spaces].map(async ([space, below]) => {
      if (below.length === 1) await Promise.all(below.map(ask));
      else if ((await store.streamNames(space)).length > 0) for (const subject of below) await ask(subject);
    }),
  );
  return captured;
}

/**
 * Rejects a subject whose messages a stream stores. The broker acknowledges each stored message, and the platform
 * would mistake the acknowledgement for the service's response.
 */
export async function requireUncaptured(store: Pick<Store, "streamNames">, subject: string): Promise<void> {
  const captured = await store.streamNames(subject);
  if (captured.length === 0) return;
  const words =
    "The handler cannot be called: a stream captures its subject. Register it on another subject.";
  throw new AppError("bad_gateway", "handler_faulty", words, { cause: `a stream captures ${subject}` });
}
