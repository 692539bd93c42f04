import { type Actor, actorId, throughOf } from "../../access/actor.ts";
import { principalIn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { schemaToken } from "../../definition/document/home.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalid, notFound } from "../../kernel/errors.ts";
import { joinNames } from "../../kernel/faults.ts";
import { counted } from "../../quotas/write.ts";
import { withReservations } from "../index/entry-keys.ts";
import { publishMessages } from "../index/schedules.ts";
import { type Idempotency, idempotencyClaim, replay } from "../model/idempotency.ts";
import type { EntryWrite } from "../model/messages.ts";
import { addressOf, type OrbContext, refuseRecords } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import { admitted } from "./admitted.ts";
import type { Written } from "./change.ts";
import { commit } from "./commit.ts";
import { hooked } from "./hooked.ts";
import { readWindow, windowFaults } from "./input.ts";
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
}

export interface CreateInput extends NewEntry {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  idempotency?: Idempotency | undefined;
  renew?: (() => Promise<OrbContext>) | undefined;
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
}

export async function planNew(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  input: NewEntry,
  id: string,
): Promise<NewEntryWrite> {
  const publish = input.publish === true;
  const { window, faults } = readWindow(input, { validFrom: null, validTo: null });
  const now = deps.clock.now();
  if (publish) faults.push(...windowFaults(window, now));
  const createdBy = actorId(actor);
  const sender = { caller: principalIn(actor, context.orb, context.compiled), createdBy };
  const { given, faults: refused } = admitted(schema, sender, input.values, {}, input);
  faults.push(...refused);
  const prepared = await prepare(deps, actor, context, schema, {
    id,
    given,
    createdBy,
    stored: {},
    held: [],
    publish,
    faults,
  });
  const at = new Date(now).toISOString();
  const revisionOf = ({ values, claims }: Prepared): EntrySnapshot => ({
    v: 1,
    id,
    orb: context.orb,
    module: schema.module,
    schema: schema.id,
    operation: "create",
    status: publish ? "PUBLISHED" : "SAVED",
    revision: 1,
    publishedRevision: publish ? 1 : null,
    publishedSeq: null,
    ...window,
    liveFrom: publish ? window.validFrom : null,
    liveTo: publish ? window.validTo : null,
    createdAt: at,
    createdBy: actorId(actor),
    updatedAt: at,
    updatedBy: actorId(actor),
    through: throughOf(actor),
    values,
    claims,
    liveClaims: null,
    defRevision: context.revision,
  });
  const decided = await hooked(deps, actor, context, schema, {
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
    headSeq: 0,
    snapshots: [snapshot],
    claims: { adds: decided.claims, frees: [] },
    guards: decided.guards,
    live: publish ? publishMessages(address, schema.liveRole, snapshot, null, now) : [],
    index: "add",
  };
}

/** Creates an entry, and publishes it in the same atomic write if requested. */
export async function createEntry(deps: Deps, actor: Actor, input: CreateInput): Promise<Written> {
  const { orbId, orb, idempotency, module, schema: schemaId, renew, ...request } = input;
  const claim = await idempotencyClaim(deps, actor, orbId, idempotency, {
    module,
    // Use the stored name, so that a repeated request still matches after the schema was renamed.
    schema: schemaId === undefined ? undefined : schemaToken(schemaId),
    ...request,
  });
  const findReplay = () => replay(deps, orbId, claim);
  const run = async (attempt: number): Promise<Written> => {
    const [context, before] = await Promise.all([
      attempt === 0 ? orb : renewDefinition(deps, { orbId, renew }),
      findReplay(),
    ]);
    const schema = schemaFor(context, module, schemaId);
    const principal = principalIn(actor, orbId, context.compiled);
    requireMay(principal, "create", { access: schema.access, own: false });
    if (input.publish === true) requireMay(principal, "publish", { access: schema.access, own: true });
    if (before !== null) return before;
    const plan = await planNew(deps, actor, context, schema, input, deps.newId());
    const write = attempt === 0 ? plan : await withReservations(deps, context, schema, plan);
    const seq = await commit(deps, context, { ...write, idempotency: claim });
    const [snapshot] = write.snapshots;
    if (snapshot === undefined)
      throw new AppError("internal", "internal_error", "The write contained no revision.");
    return { snapshot, seq, replayed: false };
  };
  return counted(deps, actor, orbId, () => retryOnConflict(deps, orbId, run, findReplay));
}

export function requireOrb<T extends OrbContext>(orb: T | null): T {
  if (orb === null) throw notFound("orb");
  return orb;
}
