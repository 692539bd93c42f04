/** Lists, saves, changes and deletes the saved views of a schema's lists. */
import type { AccountActor, Actor } from "../access/actor.ts";
import { mayView, type Principal, principalIn, requireScope, requireView } from "../access/authorize.ts";
import type { ViewOperation } from "../access/credentials/index.ts";
import { handlerRefusal, refusal } from "../access/refusals.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import { BUILT_IN_ROLES } from "../definition/document/index.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { renewDefinition, retryOnConflict, storeBeside } from "../entry/write/index.ts";
import { AppError, type Fault, invalid, notFound, revisionMismatch } from "../kernel/errors.ts";
import { joinNames } from "../kernel/faults.ts";
import { encodeText } from "../kernel/ids.ts";
import { counted } from "../quotas/write.ts";
import type { Append } from "../store/types.ts";
import { type GoneField, type ListView, namedList, storedList } from "./list.ts";
import {
  type Audience,
  type Saved,
  type StoredView,
  savedViews,
  VIEW_LIMITS,
  viewsMessage,
} from "./record.ts";

/** The schema whose views a request is about. */
export interface OfSchema {
  module: string;
  schema: string;
}

/** A request that writes views. */
export interface ViewWrite extends OfSchema {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  /** After a conflict, reads the definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
}

export interface ViewInput {
  name: string;
  audience: Audience;
  role?: string | undefined;
  default?: boolean | undefined;
  list: ListView;
}

/** One saved view, and the revision of it that the client has read. */
export interface OfView extends ViewWrite {
  id: string;
  ifMatch?: number | undefined;
}

export interface View {
  id: string;
  revision: number;
  name: string;
  audience: Audience;
  role: string | null;
  default: boolean;
  list: ListView;
  /** The fields that the view names and does not show. */
  gone: GoneField[];
  changedAt: string;
  changedBy: string;
}

export interface Views {
  items: View[];
  /** Id of the view with which the caller's lists open. */
  default: string | null;
  /** Whether the caller may save views that others see. */
  shares: boolean;
}

interface Asking {
  actor: AccountActor;
  principal: Principal;
  schema: CompiledSchema;
}

/**
 * Throws 401 or 403 unless the caller may perform the operation on the views of a schema.
 * @returns undefined if there is no such schema
 */
export function admitToViews(
  actor: Actor,
  { orb, compiled }: OrbContext,
  { module, schema: id }: OfSchema,
  operation: ViewOperation,
): Asking | undefined {
  if (actor.kind === "handler") throw handlerRefusal(actor);
  if (actor.kind !== "platform" && actor.kind !== "orb") throw refusal(actor);
  requireScope(actor, operation, orb);
  const principal = principalIn(actor, orb, compiled);
  const schema = compiled.modules.get(module)?.schemas.get(id);
  if (schema === undefined) return undefined;
  requireView(principal, operation, schema.access);
  return { actor, principal, schema };
}

/** Returns what decides on the views of a schema. @throws AppError 401, 403, `schema_not_found` */
function requireViews(actor: Actor, context: OrbContext, at: OfSchema, operation: ViewOperation): Asking {
  const asking = admitToViews(actor, context, at, operation);
  if (asking === undefined) throw notFound("schema", "The orb has no such schema.");
  return asking;
}

/** Returns whether a caller sees a shared view. Those who may share see all of them. */
function isSeen({ principal, schema }: Asking, { audience, role }: StoredView): boolean {
  const { scope: _, ...rights } = principal;
  return audience !== "role" || hasRole(principal, role) || mayView(rights, "views.share", schema.access);
}

/** Returns whether a caller's account has a role: not one that includes it. */
const hasRole = ({ role, orbRole }: Principal, name: string | undefined): boolean =>
  (orbRole ?? role) === name;

function shown({ schema, principal }: Asking, stored: StoredView): View {
  const { id, revision, name, audience, role = null, default: isDefault = false, at, by } = stored;
  return {
    ...{ id, revision, name, audience, role, default: isDefault },
    ...namedList(schema, stored.list, principal),
    ...{ changedAt: at, changedBy: by },
  };
}

/** Lists the views that the caller sees: their own ones first, in the order in which they were saved. */
export async function listViews(deps: Deps, actor: Actor, context: OrbContext, at: OfSchema): Promise<Views> {
  const asking = requireViews(actor, context, at, "views.read");
  const { own, shared } = await savedViews(deps, asking.actor, asking.schema);
  const seen = [...own.views, ...shared.views.filter((view) => isSeen(asking, view))];
  // A view of the account comes before one of its role, and that one before one of all.
  const first = (["me", "role", "all"] as const).flatMap((audience) =>
    seen.filter(
      (view) =>
        view.default === true &&
        view.audience === audience &&
        (audience !== "role" || hasRole(asking.principal, view.role)),
    ),
  );
  return {
    items: seen.map((view) => shown(asking, view)),
    default: first[0]?.id ?? null,
    shares: mayView(asking.principal, "views.share", asking.schema.access),
  };
}

const noView = () => notFound("view", "There is no such saved view.");

/** Returns a view of the caller, or a shared one that the caller sees. */
function found(asking: Asking, { own, shared }: { own: Saved; shared: Saved }, id: string): StoredView {
  const isIt = (view: StoredView) => view.id === id;
  const view = own.views.find(isIt) ?? shared.views.find((each) => isIt(each) && isSeen(asking, each));
  if (view === undefined) throw noView();
  return view;
}

/** Reads a view. @throws AppError view_not_found */
export async function getView(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { id, ...at }: OfSchema & { id: string },
): Promise<View> {
  const asking = requireViews(actor, context, at, "views.read");
  return shown(asking, found(asking, await savedViews(deps, asking.actor, asking.schema), id));
}

/** What an attempt writes: the views of the caller, the shared ones, or both. */
interface Decided<T> {
  lists: Partial<Record<"own" | "shared", readonly StoredView[]>>;
  result: T;
}

interface Attempt extends Asking {
  context: OrbContext;
  own: Saved;
  shared: Saved;
}

/** Writes views in one atomic batch, again if another request comes first. */
async function writeViews<T>(
  deps: Deps,
  actor: Actor,
  input: ViewWrite,
  id: string,
  decide: (attempt: Attempt) => Decided<T>,
): Promise<T> {
  const first = await input.orb;
  requireViews(actor, first, input, "views.write");
  return counted(deps, actor, input.orbId, () =>
    retryOnConflict(deps, input.orbId, async (attempt) => {
      const context = attempt === 0 ? first : await renewDefinition(deps, input);
      const asking = requireViews(actor, context, input, "views.write");
      const saved = await savedViews(deps, asking.actor, asking.schema);
      const { result, lists } = decide({ context, ...asking, ...saved });
      const messages = (["own", "shared"] as const).flatMap((which): Append[] => {
        const views = lists[which];
        return views === undefined ? [] : [viewsMessage(saved[which], views)];
      });
      await storeBeside(deps, actor, context, id, messages);
      return result;
    }),
  );
}

const listIn = ({ audience }: Pick<StoredView, "audience">): "own" | "shared" =>
  audience === "me" ? "own" : "shared";
const isSameAudience = (one: StoredView, other: StoredView) =>
  one.audience === other.audience && one.role === other.role;

/** Returns the view that a request asks to store. @throws AppError validation_failed */
function storedView(
  { context, schema, actor }: Attempt,
  { clock }: Pick<Deps, "clock">,
  id: string,
  revision: number,
  input: ViewInput,
): StoredView {
  const { name, audience, role, default: isDefault, list } = input;
  const faults: Fault[] = [];
  const roles = [...BUILT_IN_ROLES.filter((each) => each !== "public"), ...context.compiled.roles.keys()];
  if (audience === "role" && !roles.some((each) => each === role)) {
    const message = `must be a role of the orb: ${joinNames(roles)}`;
    faults.push({ path: "/role", code: role === undefined ? "required" : "unknown_role", message });
  }
  if (audience !== "role" && role !== undefined)
    faults.push({
      path: "/role",
      code: "unknown_property",
      message: "must be there only for the audience role",
    });
  const view: StoredView = {
    ...{ id, revision, name, audience },
    ...(role === undefined ? {} : { role }),
    ...(isDefault === true ? { default: true } : {}),
    list: storedList(schema, list, faults),
    at: new Date(clock.now()).toISOString(),
    by: actor.sub,
  };
  const bytes = encodeText(JSON.stringify(view)).length;
  if (bytes > VIEW_LIMITS.bytes) {
    const message = `must have at most ${VIEW_LIMITS.bytes} bytes as stored (has ${bytes})`;
    faults.push({ path: "/list", code: "too_long", message });
  }
  if (faults.length > 0) throw invalid(faults);
  return view;
}

/** Returns the views with another one in the place of the one with its id, or at the end. */
function withView(views: readonly StoredView[], view: StoredView): StoredView[] {
  const same = views.find(
    (each) => each.id !== view.id && isSameAudience(each, view) && each.name === view.name,
  );
  if (same !== undefined) {
    const detail = `There is a saved view ${JSON.stringify(view.name)} already. Change that one, or choose another name.`;
    throw new AppError("conflict", "view_name_taken", detail, { data: { view: same.id } });
  }
  // Lists open with one view only.
  const others = views.map((each): StoredView => {
    const { default: isDefault, ...rest } = each;
    const loses =
      view.default === true && isDefault === true && each.id !== view.id && isSameAudience(each, view);
    return loses ? { ...rest, revision: each.revision + 1 } : each;
  });
  if (others.some(({ id }) => id === view.id))
    return others.map((each) => (each.id === view.id ? view : each));
  if (others.length >= VIEW_LIMITS.views) {
    const detail = `A schema has at most ${VIEW_LIMITS.views} saved views that are shared, and as many for each account. Delete one first.`;
    throw new AppError("conflict", "too_many_views", detail);
  }
  return [...others, view];
}

/** Throws 403 if the caller may not change the views that others see. */
function requireShare({ principal, schema }: Asking, audiences: readonly Audience[]): void {
  if (audiences.some((audience) => audience !== "me")) requireView(principal, "views.share", schema.access);
}

/** Saves a view. @throws AppError view_name_taken, too_many_views */
export function createView(deps: Deps, actor: Actor, of: ViewWrite, input: ViewInput): Promise<View> {
  const id = deps.newId();
  return writeViews(deps, actor, of, id, (attempt) => {
    requireShare(attempt, [input.audience]);
    const view = storedView(attempt, deps, id, 1, input);
    const which = listIn(view);
    return { lists: { [which]: withView(attempt[which].views, view) }, result: shown(attempt, view) };
  });
}

/** Returns the view that a request names. @throws AppError view_not_found, revision_mismatch */
function changeable(attempt: Attempt, { id, ifMatch }: OfView, audience: Audience): StoredView {
  const before = found(attempt, attempt, id);
  requireShare(attempt, [before.audience, audience]);
  if (ifMatch !== undefined && ifMatch !== before.revision) throw revisionMismatch(before.revision);
  return before;
}

/**
 * Replaces a view. Its audience may change.
 * @throws AppError view_not_found, revision_mismatch, view_name_taken, too_many_views
 */
export function updateView(deps: Deps, actor: Actor, of: OfView, input: ViewInput): Promise<View> {
  return writeViews(deps, actor, of, of.id, (attempt) => {
    const before = changeable(attempt, of, input.audience);
    const view = storedView(attempt, deps, of.id, before.revision + 1, input);
    const [from, to] = [listIn(before), listIn(view)];
    const left = from === to ? {} : { [from]: attempt[from].views.filter(({ id }) => id !== of.id) };
    return { lists: { ...left, [to]: withView(attempt[to].views, view) }, result: shown(attempt, view) };
  });
}

/** Deletes a view. @throws AppError view_not_found, revision_mismatch */
export function deleteView(deps: Deps, actor: Actor, of: OfView): Promise<void> {
  return writeViews(deps, actor, of, of.id, (attempt) => {
    const from = listIn(changeable(attempt, of, "me"));
    return { lists: { [from]: attempt[from].views.filter(({ id }) => id !== of.id) }, result: undefined };
  });
}
