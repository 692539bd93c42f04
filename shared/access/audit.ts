/** The audit log: who did what, when, and whether it was let. No secret and no value that users wrote is in it. */
import type { Deps } from "../deps.ts";
import { streams, subjects } from "../store/subjects.ts";
import { type Actor, actorId } from "./actor.ts";

/** What is recorded. Each is one token of a subject. */
export type AuditAction =
  | "bootstrap"
  | "signin"
  | "signout"
  | "register"
  | "invitation"
  | "passkey"
  | "user"
  | "role"
  | "delete"
  | "reveal"
  | "orb"
  | "entry"
  | "stream";

/** What a verb tells; the rest is known. */
export interface AuditEvent {
  /** `platform`, `auth`, or an orb's id. */
  realm: string;
  action: AuditAction;
  actor: Actor | { sub: string };
  /** What it was done to: an id, never a secret. */
  target?: string | undefined;
  outcome: "ok" | "refused";
  /** A stable code: what exactly, or why it was refused. */
  detail?: string | undefined;
}

/** A record as it is stored and answered. */
export interface AuditRecord {
  v: 1;
  /** ISO 8601. */
  at: string;
  realm: string;
  action: string;
  actor: string;
  target: string | null;
  outcome: "ok" | "refused";
  detail: string | null;
  requestId: string;
  /** Client address as the host vouches for it. */
  client: string;
}

/** Appends one record; resolves when the broker has it. One request. */
export async function audit(deps: Deps, event: AuditEvent): Promise<void> {
  const record: AuditRecord = {
    v: 1,
    at: new Date(deps.clock.now()).toISOString(),
    realm: event.realm,
    action: event.action,
    actor: "kind" in event.actor ? actorId(event.actor) : event.actor.sub,
    target: event.target ?? null,
    outcome: event.outcome,
    detail: event.detail ?? null,
    requestId: deps.request.requestId,
    client: deps.request.client,
  };
  await deps.store.append(streams.platform, {
    subject: subjects.audit(event.realm, event.action),
    data: JSON.stringify(record),
  });
}
