import type { Deps } from "../deps.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import { AppError, type ErrorKind, type Fault } from "../kernel/errors.ts";
import { tooDeep } from "../kernel/json.ts";
import type { Reply } from "../store/types.ts";
import {
  ANSWER_LIMIT,
  type Caller,
  type HandlerCredential,
  type RemoteHandler,
  requireUncaptured,
} from "./contract/index.ts";
import { compileJsonSchema } from "./schema/index.ts";

const MAX_WORDS = 500;

export interface RemoteRequest {
  orbId: string;
  handler: string;
  /** Id of the hook for which the platform makes the call. Missing if a client makes it. */
  hook?: string;
  /**
   * Schedule for which the platform makes the call, and the time at which the call was due. Missing if a client makes
   * the call.
   */
  schedule?: { id: string; at: string; delivery: { id: string; attempt: number } };
  input: unknown;
  caller: Caller | null;
  /** Present if the application allows at least one of the operations that the handler requests. */
  credential?: HandlerCredential;
}

const KINDS: Record<number, ErrorKind> = {
  400: "malformed",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  410: "gone",
  412: "precondition",
  413: "too_large",
  415: "unsupported_media",
  422: "invalid",
  429: "too_many",
};

/** The error with which a service rejected a call. The service chose its status and code. */
export class ServiceRefusal extends AppError {
  readonly status: number;

  constructor(status: number, code: string, detail: string, errors: Fault[] | undefined) {
    super(KINDS[status] ?? "malformed", code, detail, errors === undefined ? {} : { errors });
    this.status = status;
  }
}

/** The last known subject of each handler, which saves a round trip. It may be outdated: the registration decides. */
const lastSubjects = new BoundedMap<string, string>(1_000);

export interface SpeculativeCheck {
  subject: string;
  free: Promise<void>;
}

/**
 * Checks that no stream stores messages with the subject that the handler had at its last call. This runs while the
 * registration is being read, which saves a round trip.
 */
export function checkSpeculatively(deps: Pick<Deps, "store">, name: string): SpeculativeCheck | undefined {
  const subject = lastSubjects.get(name);
  if (subject === undefined) return undefined;
  const free = requireUncaptured(deps.store, subject);
  free.catch(() => undefined);
  return { subject, free };
}

export interface AskOptions {
  guess?: SpeculativeCheck | undefined;
  idempotencyKey?: string | undefined;
}

export async function askRemote(
  deps: Deps,
  handler: RemoteHandler,
  request: RemoteRequest,
  options: AskOptions = {},
): Promise<unknown> {
  const answer = await askFirst(deps, handler, request, options);
  checkOutput(deps, handler, answer);
  return answer;
}

/**
 * Sends the first message of a call. First checks that no stream stores messages with the service's subject, because
 * the broker's acknowledgement would look like a response.
 */
export async function askFirst(
  deps: Deps,
  service: Service,
  message: object,
  { guess, idempotencyKey }: AskOptions,
): Promise<unknown> {
  await (guess?.subject === service.subject ? guess.free : requireUncaptured(deps.store, service.subject));
  lastSubjects.set(service.name, service.subject);
  const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  return ask(deps, service, service.subject, message, headers);
}

/** The data needed to reach a service: its handler's name, its subject, and the response timeout. */
export type Service = Pick<RemoteHandler, "name" | "subject" | "timeoutMs">;

/** Sends one message and returns the reply as parsed JSON. */
export async function ask(
  deps: Deps,
  service: Service,
  subject: string,
  message: object,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const { requestId, traceparent } = deps.request;
  const all: Record<string, string> = {
    "X-Request-Id": requestId,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...headers,
  };
  const { timeoutMs } = service;
  const reply = await deps.store
    .request(subject, JSON.stringify(message), { timeoutMs, headers: all })
    .catch((error: unknown) => {
      // Errors of the broker have codes. Any other error means that the headers of the response could not be parsed.
      throw error instanceof AppError ? translated(service, error) : faulty(service);
    });
  return answerOf(deps, service, reply);
}

/** Matches headers in the form in which NATS clients send them. */
const WELL_FORMED = /^NATS\/1\.0[^\r\n]*\r\n(?:[!-9;-~]+:[^\r\n]*\r\n)*\r\n$/;

function faulty(handler: Service): AppError {
  return nonsense(handler, "The headers of the handler's response are malformed.");
}

function translated({ name, subject, timeoutMs }: Service, error: AppError): AppError {
  if (error.code === "no_responders") {
    return new AppError(
      "unavailable",
      "handler_unavailable",
      "The service of this handler is not running. Start it or try again later.",
      {
        retryAfter: 1,
        cause: `${name}: no subscriber on ${subject}`,
      },
    );
  }
  if (error.kind === "timeout") {
    return new AppError(
      "timeout",
      "handler_timeout",
      "The handler did not respond in time. Try again later.",
      {
        cause: `${name}: no response on ${subject} within ${timeoutMs} ms`,
      },
    );
  }
  return error;
}

/** Returns the error for a service's reply that does not have the documented form. */
export function nonsense({ name }: Service, detail: string): AppError {
  return new AppError("bad_gateway", "handler_answer_invalid", detail, { cause: name });
}

function answerOf(deps: Deps, handler: Service, reply: Reply): unknown {
  if (!WELL_FORMED.test(reply.headerText)) throw faulty(handler);
  const code = reply.header("Nats-Service-Error-Code");
  const words = reply.header("Nats-Service-Error");
  if (code !== undefined || words !== undefined) throw refusalOf(deps, handler, reply, code, words ?? "");
  if (reply.data.length > ANSWER_LIMIT) {
    throw nonsense(handler, `The handler's response is larger than ${ANSWER_LIMIT / 1024} KiB.`);
  }
  const answer = parsed(reply.data);
  if (answer === undefined)
    throw nonsense(handler, "The handler's response is not JSON, or is nested too deeply.");
  return answer;
}

function checkOutput(deps: Deps, handler: RemoteHandler, answer: unknown): void {
  if (handler.output === undefined) return;
  const check = compileJsonSchema(handler.output);
  const faults = Array.isArray(check) ? check : check(answer);
  if (faults.length === 0) return;
  deps.log.warn("handler output does not match its schema", {
    handler: handler.name,
    faults: faults.slice(0, 10).map(({ path, code }) => `${path} ${code}`),
  });
  throw nonsense(handler, "The handler's output does not match its schema.");
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Parses JSON. Returns undefined if the JSON is invalid or nested too deeply. */
function parsed(data: Uint8Array): unknown {
  try {
    const text = decoder.decode(data);
    return tooDeep(text) ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/**
 * Statuses that services must not use. A client would repeat its request after 408, 421 or 425, and browsers hide a
 * 407.
 */
export const OF_CONNECTIONS: ReadonlySet<number> = new Set([407, 408, 421, 425]);

function refusalOf(
  deps: Deps,
  handler: Service,
  reply: Reply,
  code: string | undefined,
  words: string,
): AppError {
  const status = code !== undefined && /^4\d\d$/.test(code) ? Number(code) : undefined;
  if (status === undefined || OF_CONNECTIONS.has(status)) {
    deps.log.warn("handler failed", { handler: handler.name, code: code?.slice(0, 20) });
    return new AppError(
      "bad_gateway",
      "handler_failed",
      "The handler failed. Look for the error in the log of its service.",
      { cause: handler.name },
    );
  }
  const refusal = reply.data.length > 0 && reply.data.length <= ANSWER_LIMIT ? parsed(reply.data) : undefined;
  const body =
    typeof refusal === "object" && refusal !== null ? (refusal as { code?: unknown; errors?: unknown }) : {};
  const known = typeof body.code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(body.code);
  const text = words.replace(/\p{C}+/gu, " ").slice(0, MAX_WORDS);
  return new ServiceRefusal(
    status,
    known ? String(body.code) : "handler_refused",
    text === "" ? "The handler rejected the request." : text,
    faultsOf(body.errors),
  );
}

/** Returns the validation errors that a service reported. Undefined if the reply contains none, or invalid ones. */
export function faultsOf(errors: unknown): Fault[] | undefined {
  if (!Array.isArray(errors)) return undefined;
  const faults = errors.slice(0, 100).flatMap((error: unknown): Fault[] => {
    if (typeof error !== "object" || error === null) return [];
    const { path, code, message } = error as Record<string, unknown>;
    if (typeof path !== "string" || typeof code !== "string" || typeof message !== "string") return [];
    return [{ path, code, message }];
  });
  return faults.length === 0 ? undefined : faults;
}
