/** Decides on which subjects the platform may call a handler. */
import { AppError } from "../../kernel/errors.ts";
import type { Store } from "../../store/types.ts";
import { SERVICES } from "./types.ts";

const TOKEN = /^[^\s.*>\p{C}]+$/u;
const MAX_LENGTH = 255;

/**
 * Reason why a subject is not allowed; undefined if it is.
 * @param service the service in the registration's key. It must not name another service's subject, because the
 * platform would call that one with this one's access rules
 */
export function subjectFault(subject: string, service: string | undefined): string | undefined {
  if (subject.length > MAX_LENGTH) return `A subject has at most ${MAX_LENGTH} characters.`;
  if (!subject.split(".").every((part) => TOKEN.test(part))) {
    return "A subject is tokens joined by dots, without blanks and wildcards.";
  }
  if (/^(\$|_|platform)/.test(subject)) return "A subject does not begin with $, _ or platform.";
  if (service !== undefined && subject.startsWith(SERVICES) && subject.split(".")[1] !== service) {
    return `Below ${SERVICES} a service has ${SERVICES}${service}. alone.`;
  }
  return undefined;
}

/**
 * Tells which subjects a stream captures. One request for each first token, and further ones only below a token that a
 * stream takes anything of: services usually have `svc.` for all of theirs.
 * @returns the stream of each captured subject
 */
export async function capturedBy(
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
 * Rejects subjects that a stream captures: the stream's acknowledgement would look like the service's response, and the
 * stream would store the request. One request.
 * @throws AppError bad_gateway `handler_faulty`
 */
export async function requireFree(store: Pick<Store, "streamNames">, subject: string): Promise<void> {
  const captured = await store.streamNames(subject);
  if (captured.length === 0) return;
  const words = "The handler is registered on a subject that stores.";
  throw new AppError("bad_gateway", "handler_faulty", words, { cause: `${subject} is stored` });
}
