/** Types of handlers. */
import type { Actor, Role } from "../../access/actor.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

export const HANDLER_AUTH = ["None", "AuthRequired", "AdminRequired"] as const;
/** Required sign-in: none, any user of the orb's realm, or its admins and owners. */
export type HandlerAuth = (typeof HANDLER_AUTH)[number];

export const HANDLER_KINDS = ["local", "nats", "http"] as const;

/** Time limit of a remote handler in milliseconds: default, and allowed range. */
export const TIMEOUT = { default: 5_000, min: 1, max: 30_000 } as const;

/**
 * Prefix of the services' subjects. Each service has its own subjects below it. In production its broker user can
 * subscribe to no others.
 */
export const SERVICES = "svc.";

/** Maximum bytes of a remote handler's response. */
export const ANSWER_LIMIT = 1024 * 1024;

interface Described {
  /** `<service>.<handler>`. */
  name: string;
  description: string;
  auth: HandlerAuth;
  input?: JsonSchema;
  output?: JsonSchema;
}

/** The caller, as passed to a handler. Tokens and cookies are never passed on. */
export interface Caller {
  sub: string;
  role: Exclude<Role, "public">;
}

/** A call of a handler in this process, with validated input. */
export interface LocalCall {
  deps: Deps;
  live: LiveOrb;
  actor: Actor;
  role: Role;
  input: Record<string, unknown>;
  /** The caller's `Idempotency-Key`. */
  idempotencyKey?: string | undefined;
}

/** A handler in this process. */
export interface LocalHandler extends Described {
  kind: "local";
  input: JsonSchema;
  run(call: LocalCall): Promise<unknown>;
}

/** A service that answers requests on a broker subject. */
export interface RemoteHandler extends Described {
  kind: "nats";
  subject: string;
  timeoutMs: number;
}

/** A handler with HTTP routes of its own, served by functions/. */
export interface HttpHandler extends Described {
  kind: "http";
  /** The described routes below /api/{orbId}. The handler also gets requests to undescribed routes below its name. */
  paths: string[];
  /** Methods of the described routes, GET by default. The handler also gets requests with other methods. */
  methods?: ("GET" | "POST" | "PUT" | "DELETE")[];
}

export type Handler = LocalHandler | RemoteHandler | HttpHandler;

/** Dependencies of verbs that look up handlers. */
export interface HandlerDeps extends Deps {
  /** Built-in handlers. They import the rules of entries, so the registry must not import them. */
  builtIn: readonly Handler[];
}
