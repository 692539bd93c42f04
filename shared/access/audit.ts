/** The audit log records who did what and when. It contains no secrets and no user content. */
import type { Deps } from "../deps.ts";
import { streams, subjects } from "../store/subjects.ts";
import { type Actor, actorId, throughOf, tokenIdOf } from "./actor.ts";

export type AuditAction =
  | "bootstrap"
  | "signin"
  | "signout"
  | "register"
  | "invitation"
  | "recovery"
  | "passkey"
  | "token"
  | "identity"
  | "user"
  | "role"
  | "delete"
  | "reveal"
  | "settings"
  | "orb"
  | "entry"
  | "change"
  | "stream"
  | "handler";

export interface AuditEvent {
  /**
   * Realm (set of accounts) that the event concerns: `platform`, `auth` (shared accounts), or the id of an application.
   */
  realm: string;
  action: AuditAction;
  actor: Actor | { sub: string };
  /** Id of the affected object, never a secret. */
  target?: string | undefined;
  /** Whether the action succeeded or was refused. Default: `ok`. */
  outcome?: "ok" | "refused";
  /** A stable code that describes the action, or the reason why it was refused. */
  detail?: string | undefined;
}

export interface AuditRecord {
  v: 1;
  at: string;
  realm: string;
  action: string;
  actor: string;
  /** Name of the handler that acted on behalf of the actor. */
  through?: string | undefined;
  target: string | null;
  outcome: "ok" | "refused";
  detail: string | null;
  requestId: string;
  /** Client address as reported by the host. */
  client: string;
  /** Id of the API token that authenticated the actor, if any. */
  token?: string | undefined;
}

/** Appends one record, and resolves when the broker has stored it. */
export async function audit(deps: Deps, event: AuditEvent): Promise<void> {
  const { actor } = event;
  const through = "kind" in actor ? throughOf(actor) : undefined;
  const record: AuditRecord = {
    v: 1,
    at: new Date(deps.clock.now()).toISOString(),
    realm: event.realm,
    action: event.action,
    actor: "kind" in actor ? actorId(actor) : actor.sub,
    through,
    target: event.target ?? null,
    outcome: event.outcome ?? "ok",
    detail: event.detail ?? null,
    // If a handler acted, store the id of the request with which the user called the handler.
    requestId: "kind" in actor && actor.kind === "handler" ? actor.requestId : deps.request.requestId,
    client: deps.request.client,
    token: "kind" in actor ? tokenIdOf(actor) : undefined,
  };
  await deps.store.append(streams.platform, {
    subject: subjects.audit(event.realm, event.action),
    data: JSON.stringify(record),
  });
}
