/** Decides on which subjects the platform may call a handler. */
import { AppError } from "../errors.ts";
import type { Store } from "../store/types.ts";

const TOKEN = /^[^\s.*>\p{C}]+$/u;
const MAX_LENGTH = 255;

/** Prefix of services' subjects. In production each service has a user that can only listen below its own name. */
const SERVICES = "svc.";

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
