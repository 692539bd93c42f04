import type { HandlerActor, Role } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import type { Act } from "../../definition/document/index.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import type { JsonSchema } from "../schema/index.ts";
import type { Acting } from "./acting.ts";
import type { HttpPaths } from "./http-entry.ts";

export const HANDLER_AUTH = ["None", "AuthRequired", "AdminRequired"] as const;
export type HandlerAuth = (typeof HANDLER_AUTH)[number];

export const HANDLER_KINDS = ["local", "nats", "http"] as const;

/** Milliseconds for which the platform waits for the response of a service. */
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
  /**
   * Operations that the handler wants to perform on behalf of its callers. The application's definition must allow
   * them.
   */
  acts?: Act[];
}

/** The caller as services see it. Tokens and cookies are never passed on. */
export interface Caller {
  sub: string;
  /**
   * Built-in role of the caller. If the caller has a custom role, this is the built-in role that the custom role
   * extends.
   */
  role: Exclude<Role, "public">;
  /** Custom role of the caller, if the application's document defines one for it. */
  orbRole?: string;
}

/**
 * Lets a service act on behalf of its caller. The credential is in the body of a message, because traces of the broker
 * can contain headers.
 */
export interface HandlerCredential {
  /** Bearer token for the HTTP API. */
  token: string;
  acts: Act[];
  expiresAt: string;
  /** Base URL of the application's API: `https://…/api/{orbId}`. */
  url: string;
}

export interface LocalCall {
  deps: Deps;
  live: LiveOrb;
  principal: Principal;
  input: Record<string, unknown>;
  idempotencyKey?: string | undefined;
  /** Performs operations on behalf of the caller, but only those that the application allows. */
  acting: Acting;
}

/** A handler whose code is part of this process. */
export interface LocalHandler extends Described {
  kind: "local";
  input: JsonSchema;
  /**
   * The permission that another handler needs to call this handler on behalf of its caller. If missing, other handlers
   * cannot call this one.
   */
  act?: Act;
  run(call: LocalCall): Promise<unknown>;
}

/** A handler in another process, called over the message broker. */
export interface RemoteHandler extends Described {
  kind: "nats";
  subject: string;
  timeoutMs: number;
}

/** A handler in another process that receives whole HTTP requests over the message broker. */
export interface RemoteHttpHandler extends Described {
  kind: "http";
  subject: string;
  timeoutMs: number;
  /** Documented routes, relative to the handler's own path. The handler may serve other routes, too. */
  paths: HttpPaths;
  /** Names of request headers that the service receives in addition to the default ones, in lower case. */
  headers: string[];
  /** Maximum bytes of a request body. */
  maxBodyBytes: number;
}

/** A built-in handler that has its own HTTP routes. */
export interface HttpHandler extends Described {
  kind: "http";
  /** Documented routes. The handler may also serve other paths that begin with its name. */
  paths: string[];
  methods?: ("GET" | "POST" | "PUT" | "DELETE")[];
}

export type Handler = LocalHandler | RemoteHandler | HttpHandler | RemoteHttpHandler;

/** Returns whether the handler belongs to a service in another process. */
export function isRemote(handler: Handler): handler is RemoteHandler | RemoteHttpHandler {
  return "subject" in handler;
}

export interface HandlerDeps extends Deps {
  /** Handlers that are part of this process. They are passed in, because their code imports this folder. */
  builtIn: readonly Handler[];
  /** Creates the functions that let a handler in this process act on behalf of its caller. */
  actingFor: (deps: Deps, live: LiveOrb, actor: HandlerActor) => Acting;
}
