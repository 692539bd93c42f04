/** Types that all parts of the kit use. */
import type { Act } from "../../definition/document/acts.ts";
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

/** The methods of a NATS connection that the kit uses. */
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

export interface KitDescription {
  description: string;
  auth: HandlerAuth;
  /** Milliseconds that the platform waits for a response. */
  timeoutMs?: number;
  /** Acts that the handler requests: operations for its callers. */
  acts?: Act[];
  /** Subject to listen on. Default: `svc.<service>.<handler>`. */
  subject?: string;
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
