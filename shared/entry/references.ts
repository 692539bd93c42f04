/** References: what an entry may point to, and who points to it. */
import type { Actor } from "../access/actor.ts";
import { actorId } from "../access/actor.ts";
import { may, roleIn } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { AppError, type Fault } from "../errors.ts";
import type { CompiledField, CompiledSchema } from "../orb/compile.ts";
import { liveOrb } from "../orb/live.ts";
import type { Values } from "../orb/validate.ts";
import { leavesOf } from "../orb/values.ts";
import { isToken, streams, subjects } from "../store/subjects.ts";
import type { StoredMessage } from "../store/types.ts";
import type { Guard } from "./commit.ts";
import { addressIn, addressOf, loaded, type OrbContext, orNull, schemaOf } from "./resolve.ts";
import { effective, visible } from "./snapshot.ts";

/** One place of an entry's values that points to another entry. */
interface Pointer {
  field: CompiledField;
  id: string;
  path: string;
}

function pointersOf(schema: CompiledSchema, values: Readonly<Values>): Pointer[] {
  return schema.references.flatMap((field) =>
    leavesOf(field, values).flatMap(({ value, trail }) => {
      const path = `/values/${trail.join("/")}`;
      return Array.isArray(value)
        ? value.flatMap((id, index) =>
            typeof id === "string" ? [{ field, id, path: `${path}/${index}` }] : [],
          )
        : typeof value === "string"
          ? [{ field, id: value, path }]
          : [];
    }),
  );
}

/** Whether the actor made an entry. */
export function isOwn(actor: Actor, createdBy: string): boolean {
  return actor.kind === "orb" && actorId(actor) === createdBy;
}

/** What checking the targets found. */
export interface TargetCheck {
  faults: Fault[];
  /** Heads of targets in the same orb: they must not move before the commit. */
  guards: Guard[];
}

/**
 * Checks that every target exists and is the caller's to see; with `live`, that it is live too.
 * One request for the same orb; two more, side by side, for each other orb.
 * @param only checks these targets only: those that a write adds
 */
export async function checkTargets(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  self: string,
  values: Readonly<Values>,
  { live, only }: { live: boolean; only?: ReadonlySet<string> },
): Promise<TargetCheck> {
  const result: TargetCheck = { faults: [], guards: [] };
  const pointers = pointersOf(schema, values).filter(
    ({ field, id }) => id !== self && (only === undefined || only.has(`r.${field.name}.${id}`)),
  );
  const orbs = new Set(pointers.map(({ field }) => field.target?.orb ?? ""));
  await Promise.all(
    [...orbs].map(async (orb) => {
      const target = orb === context.orb ? context : await liveOrb(deps, orb);
      const mine = pointers.filter(({ field }) => field.target?.orb === orb);
      const subjectOf = new Map<Pointer, string>();
      for (const pointer of mine) {
        const to = pointer.field.target;
        const at = to === undefined ? undefined : target?.compiled.schema(to.module, to.schema);
        if (at !== undefined && isToken(pointer.id))
          subjectOf.set(pointer, subjects.entryLog(addressOf(at, pointer.id)));
      }
      const wanted = [...new Set(subjectOf.values())];
      const heads = wanted.length === 0 ? null : await orNull(deps.store.getMany(streams.orb(orb), wanted));
      const seen = new Set<string>();
      for (const pointer of mine) {
        const subject = subjectOf.get(pointer);
        const message = subject === undefined ? undefined : heads?.get(subject);
        const state = target === null ? "missing" : stateOf(deps, actor, target, message);
        if (state === "missing") {
          result.faults.push({
            path: pointer.path,
            code: "unknown_reference",
            message: `There is no such entry of ${pointer.field.definition.ref}.`,
          });
        } else if (live && state !== "live") {
          result.faults.push({
            path: pointer.path,
            code: "reference_not_live",
            message: "The entry that this refers to is not live.",
          });
        } else if (orb === context.orb && subject !== undefined && message !== undefined) {
          if (!seen.has(subject)) result.guards.push({ subject, seq: message.seq });
          seen.add(subject);
        }
      }
    }),
  );
  return result;
}

function stateOf(
  deps: Deps,
  actor: Actor,
  target: OrbContext,
  message: StoredMessage | undefined,
): "missing" | "draft" | "live" {
  const entry = loaded(message);
  if (entry === null || entry.head.status === "DELETED" || entry.head.status === "ARCHIVED") return "missing";
  const schema = schemaOf(target.compiled, entry.address);
  if (schema === undefined) return "missing";
  const role = roleIn(actor, target.orb, target.compiled);
  const on = { access: schema.access, own: isOwn(actor, entry.head.createdBy) };
  const isLive = visible(entry.head, deps.clock.now());
  if (isLive && may(role, "read", on)) return "live";
  if (!may(role, "readDraft", on)) return "missing";
  return isLive ? "live" : "draft";
}

/** An entry that refers to another one. */
export interface Referrer {
  module: string;
  schema: string;
  id: string;
  field: string;
}

/** How many referrers an answer names. */
const NAMED = 50;
const PAGE = 250;

/**
 * Entries of the same orb that refer to an entry, by their newest revision or by what is live.
 * Stops as soon as enough are known.
 */
export async function referrersOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
): Promise<{ any: boolean; readable: Referrer[] }> {
  const stream = streams.orb(context.orb);
  const out: { any: boolean; readable: Referrer[] } = { any: false, readable: [] };
  for (let fromSeq = 1; ; ) {
    const page = await orNull(
      deps.store.scan(stream, subjects.referrers(context.orb, id), { fromSeq, limit: PAGE }),
    );
    if (page === null) return out;
    // <orb>._ref.<target>.<type>.<schema>.<field>.<source>
    const found = page.messages
      .filter((message) => message.data.length > 0)
      .map((message) => message.subject.split("."))
      .map(([, , , type = "", schema = "", field = "", source = ""]) => ({ type, schema, field, source }))
      .filter(({ source }) => source !== id)
      .map((hint) => ({
        ...hint,
        log: subjects.entryLog({
          ...addressIn(`${context.orb}.${hint.type}.owner.${hint.schema}.${hint.source}`),
        }),
      }));
    const heads = await deps.store.getMany(stream, [...new Set(found.map(({ log }) => log))]);
    for (const { field, log } of found) {
      const entry = loaded(heads.get(log));
      if (entry === null || entry.head.status === "DELETED") continue;
      const head = effective(entry.head, deps.clock.now());
      const key = `r.${field}.${id}`;
      if (!head.claims.includes(key) && head.liveClaims?.includes(key) !== true) continue;
      out.any = true;
      const schema = schemaOf(context.compiled, entry.address);
      if (schema === undefined) continue;
      const role = roleIn(actor, context.orb, context.compiled);
      const on = { access: schema.access, own: isOwn(actor, head.createdBy) };
      const readable =
        may(role, "readDraft", on) || (may(role, "read", on) && visible(head, deps.clock.now()));
      if (readable) out.readable.push({ module: head.module, schema: head.schema, id: head.id, field });
    }
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined || out.readable.length >= NAMED) break;
    fromSeq = last.seq + 1;
  }
  out.readable = out.readable.slice(0, NAMED);
  return out;
}

/** 409 with the entries that refer to this one, as far as the caller may read them. */
export function referenced(referrers: readonly Referrer[]): AppError {
  return new AppError(
    "conflict",
    "referenced",
    "Other entries refer to this one. With force=true it is done all the same.",
    { data: { referrers } },
  );
}
