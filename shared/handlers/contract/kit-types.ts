/** Types that all parts of the service kit use. */
import type { Act } from "../../definition/document/index.ts";
import type { Fault } from "../../kernel/errors.ts";
import type { Caller, HandlerAuth, HandlerCredential } from "./types.ts";

export interface KitHeaders {
  get(name: string): string;
  set(name: string, value: string): void;
}

export interface KitMessage<H extends KitHeaders = KitHeaders> {
  subject: string;
  data: Uint8Array;
  headers?: H;
  respond(data?: Uint8Array, options?: { headers?: H }): boolean;
}

/** The methods of a NATS connection that this library uses. The connections of different NATS packages have them. */
export interface KitConnection<H extends KitHeaders = KitHeaders> {
  subscribe(
    subject: string,
    options: { queue?: string; callback: (error: Error | null, message: KitMessage<H>) => void },
  ): { drain(): Promise<void> };
  request(
    subject: string,
    data: Uint8Array,
    options: { timeout: number; headers?: H },
  ): Promise<{ data: Uint8Array; headers?: H & { code: number } }>;
  flush(): Promise<void>;
  /** Leaves the broker, and connects to another one of the cluster. Older clients lack it. */
  reconnect?(): Promise<void>;
}

export interface KitCall {
  orbId: string;
  handler: string;
  /** Null if the caller is anonymous. */
  caller: Caller | null;
  requestId: string | undefined;
  /** W3C trace context. Pass it on in requests to other services. */
  traceparent: string | undefined;
  /**
   * Key that the caller sends again when it repeats a request. A handler can use the key to process the request only
   * once.
   */
  idempotencyKey: string | undefined;
  /**
   * Credential for the application's API. Undefined if the application does not allow the handler to do anything on
   * behalf of the caller.
   */
  credential: HandlerCredential | undefined;
  /**
   * Calls the application's API on behalf of the caller. Returns the parsed JSON of the response.
   * @param path relative to `/api/{orbId}`, such as `/call/record`
   * @throws ServiceError with the status and code of an error response. If the handler does not catch it, the caller
   *   receives it.
   */
  api(method: string, path: string, body?: unknown): Promise<unknown>;
}

export interface KitDescription {
  description: string;
  auth: HandlerAuth;
  /** Milliseconds for which the platform waits for the handler's response. */
  timeoutMs?: number;
  /**
   * Operations that the handler wants to perform on behalf of its callers. The application's definition must allow
   * them.
   */
  acts?: Act[];
  /** Subject on which the handler listens. Default: `svc.<service>.<handler>`. */
  subject?: string;
}

/**
 * Throw this error to reject a call. The caller receives statuses from 400 to 499, except 407, 408, 421 and 425. All
 * other statuses become 502.
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
