/**
 * A small kit for services in TypeScript. It registers handlers, validates input and output, responds to requests, and
 * stops without losing one. It works with any connection of the npm packages `nats` and `nats.ws` and does not depend
 * on either.
 *
 * All instances of a service listen in one queue group and share the load.
 */
import type { Fault } from "../../kernel/errors.ts";
import { type Check, compileJsonSchema, type JsonSchema } from "../schema/json-schema.ts";
import { ANSWER_LIMIT, type Caller, type HandlerAuth, SERVICES } from "./types.ts";

/** Message headers of the client library. */
export interface KitHeaders {
  get(name: string): string;
  set(name: string, value: string): void;
}

/** A received message. */
export interface KitMessage<H extends KitHeaders = KitHeaders> {
  data: Uint8Array;
  headers?: H;
  respond(data?: Uint8Array, options?: { headers?: H }): boolean;
}

/** The parts of a connection that the kit uses. */
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

/** One call of a handler. */
export interface KitCall {
  orbId: string;
  /** `<service>.<handler>`. */
  handler: string;
  /** The caller; null for an anonymous one. */
  caller: Caller | null;
  requestId: string | undefined;
  /** W3C trace context. Pass it on to other services. */
  traceparent: string | undefined;
  /** The caller's Idempotency-Key. Use it to do a repeated request only once. */
  idempotencyKey: string | undefined;
}

/** A handler of a service. */
export interface KitHandler {
  description: string;
  auth: HandlerAuth;
  input?: JsonSchema;
  output?: JsonSchema;
  /** Milliseconds that the platform waits for a response (default 5,000, at most 30,000). */
  timeoutMs?: number;
  /** Subject to listen on. Default `svc.<service>.<handler>`. */
  subject?: string;
  /** Returns a JSON value. Throw a {@link ServiceError} to reject the request. */
  handle(input: never, call: KitCall): unknown;
}

/**
 * Rejects a call. Callers get codes from 400 to 499 as the HTTP status, except 407, 408, 421 and 425. All other codes
 * become 502.
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

/** Options of a service. */
export interface KitOptions<H extends KitHeaders> {
  connection: KitConnection<H>;
  /** Creates empty headers: the function `headers` of the client library. */
  headers: () => H;
  service: string;
  handlers: Record<string, KitHandler>;
  /** Receives errors inside a handler. Callers do not see them. */
  onError?: (error: unknown, call: { handler: string; requestId: string | undefined }) => void;
}

/** A running service. */
export interface Service {
  /** Full names of its handlers. */
  readonly names: readonly string[];
  /**
   * Accepts no new requests, finishes those in progress, and resolves. With `unregister` it also removes the handlers
   * from the registry. Use that to retire a service, not to restart it.
   */
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

/**
 * Starts a service. Subscribes before it registers, so that no request arrives too early.
 * @throws Error if a schema is invalid or the broker rejects the registration
 */
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
          // The response cannot be sent: the connection is gone, or the output is not JSON.
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

/** Writes the handler's registration unless it is up to date, so that instances do not overwrite each other. */
async function register<H extends KitHeaders>(connection: KitConnection<H>, each: Bound): Promise<void> {
  const { name, handler } = each;
  const { description, auth, input, output, timeoutMs } = handler;
  const subject = subjectOf(each);
  const entry = JSON.stringify({ name, description, auth, kind: "nats", subject, input, output, timeoutMs });
  const key = `$KV.handlers.${name}`;
  const now = await connection.request(`$JS.API.DIRECT.GET.KV_handlers.${key}`, new Uint8Array(0), {
    timeout: REGISTER_MS,
  });
  if (decoder.decode(now.data) !== entry) await put(connection, name, entry);
}

/** Puts a key of the bucket `handlers`. */
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

/** Responds to one request, also after an error. */
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
  const { orbId, handler, input, caller } = request;
  // Another service's registration names this subject. The platform has not checked whether the caller may call this
  // handler.
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
}

function parsed(data: Uint8Array): KitRequest {
  try {
    const value = JSON.parse(decoder.decode(data)) as Partial<KitRequest> | null;
    if (typeof value?.orbId === "string" && typeof value.handler === "string") {
      return { orbId: value.orbId, handler: value.handler, input: value.input, caller: value.caller ?? null };
    }
  } catch {
    // Reported below.
  }
  throw new ServiceError(400, "This message is not a platform request.");
}
