/**
 * `Idempotency-Key`: a claim in the same atomic act as the write, so that of any number of equal requests one writes
 * and all get its answer. The broker forgets it after 24 hours.
 */
import { type Actor, accountOf } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import { hmacs } from "./claims.ts";
import { orNull } from "./resolve.ts";
import { type EntrySnapshot, snapshotOf } from "./snapshot.ts";

const LIFETIME_SECONDS = 86_400;

/** What the caller sent: the key, and the route that it was sent to (method and path, ids included). */
export interface Idempotency {
  key: string;
  route: string;
}

/** A claim as it is stored. */
interface StoredClaim {
  v: 1;
  /** HMAC of the request: equal for the same request, and no help in guessing what it held. */
  body: string;
  /** How many messages after this one the answer lies: a snapshot of an entry, or a revision of an orb. */
  offset: number;
}

/** A claim to be made with a write. */
export interface IdempotencyClaim {
  subject: string;
  /** HMACs of the request, one under each key: the first is stored, each is known again. */
  bodies: readonly string[];
}

/** An answer that was given before. */
export interface Replay {
  snapshot: EntrySnapshot;
  seq: number;
  replayed: true;
}

/** JSON with sorted members: equal for equal values. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${members.join(",")}}`;
}

/** @returns the key, which is no longer than anybody needs. @throws AppError malformed `invalid_header` */
export function checkKey(key: string): string {
  if (key.length > 0 && key.length <= 255) return key;
  throw new AppError("malformed", "invalid_header", "An Idempotency-Key is 1 to 255 characters long.");
}

/**
 * The claim of a request; undefined when its caller sent no key.
 * @param subjectOf where claims are kept, by the hash of caller, route and key
 */
export async function claimOf(
  deps: Deps,
  actor: Actor,
  subjectOf: (hash: string) => string,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  if (sent === undefined) return undefined;
  const key = checkKey(sent.key);
  return {
    subject: subjectOf(await sha256(JSON.stringify([accountOf(actor), sent.route, key]))),
    bodies: await hmacs(deps.config, `idempotency/${canonical(request)}`),
  };
}

/** The claim of a request that writes an entry; undefined when its caller sent no key. */
export function idempotencyClaim(
  deps: Deps,
  actor: Actor,
  orb: string,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  return claimOf(deps, actor, (hash) => subjects.idempotency(orb, hash), sent, request);
}

/**
 * Where the answer lies to the request that made a claim before; null when there is none.
 * @throws AppError invalid `idempotency_mismatch` when the key was used for another request
 */
export function answeredAt(claim: IdempotencyClaim, message: StoredMessage | null): number | null {
  if (message === null || message.data.length === 0) return null;
  const { body, offset } = message.json<StoredClaim>();
  if (claim.bodies.includes(body)) return message.seq + offset;
  const detail = "This Idempotency-Key was used for another request.";
  throw new AppError("invalid", "idempotency_mismatch", detail);
}

/**
 * The answer that was given to the same request before; null when this is the first.
 * @throws AppError invalid `idempotency_mismatch` when the key was used for another request
 */
export async function replay(
  deps: Deps,
  orb: string,
  claim: IdempotencyClaim | undefined,
): Promise<Replay | null> {
  if (claim === undefined) return null;
  const seq = answeredAt(claim, await orNull(deps.store.get(streams.orb(orb), claim.subject)));
  if (seq === null) return null;
  const snapshot = snapshotOf(await deps.store.getSeq(streams.orb(orb), seq));
  if (snapshot === null) {
    // A broker that is stopping finds nothing any more: only one that answers this has looked.
    const info = await deps.store.streamInfo(streams.orb(orb));
    if (info === null || info.state.last_seq < seq) throw unavailable("the answer is not there yet");
    throw new AppError("gone", "answer_gone", "The answer to this Idempotency-Key was erased.");
  }
  return { snapshot, seq, replayed: true };
}

/** The claim's message. @param offset how many messages later in the batch the answer stands */
export function claimMessage(claim: IdempotencyClaim, offset: number): Append {
  const body: StoredClaim = { v: 1, body: claim.bodies[0] ?? "", offset };
  return { subject: claim.subject, data: JSON.stringify(body), expect: { seq: 0 }, ttl: LIFETIME_SECONDS };
}
