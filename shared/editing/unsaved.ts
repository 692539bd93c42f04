/**
 * Unsaved changes of a form. The platform keeps them for the account that typed them, until they are saved, discarded or
 * expire. Nothing else reads them. Sensitive values are left out.
 */
import type { Actor } from "../access/actor.ts";
import { mayField } from "../access/authorize.ts";
import { bucketsOf, keys } from "../access/realms.ts";
import { MASK } from "../definition/document/index.ts";
import type { Values } from "../definition/validate.ts";
import { leavesOf } from "../definition/walk.ts";
import type { Deps } from "../deps.ts";
import { maskValues } from "../entry/model/index.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { encodeText } from "../kernel/ids.ts";
import { countWrite } from "../quotas/quotas.ts";
import { eraseUnsaved, type UnsavedPlace, unsavedKeys } from "../store/editing.ts";
import { nullIfMissing } from "../store/pages.ts";
import { buckets, isToken, kvSubject, lastToken, streams } from "../store/subjects.ts";
import { Conflict } from "../store/types.ts";
import { entryOf, type Form, type FormOf, formOf, formsOf, reading, type Within } from "./place.ts";

export const UNSAVED_LIMITS = {
  /** Days for which unsaved changes are kept after the last of them. */
  days: 14,
  /** Maximum bytes of the unsaved changes of one form. */
  bytes: 256 * 1024,
  /** Maximum forms of an account in one application whose unsaved changes are kept. */
  forms: 20,
} as const;

const DAY_SECONDS = 86_400;
/** Seconds for which the broker remembers that unsaved changes were erased. */
const ERASED_SECONDS = 1;

/** Values and times of an entry, as far as a form has changed them. */
export interface Part {
  values: Readonly<Record<string, unknown>>;
  validFrom?: string | null | undefined;
  validTo?: string | null | undefined;
}

/** What a form has changed. */
export interface Changed {
  /** Number of the stored revision that the form shows; 0 for a new entry. */
  revision: number;
  /** What that revision has where the form has something else. */
  base: Part;
  draft: Part;
}

interface Stored extends Changed {
  v: 1;
  at: string;
  /** JSON Pointers to the values that were not kept. */
  left: readonly string[];
}

/** Unsaved changes as their account sees them. */
export interface Unsaved extends Changed {
  /** The id of the entry, or that of a new one. */
  entry: string;
  /** Changes with every write. */
  version: number;
  savedAt: string;
  expiresAt: string;
  left: string[];
}

export interface UnsavedIn extends FormOf, Within {
  /** The change set in which the caller edits. */
  change?: string | undefined;
}

const placeOf = ({ orb, change }: UnsavedIn, { account, schema }: Form): UnsavedPlace => ({
  ...{ orb: orb.orb, account, change },
  home: schema.home,
});

/** Removes what must not be stored, and what the caller may not set. */
function kept(
  { principal, schema }: Form,
  { values, ...window }: Part,
): { part: Part; left: readonly string[] } {
  const left: string[] = [];
  const taken = Object.entries(values).filter(([name]) => {
    const field = schema.fields.get(name);
    const isKept =
      field !== undefined &&
      !schema.sensitive.includes(field) &&
      mayField(principal, "write", { access: field.access, own: true });
    if (!isKept) left.push(`/values/${name}`);
    return isKept;
  });
  const open = Object.fromEntries(taken);
  for (const field of schema.sensitive)
    if (field.parent !== undefined)
      for (const { value, trail } of leavesOf(field, open as Values))
        if (value !== MASK) left.push(`/values/${trail.join("/")}`);
  return { part: { ...window, values: maskValues(open, schema) }, left };
}

/** Returns what the caller may still see of stored changes. */
function seen(form: Form, { values, ...window }: Part, isBase: boolean): Part {
  const { principal, schema } = form;
  const shown = Object.entries(values).filter(([name]) => {
    const field = schema.fields.get(name);
    if (field === undefined || schema.sensitive.includes(field)) return false;
    return mayField(principal, isBase ? "read" : "write", { access: field.access, own: true });
  });
  return { ...window, values: maskValues(Object.fromEntries(shown), schema) };
}

function view(form: Form, entry: string, version: number, stored: Stored): Unsaved {
  const { revision, base, draft, at, left } = stored;
  const gone = Object.keys(draft.values).filter((name) => !form.schema.fields.has(name));
  return {
    ...{ entry, revision, savedAt: at, version },
    expiresAt: new Date(Date.parse(at) + UNSAVED_LIMITS.days * DAY_SECONDS * 1000).toISOString(),
    base: seen(form, base, true),
    draft: seen(form, draft, false),
    left: [...left, ...gone.map((name) => `/values/${name}`)],
  };
}

function missed(): AppError {
  const detail =
    "The unsaved changes are others by now, perhaps from another window. Read them, and decide which ones to keep.";
  return new AppError("precondition", "unsaved_mismatch", detail);
}

/** @param key of the form */
async function requireRoom({ store }: Deps, orb: string, { account }: Form, key: string): Promise<void> {
  const filter = kvSubject(buckets.unsaved, unsavedKeys.ofAccountIn(orb, account));
  const { subjects } = await store.subjects(streams.kv(buckets.unsaved), filter);
  if (subjects.length < UNSAVED_LIMITS.forms || subjects.includes(kvSubject(buckets.unsaved, key))) return;
  const detail = `You have unsaved changes in ${UNSAVED_LIMITS.forms} forms of this orb. Save or discard some of them.`;
  throw new AppError("conflict", "too_many_unsaved", detail);
}

/**
 * Returns whether what the changes belong to is still there: the application, the entry and the account. A removal
 * erases unsaved changes after this became false, so either the removal or its caller erases a write in between.
 */
async function isWanted(deps: Deps, of: UnsavedIn, form: Form): Promise<boolean> {
  const { realm, sub } = form.account;
  const account = deps.store.kvGet(bucketsOf(realm).accounts, keys.account({ name: realm }, sub));
  const within = reading(deps, of);
  const target = form.isNew
    ? within.then(() => deps.store.streamInfo(streams.orb(of.orb.orb)))
    : within.then((inSet) => entryOf(inSet, of, form, "editing.keep"));
  const [found, info] = await Promise.all([account, target]);
  return info !== null && found !== null && found.json<{ status: string }>().status !== "disabled";
}

/**
 * Keeps the unsaved changes of a form.
 * @param input.expect the version that the caller knows: 0 for none. Undefined replaces any version
 * @throws AppError unsaved_mismatch if there is another version, too_many_unsaved
 */
export async function keepUnsaved(
  deps: Deps,
  actor: Actor,
  input: UnsavedIn & { changed: Changed; expect: number | undefined },
): Promise<Unsaved> {
  const form = requireForm(actor, input);
  const { orb, changed, expect } = input;
  await countWrite(deps, actor, orb.orb);
  // Otherwise the entry is read after the write, to save a round trip.
  if (!form.isNew && form.ownOnly) await entryOf(await reading(deps, input), input, form, "editing.keep");
  const key = unsavedKeys.one(placeOf(input, form), input.id);
  if (expect === undefined || expect === 0) await requireRoom(deps, orb.orb, form, key);
  const draft = kept(form, changed.draft);
  const base = kept(form, changed.base).part;
  const at = new Date(deps.clock.now()).toISOString();
  const stored: Stored = { v: 1, at, revision: changed.revision, base, draft: draft.part, left: draft.left };
  const data = JSON.stringify(stored);
  if (encodeText(data).length > UNSAVED_LIMITS.bytes) throw tooLarge();
  const ttl = UNSAVED_LIMITS.days * DAY_SECONDS;
  const version = await deps.store
    .kvPut(buckets.unsaved, key, data, { ttl, ...(expect === undefined ? {} : { expect }) })
    .catch((error: unknown) => {
      throw error instanceof Conflict ? missed() : error;
    });
  const stays = await isWanted(deps, input, form).catch((error: unknown) => {
    if (error instanceof AppError && ["not_found", "forbidden"].includes(error.kind)) return false;
    throw error;
  });
  if (!stays) {
    await eraseUnsaved(deps.store, key);
    throw notFound("entry");
  }
  return view(form, input.id, version, stored);
}

function tooLarge(): AppError {
  const detail = `The unsaved changes are larger than ${UNSAVED_LIMITS.bytes / 1024} KiB. Save the entry instead.`;
  return new AppError("too_large", "unsaved_too_large", detail);
}

/** Returns the form of a request. @throws AppError not_found if the id cannot be that of an entry */
function requireForm(actor: Actor, input: UnsavedIn): Form {
  const form = formOf(actor, input, "editing.keep");
  if (!isToken(input.id)) throw notFound("entry");
  return form;
}

/** Returns the caller's unsaved changes of a form; null if there are none. */
export async function readUnsaved(deps: Deps, actor: Actor, input: UnsavedIn): Promise<Unsaved | null> {
  const form = requireForm(actor, input);
  const key = unsavedKeys.one(placeOf(input, form), input.id);
  const found = await nullIfMissing(deps.store.kvGet(buckets.unsaved, key));
  return found === null ? null : view(form, input.id, found.revision, found.json<Stored>());
}

/** Lists the caller's unsaved changes of entries of a schema, and of new ones. */
export async function listUnsaved(
  deps: Deps,
  actor: Actor,
  input: Omit<UnsavedIn, "id">,
): Promise<Unsaved[]> {
  const form = formsOf(actor, input, "editing.keep");
  const filter = unsavedKeys.ofSchema(placeOf({ ...input, id: "" }, form));
  const found = await nullIfMissing(
    deps.store.kvList(buckets.unsaved, filter, { maxBytes: 2 * UNSAVED_LIMITS.forms * UNSAVED_LIMITS.bytes }),
  );
  return (found ?? []).map((each) => view(form, lastToken(each.key), each.revision, each.json<Stored>()));
}

/**
 * Erases the caller's unsaved changes of a form, after they were saved or discarded. Does nothing if there are none.
 * @param input.expect the version that the caller knows; undefined erases any
 */
export async function discardUnsaved(
  deps: Deps,
  actor: Actor,
  input: UnsavedIn & { expect: number | undefined },
): Promise<void> {
  const form = requireForm(actor, input);
  const key = unsavedKeys.one(placeOf(input, form), input.id);
  const found = await nullIfMissing(deps.store.kvGet(buckets.unsaved, key));
  if (found === null) return;
  if (input.expect !== undefined && input.expect !== found.revision) throw missed();
  await deps.store
    .kvDelete(buckets.unsaved, key, { expect: found.revision, ttl: ERASED_SECONDS })
    .catch((error: unknown) => {
      throw error instanceof Conflict ? missed() : error;
    });
}
