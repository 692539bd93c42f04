import type { Entry } from "./types.ts";

/** One error in the input. */
export interface Fault {
  /** JSON Pointer to the faulty value in the body, or `/` and the name of a parameter. */
  path: string;
  code: string;
  /** Text to show after the property's name: `must be at least 5 characters long (is 3)`. */
  message: string;
}

function isFault(value: unknown): value is Fault {
  return (
    typeof value === "object" &&
    value !== null &&
    ["path", "code", "message"].every((name) => typeof Reflect.get(value, name) === "string")
  );
}

/** An error response of the platform (RFC 9457). */
export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly status: number;
  /** Stable error code. Use it to distinguish errors in a program. */
  readonly code: string;
  readonly errors: readonly Fault[];
  /** All members of the response body, such as `state` or `referrers`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Id of the request in the platform's log. */
  readonly requestId: string | null;
  /** Seconds after which the request may succeed, if the platform says so. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    body: Readonly<Record<string, unknown>>,
    requestId: string | null,
    retryAfter?: number,
  ) {
    super(
      typeof body.detail === "string" ? body.detail : `The platform responded with the status ${status}.`,
    );
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : `http_${status}`;
    this.errors = Array.isArray(body.errors) ? body.errors.filter(isFault) : [];
    this.body = body;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/**
 * Another client changed the entry first. To resolve the conflict, apply your changes (`mine`) to the newest revision
 * (`theirs`), and update `theirs`.
 */
export class Conflict<V = unknown> extends Problem {
  override readonly name = "Conflict";
  /** The newest revision of the entry. */
  readonly theirs: Entry<V>;
  /** The changes that this client tried to write. */
  readonly mine: Readonly<Record<string, unknown>>;

  constructor(problem: Problem, theirs: Entry<V>, mine: Readonly<Record<string, unknown>>) {
    super(problem.status, problem.body, problem.requestId);
    this.theirs = theirs;
    this.mine = mine;
  }
}

/** Returns whether an error is a {@link Problem}. If a code is given, the error must also have this code. */
export function isProblem<C extends string>(error: unknown, code?: C): error is Problem & { code: C } {
  return error instanceof Problem && (code === undefined || error.code === code);
}
