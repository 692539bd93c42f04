import type { HandlerActor, Role } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import type { Act } from "../../definition/document/acts.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { Acting } from "./acting.ts";
import type { HttpPaths } from "./http-entry.ts";

export const HANDLER_AUTH = ["None", "AuthRequired", "AdminRequired"] as const;
export type HandlerAuth = (typeof HANDLER_AUTH)[number];

export const HANDLER_KINDS = ["local", "nats", "http"] as const;

/** Milliseconds that the platform waits for the response of a service. */
export const TIMEOUT = { default: 5_000, min: 1, max: 30_000 } as const;

/** Prefix of the subjects of all services. In production, a service can subscribe only to its own subjects. */
export const SERVICES = "svc.";

/** Maximum bytes of a service's response. */
export const ANSWER_LIMIT = 1024 * 1024;

interface Described {
  name: string;
  description: string;
  auth: HandlerAuth;
  input?: JsonSchema;
  output?: JsonSchema;
  /** Acts that the handler requests: operations for its callers. An orb's document must grant them. */
  acts?: Act[];
}

/** The caller as services see it. Tokens and cookies are never passed on. */
export interface Caller {
  sub: string;
  /** Built-in role: the caller's own, or the one that its role of the orb extends. */
  role: Exclude<Role, "public">;
  /** Role of the orb's own that the caller has, if any. */
  orbRole?: string;
}

/** Lets a service act for its caller. The message's body holds it, because the broker can trace headers. */
export interface HandlerCredential {
  /** Bearer token of the HTTP API. */
  token: string;
  acts: Act[];
  /** ISO 8601. */
  expiresAt: string;
  /** Address of the orb's API: `https://…/api/{orbId}`. */
  url: string;
}

export interface LocalCall {
  deps: Deps;
  live: LiveOrb;
  principal: Principal;
  input: Record<string, unknown>;
  idempotencyKey?: string | undefined;
  /** Acts for the caller as far as the orb grants it. */
  acting: Acting;
}

/** A handler whose code is part of this process. */
export interface LocalHandler extends Described {
  kind: "local";
  input: JsonSchema;
  /** Act that another handler needs to call this one for its caller. If missing, no handler can. */
  act?: Act;
  run(call: LocalCall): Promise<unknown>;
}

/** A handler in another process, called over the message broker. */
export interface RemoteHandler extends Described {
  kind: "nats";
  subject: string;
  timeoutMs: number;
}

/** A handler in another process that gets whole HTTP requests over the message broker. */
export interface RemoteHttpHandler extends Described {
  kind: "http";
  subject: string;
  timeoutMs: number;
  /** Documented routes below the handler's own. The handler may serve more. */
  paths: HttpPaths;
  /** Further request headers that the service gets, in lower case. */
  headers: string[];
  /** Maximum bytes of a request's body. */
  maxBodyBytes: number;
}

/** A built-in handler with its own HTTP routes. */
export interface HttpHandler extends Described {
  kind: "http";
  /** Documented routes. The handler may serve more paths below its name. */
  paths: string[];
  methods?: ("GET" | "POST" | "PUT" | "DELETE")[];
}

export type Handler = LocalHandler | RemoteHandler | HttpHandler | RemoteHttpHandler;

/** Returns whether a service provides the handler. */
export function isRemote(handler: Handler): handler is RemoteHandler | RemoteHttpHandler {
  return "subject" in handler;
}

export interface HandlerDeps extends Deps {
  /** Built-in handlers. They are passed in, because they depend on this folder. */
  builtIn: readonly Handler[];
  /** Makes the functions with which a handler in this process acts for its caller. */
  actingFor: (deps: Deps, live: LiveOrb, actor: HandlerActor) => Acting;
}
