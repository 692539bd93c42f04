/** What a handler is: how it is told of, and for those that live here, what it does. */
import type { Actor, Role } from "../../access/actor.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

export const HANDLER_AUTH = ["None", "AuthRequired", "AdminRequired"] as const;
/** Who may call: anybody, whoever is signed in to the orb's realm, or its admins and owners. */
export type HandlerAuth = (typeof HANDLER_AUTH)[number];

export const HANDLER_KINDS = ["local", "nats", "http"] as const;

/** How long a remote handler may take when its entry says nothing, and at most; in milliseconds. */
export const TIMEOUT = { default: 5_000, min: 1, max: 30_000 } as const;

/** Below it each service has subjects of its own, and in production a user that hears nothing else. */
export const SERVICES = "svc.";

/** Most bytes of a remote handler's answer. */
export const ANSWER_LIMIT = 1024 * 1024;

interface Described {
  /** `<service>.<handler>`. */
  name: string;
  description: string;
  auth: HandlerAuth;
  input?: JsonSchema;
  output?: JsonSchema;
}

/** Who calls, as far as a handler is told. A token or a cookie is never passed on. */
export interface Caller {
  sub: string;
  role: Exclude<Role, "public">;
}

/** One call of a handler that lives in this process. The input has been checked. */
export interface LocalCall {
  deps: Deps;
  live: LiveOrb;
  actor: Actor;
  role: Role;
  input: Record<string, unknown>;
  /** What the caller sent as `Idempotency-Key`. */
  idempotencyKey?: string | undefined;
}

/** In this process. */
export interface LocalHandler extends Described {
  kind: "local";
  input: JsonSchema;
  run(call: LocalCall): Promise<unknown>;
}

/** A service that answers requests on a subject of the broker. */
export interface RemoteHandler extends Described {
  kind: "nats";
  subject: string;
  timeoutMs: number;
}

/** Gets the request itself and answers a response: routes of its own, served by functions/. */
export interface HttpHandler extends Described {
  kind: "http";
  /** Its routes below /api/{orbId}, as they are described; what lies below its name comes to it whatever they say. */
  paths: string[];
  /** Methods that these are described with, GET when left out; others come to it too. */
  methods?: ("GET" | "POST" | "PUT" | "DELETE")[];
}

export type Handler = LocalHandler | RemoteHandler | HttpHandler;

/** The dependencies of verbs that look handlers up. */
export interface HandlerDeps extends Deps {
  /** The platform's own handlers. They import the rules of entries, so the registry must not import them. */
  builtIn: readonly Handler[];
}
