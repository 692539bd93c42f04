/** What the form of a request is about: the entries of a schema, one of them or a new one, and the caller. */
import type { Actor } from "../access/actor.ts";
import {
  isOwn,
  may,
  PLATFORM_REALM,
  type Principal,
  principalIn,
  requireAccount,
  requireEditing,
} from "../access/authorize.ts";
import type { EditingOperation } from "../access/credentials/index.ts";
import type { CompiledSchema } from "../definition/compile.ts";
import type { Deps } from "../deps.ts";
import { existing, loadEntry, type OrbContext, type StoredEntry } from "../entry/model/index.ts";
import { notFound } from "../kernel/errors.ts";
import type { AccountKey } from "../store/editing.ts";

/** The id of a new entry in its form. Clients choose what follows. Ids of entries begin with a digit. */
const NEW = /^new-[A-Za-z0-9]{1,32}$/;

/** The schema that a request is about. */
export interface FormsOf {
  orb: OrbContext;
  module: string;
  schema: string;
}

export interface FormOf extends FormsOf {
  /** The id of the entry, or that of a new one, such as `new-x7f3`. */
  id: string;
}

export interface Within {
  /** Reads the entries as the change set has them in which the caller edits. */
  within?: (() => Promise<Pick<Deps, "store">>) | undefined;
}

/** Returns what reads the entries of a form. */
export const reading = async (deps: Deps, { within }: Within): Promise<Pick<Deps, "store">> =>
  within === undefined ? deps : within();

export interface Form {
  principal: Principal;
  account: AccountKey;
  schema: CompiledSchema;
  isNew: boolean;
  /** Whether the caller may change only entries that they created. */
  ownOnly: boolean;
}

function formIn(actor: Actor, { orb, module, schema: id }: FormsOf, isNew?: boolean): Form {
  requireAccount(actor);
  const principal = principalIn(actor, orb.orb, orb.compiled);
  const schema = orb.compiled.schema(module, id);
  if (schema === undefined) throw notFound("schema");
  const { scope: _, ...rights } = principal;
  const { access } = schema;
  return {
    principal,
    account: { realm: actor.kind === "orb" ? actor.realm : PLATFORM_REALM, sub: actor.sub },
    schema,
    isNew: isNew ?? may(rights, "create", { access, own: true }),
    ownOnly: !may(rights, "update", { access, own: false }),
  };
}

function admitted(form: Form, operation: EditingOperation): Form {
  const { principal, schema, isNew } = form;
  requireEditing(principal, operation, { access: schema.access, own: true, isNew });
  return form;
}

/**
 * Returns the form of a request.
 * @throws AppError 401 or 403 if the caller may edit no entries of the schema
 */
export function formOf(actor: Actor, of: FormOf, operation: EditingOperation): Form {
  return admitted(formIn(actor, of, NEW.test(of.id)), operation);
}

/** Returns what the forms of a schema have in common, for a caller who may create or change entries. */
export function formsOf(actor: Actor, of: FormsOf, operation: EditingOperation): Form {
  return admitted(formIn(actor, of), operation);
}

/**
 * Reads the entry of a form.
 * @param deps those of the change set in which the caller edits, if there is one
 * @throws AppError not_found if there is no such entry, forbidden if the caller may not edit it
 */
export async function entryOf(
  deps: Pick<Deps, "store">,
  { orb, id }: FormOf,
  { principal, schema }: Form,
  operation: EditingOperation,
): Promise<StoredEntry> {
  const entry = existing(await loadEntry(deps, orb.orb, id, schema));
  const own = isOwn(principal.actor, entry.head.createdBy);
  requireEditing(principal, operation, { access: schema.access, own, isNew: false });
  return entry;
}
