/**
 * The kit: a library for services in TypeScript. It registers handlers, validates input and output, and completes
 * pending requests before it stops. It works with connections of the npm packages `nats` and `nats.ws`, without
 * depending on either.
 */
import { type Check, compileJsonSchema, type JsonSchema } from "../schema/index.ts";
import { callApi } from "./kit-api.ts";
import { HttpResponder, type KitHttpHandler } from "./kit-http.ts";
import {
  type KitCall,
  type KitConnection,
  type KitDescription,
  type KitHeaders,
  type KitMessage,
  ServiceError,
} from "./kit-types.ts";
import { watchBroker } from "./kit-watch.ts";
import { ANSWER_LIMIT, type Caller, type HandlerCredential, SERVICES } from "./types.ts";

export { type KitCall, ServiceError } from "./kit-types.ts";

export interface KitHandler extends KitDescription {
  input?: JsonSchema;
  output?: JsonSchema;
  /** Returns a JSON value. Throw a {@link ServiceError} to reject the request. */
  handle(input: never, call: KitCall): unknown;
}

export interface KitOptions<H extends KitHeaders> {
  connection: KitConnection<H>;
  /** Creates empty message headers: pass the function `headers` of the NATS client. */
  headers: () => H;
  service: string;
  /** Handlers by name. A handler with the method `respond` receives whole HTTP requests. */
  handlers: Record<string, KitHandler | KitHttpHandler>;
  /** Called with each error that a handler throws. Callers do not see these errors. */
  onError?: (error: unknown, call: { handler: string; requestId: string | undefined }) => void;
}

export interface Service {
  readonly names: readonly string[];
  /**
   * Stops the service after it has completed its pending requests. Set `unregister` if the service will not start
   * again.
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

interface BoundHttp {
  name: string;
  handler: KitHttpHandler;
  responder: HttpResponder;
}

function bound(name: string, handler: KitHandler | KitHttpHandler): Bound | BoundHttp {
  if ("respond" in handler) return { name, handler, responder: new HttpResponder(name, handler) };
  const check = (part: "input" | "output") => {
    const schema = handler[part];
    if (schema === undefined) return undefined;
    const compiled = compileJsonSchema(schema);
    if (!Array.isArray(compiled)) return compiled;
    throw new Error(`${name}: the ${part} schema is not valid. Correct it: ${JSON.stringify(compiled)}`);
  };
  return { name, handler, input: check("input"), output: check("output") };
}

/** Starts a service. It subscribes before it registers, so that it misses no request. */
export async function serve<H extends KitHeaders>(options: KitOptions<H>): Promise<Service> {
  const { connection, service } = options;
  const all = Object.entries(options.handlers).map(([name, handler]) => bound(`${service}.${name}`, handler));
  const running = new Set<Promise<void>>();
  const listen = (each: Bound | BoundHttp, subject: string, queue?: string) =>
    connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
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
    });
  const subscriptions = all.map((each) => listen(each, subjectOf(each), service));
  // An HTTP request may take several messages. All of them must reach the same instance of the service, so these
  // subscriptions are in no queue group (a group in which any member may get a message).
  const parts = all.flatMap((each) =>
    "responder" in each ? [listen(each, `${subjectOf(each)}.${each.responder.instance}.*`)] : [],
  );
  await connection.flush();
  await Promise.all(all.map((each) => register(connection, each)));
  const unwatch = watchBroker(connection);
  return {
    names: all.map(({ name }) => name),
    async stop({ unregister = false } = {}) {
      unwatch();
      if (unregister) {
        const removed = options.headers();
        removed.set("KV-Operation", "DEL");
        await Promise.all(all.map(({ name }) => put(connection, name, "", removed)));
      }
      await Promise.all(subscriptions.map((subscription) => subscription.drain()));
      await Promise.all(running);
      await Promise.all(all.map((each) => ("responder" in each ? each.responder.finished() : undefined)));
      await Promise.all(parts.map((subscription) => subscription.drain()));
      await Promise.all(running);
      await connection.flush();
    },
  };
}

function subjectOf({ name, handler }: Bound | BoundHttp): string {
  return handler.subject ?? SERVICES + name;
}

/**
 * Registers a handler. Does nothing if the stored registration is the same, so that several instances do not write
 * again and again.
 */
async function register<H extends KitHeaders>(
  connection: KitConnection<H>,
  each: Bound | BoundHttp,
): Promise<void> {
  const { name, handler } = each;
  const { description, auth, timeoutMs, acts } = handler;
  const common = { name, description, auth, subject: subjectOf(each), timeoutMs, acts };
  const entry = JSON.stringify(
    "respond" in handler
      ? {
          ...common,
          kind: "http",
          paths: handler.paths,
          headers: handler.headers,
          maxBodyBytes: handler.maxBodyBytes,
        }
      : { ...common, kind: "nats", input: handler.input, output: handler.output },
  );
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
  each: Bound | BoundHttp,
  message: KitMessage<H>,
): Promise<void> {
  const requestId = message.headers?.get("X-Request-Id") || undefined;
  try {
    const result = "responder" in each ? respond(each, message, requestId) : run(each, message, requestId);
    const body = encoder.encode(JSON.stringify(await result) ?? "null");
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

/**
 * Handles a message of an HTTP request. The first message arrives on the handler's own subject. The following ones
 * arrive on longer subjects that begin with it.
 */
function respond(each: BoundHttp, { subject, data, headers }: KitMessage, requestId: string | undefined) {
  const { responder } = each;
  return subject === subjectOf(each)
    ? responder.begin(data, requestId, headers?.get("traceparent") || undefined)
    : responder.go(subject.slice(subject.lastIndexOf(".") + 1), data);
}

async function run(each: Bound, message: KitMessage, requestId: string | undefined): Promise<unknown> {
  const request = parsed(message.data);
  const { orbId, handler, input, caller, credential } = request;
  // The message is for another service's handler on the same subject. The platform has checked whether the caller may
  // use that handler, not this one.
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

function parsed(data: Uint8Array): KitRequest {
  try {
    const value = JSON.parse(decoder.decode(data)) as Partial<KitRequest> | null;
    if (typeof value?.orbId === "string" && typeof value.handler === "string") {
      const { orbId, handler, input, caller = null, credential } = value;
      return { orbId, handler, input, caller, credential };
    }
  } catch {
    // Not JSON: the error below reports it.
  }
  throw new ServiceError(400, "This message is not a platform request.");
}
