import { type Actor, actorId, writerOf } from "../../access/actor.ts";
import { type Principal, principalIn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { schemaToken } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, invalid, notFound } from "../../kernel/errors.ts";
import { joinNames } from "../../kernel/faults.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { counted } from "../../quotas/write.ts";
import { publishMessages, withReservations } from "../index/index.ts";
import {
  addressOf,
  type EntrySnapshot,
  type EntryWrite,
  type Idempotency,
  type IdempotencyClaim,
  idempotencyClaim,
  type OrbContext,
  type Origin,
  refuseRecords,
  replay,
  withStoredNames,
} from "../model/index.ts";
import type { PinnedItems, PinnedRequest, Shaping } from "../pinned/index.ts";
import { type Admitted, admitted, readWindow, type Sender, windowFaults } from "../values/index.ts";
import { newestIn, type Plan, type Written } from "./change.ts";
import { commit, type Destination } from "./commit.ts";
import { hooked } from "./hooked.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { renewDefinition, retryOnConflict } from "./retry.ts";

export interface NewEntry {
  module: string;
  /** Id of the entry's schema. Optional if the module has exactly one schema. */
  schema?: string | undefined;
  values: unknown;
  /** Time from which the entry is visible: ISO 8601, or null for no limit. */
  validFrom?: unknown;
  validTo?: unknown;
  publish?: boolean | undefined;
  /** Language of the translatable values, if they are given in one language only. */
  locale?: string | undefined;
  /** Market of the market-specific values, if they are given for one market only. */
  market?: string | undefined;
  /** Set if `values` have the shape of an earlier revision of the definition. */
  shaping?: Shaping | undefined;
  /** Where an imported entry comes from. The caller must check the right to import. */
  origin?: Origin | undefined;
}

export interface CreateInput extends NewEntry {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  idempotency?: Idempotency | undefined;
  renew?: (() => Promise<OrbContext>) | undefined;
  /** Where the write goes instead of the entry. */
  into?: Destination | undefined;
}

export function schemaFor(context: OrbContext, module: string, schema: string | undefined): CompiledSchema {
  const found = context.compiled.schema(module, schema);
  if (found !== undefined) {
    refuseRecords(found.subjectType);
    if (found.subjectType === "settings") throw settingsOnly();
    return found;
  }
  const { modules } = context.compiled;
  const schemas = modules.get(module)?.schemas;
  if (schemas === undefined) {
    const message = `must be a module of the orb: ${joinNames([...modules.keys()])}`;
    throw invalid([{ path: "/module", code: "unknown_module", message }]);
  }
  const names = joinNames([...schemas.keys()]);
  throw invalid([
    schema === undefined
      ? {
          path: "/schema",
          code: "required",
          message: `is required, because the module has several schemas: ${names}`,
        }
      : {
          path: "/schema",
          code: "unknown_schema",
          message: `must be a schema of the module: ${names}`,
        },
  ]);
}

/**
 * Returns a new entry in the shape of an earlier revision with the names that the live definition has for its schema.
 * @throws AppError invalid if the revision has no such schema, or if the live definition no longer has it
 */
export function inLiveSchema(
  items: PinnedItems,
  context: OrbContext,
  entry: NewEntry,
): { entry: NewEntry; pinned: PinnedRequest } {
  const old = schemaFor({ ...context, compiled: items.compiled }, entry.module, entry.schema);
  const now = items.liveOf(old);
  if (now === undefined) throw invalid([{ path: "/schema", code: "unknown_schema", message: GONE }]);
  const pinned = items.request(now);
  return { entry: { ...entry, module: now.module, schema: now.id, shaping: pinned.shaping }, pinned };
}

const GONE = "must be a schema that the orb's current definition still has";

/**
 * Error for a request that creates a settings entry directly. The operation `settings.set` creates such entries, with
 * an id derived from the account. `settings.get` would not find an entry with another id.
 */
function settingsOnly(): AppError {
  return new AppError(
    "conflict",
    "settings_only",
    "Settings belong to an account or to the application. Create them with the handler settings.set.",
  );
}

export interface NewEntryWrite extends EntryWrite {
  snapshots: [EntrySnapshot];
  /** Index keys of values that the platform chose, and that are no conflict if another entry takes them first. */
  made: readonly string[];
  warnings: readonly Fault[];
}

/**
 * @param options.hooks whether to call the before-write hooks
 * @param options.attempt number of earlier attempts that met a conflict
 */
export async function planNew(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  schema: CompiledSchema,
  input: NewEntry,
  id: string,
  options: { hooks?: boolean; attempt?: number } = {},
): Promise<NewEntryWrite> {
  const { actor } = caller;
  const publish = input.publish === true;
  const { window, faults } = readWindow(input, { validFrom: null, validTo: null });
  const now = deps.clock.now();
  if (publish) faults.push(...windowFaults(window, now));
  const { origin } = input;
  const createdBy = origin?.createdBy ?? actorId(actor);
  const sender = { caller, createdBy };
  const { given, named, faults: refused } = await admittedNew(context, schema, sender, input);
  faults.push(...refused);
  const prepared = await prepare(deps, caller, context, schema, {
    id,
    given,
    createdBy,
    stored: {},
    from: [named],
    held: [],
    publish,
    faults,
    attempt: options.attempt,
  });
  const at = new Date(now).toISOString();
  const revisionOf = ({ values, claims }: Prepared): EntrySnapshot => ({
    v: 1,
    id,
    orb: context.orb,
    module: schema.module,
    schema: schema.id,
    operation: "create",
    status: origin?.status ?? (publish ? "PUBLISHED" : "SAVED"),
    revision: 1,
    publishedRevision: publish ? 1 : null,
    publishedSeq: null,
    ...window,
    liveFrom: publish ? window.validFrom : null,
    liveTo: publish ? window.validTo : null,
    createdAt: origin?.createdAt ?? at,
    createdBy,
    updatedAt: at,
    ...writerOf(actor),
    ...(origin === undefined ? {} : { imported: true }),
    values,
    claims,
    liveClaims: null,
    defRevision: context.revision,
  });
  const decided = await hooked(deps, caller, context, options.hooks === false ? undefined : schema, {
    acts: publish ? ["create", "publish"] : ["create"],
    decided: prepared,
    previous: null,
    held: [],
    publish,
    next: revisionOf,
  });
  const snapshot = revisionOf(decided);
  const address = addressOf(schema, id);
  return {
    address,
    schema,
    headSeq: 0,
    snapshots: [snapshot],
    claims: { adds: decided.claims, frees: [] },
    guards: decided.guards,
    live: publish
      ? publishMessages(address, schema.liveRole, withStoredNames(schema, snapshot), null, now)
      : [],
    index: "add",
    made: prepared.made ?? [],
    warnings: decided.warnings ?? [],
  };
}

/** Returns the values of a new entry, in the live shape. `named` are those of the request. */
async function admittedNew(
  context: OrbContext,
  schema: CompiledSchema,
  sender: Sender,
  { values: sent, locale, market, shaping }: NewEntry,
): Promise<Admitted & { named: unknown }> {
  const shape = await shaping?.(context, schema);
  if (shape === undefined)
    return { ...admitted(schema, sender, sent, undefined, { locale, market }), named: sent };
  const { values } = shape.toLive({ sender, sent, merge: false, base: undefined, locale, market });
  return { ...admitted(schema, sender, values, undefined, {}), named: values };
}

/** Returns the values of a new entry in the live shape, without checks that only a write needs. */
export async function liveValues(
  caller: Principal,
  context: OrbContext,
  schema: CompiledSchema,
  { values: sent, locale, market, shaping }: NewEntry,
): Promise<unknown> {
  const shape = await shaping?.(context, schema);
  const sender = { caller, createdBy: actorId(caller.actor) };
  return shape?.toLive({ sender, sent, merge: false, base: undefined, locale, market }).values ?? sent;
}

/** Returns what to store for a new entry with an idempotency key, or undefined if the client sent none. */
export function creationClaim(
  deps: Deps,
  actor: Actor,
  orb: string,
  sent: Idempotency | undefined,
  { shaping: _, ...entry }: NewEntry,
): Promise<IdempotencyClaim | undefined> {
  // Use the stored name of the schema, so that a repeated request still matches after the schema was renamed.
  const schema = entry.schema === undefined ? undefined : schemaToken(entry.schema);
  return idempotencyClaim(deps, actor, orb, sent, { ...entry, schema });
}

/** Decides the creation of an entry. @param id id of the new entry */
export async function planCreation(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  entry: NewEntry,
  id: string,
  attempt: number,
): Promise<Plan> {
  const schema = schemaFor(context, entry.module, entry.schema);
  const write = await planNew(deps, caller, context, schema, entry, id, { attempt });
  return {
    by: context,
    write,
    doubtful: false,
    warnings: write.warnings,
    reserve: (within) => withReservations(within, context, schema, write),
  };
}

/** Throws 401 or 403 if the caller may not create the entry. */
export function requireCreation(caller: Principal, context: OrbContext, entry: NewEntry): void {
  const { access } = schemaFor(context, entry.module, entry.schema);
  requireMay(caller, "create", { access, own: false });
  if (entry.publish === true) requireMay(caller, "publish", { access, own: true });
}

/** Creates an entry, and publishes it in the same atomic write if requested. */
export async function createEntry(given: Deps, actor: Actor, input: CreateInput): Promise<Written> {
  const deps = ofOneWrite(given);
  const { orbId, orb, idempotency, renew, into, ...entry } = input;
  const claim = await creationClaim(deps, actor, orbId, idempotency, entry);
  const findReplay = () => replay(deps, orbId, claim, orb);
  const run = async (attempt: number): Promise<Written> => {
    const [context, before] = await Promise.all([
      attempt === 0 ? orb : renewDefinition(deps, { orbId, renew }),
      findReplay(),
    ]);
    const caller = principalIn(actor, orbId, context.compiled);
    requireCreation(caller, context, entry);
    if (before !== null) return before;
    const plan = await planCreation(deps, caller, context, entry, deps.newId(), attempt);
    const write = attempt === 0 && into === undefined ? plan.write : await plan.reserve(deps);
    const { warnings } = plan;
    const whole = { ...write, idempotency: claim };
    if (into !== undefined) return { ...(await into.store(deps, context, whole)), replayed: false, warnings };
    const seq = await commit(deps, context, whole);
    return { snapshot: newestIn(write), seq, replayed: false, warnings };
  };
  return counted(deps, actor, orbId, () => retryOnConflict(deps, orbId, run, findReplay));
}

export function requireOrb<T extends OrbContext>(orb: T | null): T {
  if (orb === null) throw notFound("orb");
  return orb;
}
