/** Which subjects a handler may be asked on. */
import { AppError } from "../errors.ts";
import type { Store } from "../store/types.ts";

const TOKEN = /^[^\s.*>\p{C}]+$/u;
const MAX_LENGTH = 255;

/** What is wrong with a subject by its looks; undefined when nothing is. */
export function subjectFault(subject: string): string | undefined {
  if (subject.length > MAX_LENGTH) return `A subject has at most ${MAX_LENGTH} characters.`;
  if (!subject.split(".").every((part) => TOKEN.test(part))) {
    return "A subject is tokens joined by dots, without blanks and wildcards.";
  }
  if (/^(\$|_|platform)/.test(subject)) return "A subject does not begin with $, _ or platform.";
  return undefined;
}

/**
 * Refuses subjects that a stream captures: the stream's acknowledgement would be taken for the service's answer, and
 * what is asked would be stored. One request.
 * @throws AppError bad_gateway `handler_faulty`
 */
export async function requireFree(store: Pick<Store, "streamNames">, subject: string): Promise<void> {
  const captured = await store.streamNames(subject);
  if (captured.length === 0) return;
  const words = "The handler is registered on a subject that stores.";
  throw new AppError("bad_gateway", "handler_faulty", words, { cause: `${subject} is stored` });
}
