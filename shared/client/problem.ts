import type { Entry } from "./types.ts";

/** One thing that is wrong with the input. */
export interface Fault {
  /** JSON Pointer into the body, or `/` and the name of a parameter. */
  path: string;
  code: string;
  /** Reads after the name of the property: `must be at least 5 characters long (is 3)`. */
  message: string;
}

/** An error that the platform responded with (RFC 9457). */
export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly status: number;
  /** Stable code to branch on. */
  readonly code: string;
  readonly errors: readonly Fault[];
  /** All members of the response, such as `state` or `referrers`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Find the request in the platform's log by this id. */
  readonly requestId: string | null;

  constructor(status: number, body: Readonly<Record<string, unknown>>, requestId: string | null) {
    super(
      typeof body.detail === "string" ? body.detail : `The platform responded with the status ${status}.`,
    );
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : `http_${status}`;
    this.errors = Array.isArray(body.errors) ? (body.errors as Fault[]) : [];
    this.body = body;
    this.requestId = requestId;
  }
}

/** Another writer changed the entry first. Merge `theirs` and `mine`, and update `theirs`. */
export class Conflict<V = unknown> extends Problem {
  override readonly name = "Conflict";
  /** The newest revision of the entry. */
  readonly theirs: Entry<V>;
  /** The values that the caller wanted to write. */
  readonly mine: Readonly<Record<string, unknown>>;

  constructor(problem: Problem, theirs: Entry<V>, mine: Readonly<Record<string, unknown>>) {
    super(problem.status, problem.body, problem.requestId);
    this.theirs = theirs;
    this.mine = mine;
  }
}

/** Returns whether an error is a problem, and has this code if one is given. */
export function isProblem<C extends string>(error: unknown, code?: C): error is Problem & { code: C } {
  return error instanceof Problem && (code === undefined || error.code === code);
}
