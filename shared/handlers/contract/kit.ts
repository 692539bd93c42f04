/**
 * A library for services in TypeScript. It registers handlers, validates input and output, and completes pending
 * requests before it stops.
 * It works with connections of the npm packages `nats` and `nats.ws` but depends on neither.
 */
import type { Act } from "../../definition/document/acts.ts";
import type { Fault } from "../../kernel/errors.ts";
import { type Check, compileJsonSchema, type JsonSchema } from "../schema/json-schema.ts";
import { ANSWER_LIMIT, type Caller, type HandlerAuth, type HandlerCredential, SERVICES } from "./types.ts";

export interface KitHeaders {
  get(name: string): string;
  set(name: string, value: string): void;
}

export interface KitMessage<H extends KitHeaders = KitHeaders> {
  data: Uint8Array;
  headers?: H;
  respond(data?: Uint8Array, options?: { headers?: H }): boolean;
}

/** The methods of a NATS connection that the kit uses. */
export interface KitConnection<H extends KitHeaders = KitHeaders> {
  subscribe(
    subject: string,
    options: { queue: string; callback: (error: Error | null, message: KitMessage<H>) => void },
  ): { drain(): Promise<void> };
  request(
    subject: string,
    data: Uint8Array,
    options: { timeout: number; headers?: H },
  ): Promise<{ data: Uint8Array; headers?: H & { code: number } }>;
  flush(): Promise<void>;
}

export interface KitCall {
  orbId: string;
  handler: string;
  /** Null for an anonymous caller. */
  caller: Caller | null;
  requestId: string | undefined;
  /** W3C trace context. Pass it on to other services. */
  traceparent: string | undefined;
  /** The caller's key for a repeated request. A handler can use it to execute the request only once. */
  idempotencyKey: string | undefined;
  /** Credential for the API. Undefined if the orb grants the handler no act. */
  credential: HandlerCredential | undefined;
  /**
   * Calls the orb's API as the caller, through this handler. Returns the JSON of the response.
   * @param path below `/api/{orbId}`, such as `/call/record`
   * @throws ServiceError with the status and the code of a rejection. If the handler lets it pass, it reaches the
   *   caller.
   */
  api(method: string, path: string, body?: unknown): Promise<unknown>;
}

export interface KitHandler {
  description: string;
  auth: HandlerAuth;
  input?: JsonSchema;
  output?: JsonSchema;
  /** Milliseconds that the platform waits for a response. */
  timeoutMs?: number;
  /** Acts that the handler requests: operations for its callers. */
  acts?: Act[];
  /** Subject to listen on. Default: `svc.<service>.<handler>`. */
  subject?: string;
  /** Returns a JSON value. Throw a {@link ServiceError} to reject the request. */
  handle(input: never, call: KitCall): unknown;
}

/**
 * Throw this error to reject a call. Statuses from 400 to 499 reach the caller, except 407, 408, 421 and 425. All
 * others become 502.
 */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly errors: Fault[] | undefined;

  constructor(status: number, message: string, more: { code?: string; errors?: Fault[] } = {}) {
    super(message);
    this.name = "ServiceError";
    this.status = status;
    this.code = more.code;
    this.errors = more.errors;
  }
}

export interface KitOptions<H extends KitHeaders> {
  connection: KitConnection<H>;
  /** Creates empty headers: the function `headers` of the NATS client. */
  headers: () => H;
  service: string;
  handlers: Record<string, KitHandler>;
  /** Receives errors that handlers throw. Callers do not see these errors. */
  onError?: (error: unknown, call: { handler: string; requestId: string | undefined }) => void;
}

export interface Service {
  readonly names: readonly string[];
  /** Completes pending requests first. Set `unregister` only to retire the service for good. */
  stop(options?: { unregister?: boolean }): Promise<void>;
}

const REGISTER_MS = 5_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Bound {
  name: string;
  handler: KitHandler;
  input: Check | undefined;
  output: Check | undefined;
}

function bound(name: string, handler: KitHandler): Bound {
  const check = (part: "input" | "output") => {
    const schema = handler[part];
    if (schema === undefined) return undefined;
    const compiled = compileJsonSchema(schema);
    if (!Array.isArray(compiled)) return compiled;
    throw new Error(`${name}: the ${part} schema is not valid. Correct it: ${JSON.stringify(compiled)}`);
  };
  return { name, handler, input: check("input"), output: check("output") };
}

/** Starts a service. It subscribes before it registers, so that no request arrives too early. */
export async function serve<H extends KitHeaders>(options: KitOptions<H>): Promise<Service> {
  const { connection, service } = options;
  const all = Object.entries(options.handlers).map(([name, handler]) => bound(`${service}.${name}`, handler));
  const running = new Set<Promise<void>>();
  const subscriptions = all.map((each) =>
    connection.subscribe(subjectOf(each), {
      queue: service,
      callback: (error, message) => {
        if (error !== null) return;
        const work: Promise<void> = answer(options, each, message)
          // The response could not be sent: the connection is lost, or the output is not JSON.
          .catch((failure: unknown) =>
            options.onError?.(failure, { handler: each.name, requestId: undefined }),
          )
          .finally(() => running.delete(work));
        running.add(work);
      },
    }),
  );
  await connection.flush();
  await Promise.all(all.map((each) => register(connection, each)));
  return {
    names: all.map(({ name }) => name),
    async stop({ unregister = false } = {}) {
      if (unregister) {
        const removed = options.headers();
        removed.set("KV-Operation", "DEL");
        await Promise.all(all.map(({ name }) => put(connection, name, "", removed)));
      }
      await Promise.all(subscriptions.map((subscription) => subscription.drain()));
      await Promise.all(running);
      await connection.flush();
    },
  };
}

function subjectOf({ name, handler }: Bound): string {
  return handler.subject ?? SERVICES + name;
}

/** Registers a handler. Skips a registration that is up to date, so that instances do not overwrite each other. */
async function register<H extends KitHeaders>(connection: KitConnection<H>, each: Bound): Promise<void> {
  const { name, handler } = each;
  const { description, auth, input, output, timeoutMs, acts } = handler;
  const subject = subjectOf(each);
  const told = { name, description, auth, kind: "nats", subject, input, output, timeoutMs, acts };
  const entry = JSON.stringify(told);
  const key = `$KV.handlers.${name}`;
  const now = await connection.request(`$JS.API.DIRECT.GET.KV_handlers.${key}`, new Uint8Array(0), {
    timeout: REGISTER_MS,
  });
  if (decoder.decode(now.data) !== entry) await put(connection, name, entry);
}

async function put<H extends KitHeaders>(
  connection: KitConnection<H>,
  name: string,
  entry: string,
  headers?: H,
): Promise<void> {
  const reply = await connection.request(`$KV.handlers.${name}`, encoder.encode(entry), {
    timeout: REGISTER_MS,
    ...(headers === undefined ? {} : { headers }),
  });
  const stored = JSON.parse(decoder.decode(reply.data)) as { error?: { description: string } };
  if (stored.error !== undefined)
    throw new Error(`${name} could not be registered: ${stored.error.description}`);
}

async function answer<H extends KitHeaders>(
  options: KitOptions<H>,
  each: Bound,
  message: KitMessage<H>,
): Promise<void> {
  const requestId = message.headers?.get("X-Request-Id") || undefined;
  try {
    const body = encoder.encode(JSON.stringify(await run(each, message, requestId)) ?? "null");
    if (body.length > ANSWER_LIMIT)
      throw new Error(`the response has ${body.length} bytes, more than the limit of ${ANSWER_LIMIT}`);
    message.respond(body);
  } catch (error) {
    const refusal = error instanceof ServiceError ? error : new ServiceError(500, "internal error");
    if (refusal !== error) options.onError?.(error, { handler: each.name, requestId });
    const headers = options.headers();
    headers.set("Nats-Service-Error-Code", String(refusal.status));
    headers.set("Nats-Service-Error", refusal.message.replace(/[\r\n]+/g, " "));
    const { code, errors } = refusal;
    message.respond(encoder.encode(JSON.stringify({ code, errors })), { headers });
  }
}

async function run(each: Bound, message: KitMessage, requestId: string | undefined): Promise<unknown> {
  const request = parsed(message.data);
  const { orbId, handler, input, caller, credential } = request;
  // Another service registered the same subject, so the platform has not checked access to this handler.
  if (handler !== each.name) throw new ServiceError(404, "No such handler listens on this subject.");
  const faults = each.input?.(input) ?? [];
  if (faults.length > 0) {
    throw new ServiceError(422, "The input is not valid.", { code: "validation_failed", errors: faults });
  }
  const traceparent = message.headers?.get("traceparent") || undefined;
  const idempotencyKey = message.headers?.get("Idempotency-Key") || undefined;
  const result = await each.handler.handle(input as never, {
    orbId,
    handler,
    caller,
    requestId,
    traceparent,
    idempotencyKey,
    credential,
    api: (method, path, body) => callApi({ credential, requestId, traceparent }, method, path, body),
  });
  const wrong = each.output?.(result ?? null) ?? [];
  if (wrong.length > 0)
    throw new Error(`the output does not match the output schema: ${JSON.stringify(wrong)}`);
  return result;
}

interface KitRequest {
  orbId: string;
  handler: string;
  input: unknown;
  caller: Caller | null;
  credential: HandlerCredential | undefined;
}

async function callApi(
  { credential, requestId, traceparent }: Pick<KitCall, "credential" | "requestId" | "traceparent">,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  if (credential === undefined)
    throw new Error("the orb grants this handler nothing. Grant acts in uses of its document.");
  const response = await fetch(`${credential.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${credential.token}`,
      ...(requestId === undefined ? {} : { "X-Request-Id": requestId }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = response.status === 204 ? undefined : await response.json();
  if (response.ok) return answer;
  const { detail = `The platform answered ${response.status}.`, code, errors } = answer as Problem;
  throw new ServiceError(response.status, detail, {
    ...(code === undefined ? {} : { code }),
    ...(errors === undefined ? {} : { errors }),
  });
}

interface Problem {
  detail?: string;
  code?: string;
  errors?: Fault[];
}

function parsed(data: Uint8Array): KitRequest {
  try {
    const value = JSON.parse(decoder.decode(data)) as Partial<KitRequest> | null;
    if (typeof value?.orbId === "string" && typeof value.handler === "string") {
      const { orbId, handler, input, caller = null, credential } = value;
      return { orbId, handler, input, caller, credential };
    }
  } catch {
    // The error below reports it.
  }
  throw new ServiceError(400, "This message is not a platform request.");
}
