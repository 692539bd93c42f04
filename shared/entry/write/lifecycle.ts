import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage, next } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalidParameters, notFound } from "../../kernel/errors.ts";
import { joinNames } from "../../kernel/faults.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import { isReferred, publishedOf, publishMessages, referenced, referrersOf } from "../index/index.ts";
import {
  type EntrySnapshot,
  effective,
  type Guard,
  hasDraft,
  isUniqueKey,
  remembered,
  storedInput,
} from "../model/index.ts";
import { revisionSnapshot } from "../read/index.ts";
import { keepingHidden, onlyTextsOf, type Window, windowFaults, withTextsOf } from "../values/index.ts";
import { changeEntry, type Target, type Written } from "./change.ts";
import type { Change, Decision, State } from "./change-write.ts";
import type { Destination } from "./commit.ts";
import { prepare } from "./prepare.ts";
import { draftBeside, isStored, requireSchema, statusOf } from "./update.ts";

/**
 * Publishes the newest revision. If its `validFrom` is in the future, the broker makes it visible then.
 * @param target.locales publishes only the texts in these languages
 */
export function publishEntry(
  given: Deps,
  actor: Actor,
  target: Target & { locales?: readonly string[] | undefined },
): Promise<Written> {
  const deps = ofOneWrite(given);
  const { locales } = target;
  return changeEntry(deps, actor, target, {
    acts: ["publish"],
    request: locales === undefined ? "publish" : ["publish", locales],
    ...(locales === undefined ? {} : { skipsUnchanged: true }),
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    async decide(state) {
      if (locales !== undefined) return decideLanguages(deps, state, locales, target.into);
      const schema = requireSchema(state);
      const { base, caller, context } = state;
      const status = next(statusOf(base), "publish", hasDraft(base));
      const faults = windowFaults(base, state.now);
      const prepared = await prepare(deps, caller, context, schema, {
        id: base.id,
        given: storedInput(schema, base.values),
        stored: base.values,
        createdBy: base.createdBy,
        held: state.held.claims,
        publish: true,
        faults,
      });
      return {
        operation: "publish",
        status,
        values: prepared.values,
        claims: prepared.claims,
        guards: prepared.guards,
        made: prepared.made,
        warnings: prepared.warnings,
        live: "publish",
      };
    },
  });
}

type Content = Pick<EntrySnapshot, "values"> & Window;

/** Returns the languages that a request names. @throws AppError malformed `invalid_parameter` */
function languagesOf({ languages }: CompiledSchema, locales: readonly string[]): ReadonlySet<string> {
  const tags = locales.map((locale) => canonicalLanguage(locale) ?? "");
  if (tags.length > 0 && tags.every((tag) => languages.includes(tag))) return new Set(tags);
  const message = `must be languages of the orb, with commas between them: ${joinNames(languages)}`;
  throw invalidParameters([{ path: "/locales", code: "invalid_value", message }]);
}

async function checked(
  deps: Deps,
  { caller, context, base, held, now }: State,
  schema: CompiledSchema,
  { values, validFrom, validTo }: Content,
  as: { publish: boolean; held?: readonly string[]; revives?: boolean },
) {
  const window = { validFrom, validTo };
  const prepared = await prepare(deps, caller, context, schema, {
    id: base.id,
    given: storedInput(schema, values),
    stored: values,
    createdBy: base.createdBy,
    held: [...held.claims, ...(held.liveClaims ?? []), ...(as.held ?? [])],
    publish: as.publish,
    revives: as.revives,
    faults: as.publish ? windowFaults(window, now) : [],
  });
  return { ...prepared, ...window };
}

const PUBLISHED = { operation: "publish", status: "PUBLISHED", live: "publish", updates: true } as const;

/**
 * Decides the publication of some languages. If the draft has other changes, it stays the newest revision.
 * @param into the change set into which the request writes
 */
async function decideLanguages(
  deps: Deps,
  state: State,
  locales: readonly string[],
  into: Destination | undefined,
): Promise<Decision> {
  const schema = requireSchema(state);
  const languages = languagesOf(schema, locales);
  if (into !== undefined) return decideInSet(deps, state, languages, into);
  const { base, entry } = state;
  next(statusOf(base), "publish", hasDraft(base));
  const live = await publishedOf(deps, schema, { head: base, address: entry.address });
  const values =
    live === null
      ? onlyTextsOf(schema, base.values, languages)
      : remembered(withTextsOf(schema, live.values, base.values, languages), live.values);
  const { validFrom, validTo } = live ?? base;
  const made = await checked(deps, state, schema, { values, validFrom, validTo }, { publish: true });
  if (isStored(made, base)) return { ...PUBLISHED, ...made };
  const kept = await checked(deps, state, schema, base, { publish: false, held: made.claims });
  return { ...PUBLISHED, ...made, draft: draftBeside({ made, live }, { made: kept, base }) };
}

/**
 * Decides the version in a change set: the one before, or the live revision, with the texts of the draft in the orb. Who
 * publishes a set checks no single fields, so texts that the caller may not read or not set stay as they are.
 */
async function decideInSet(
  deps: Deps,
  state: State,
  languages: ReadonlySet<string>,
  into: Destination,
): Promise<Decision> {
  const schema = requireSchema(state);
  const { base, caller, context, entry, now } = state;
  next(statusOf(base), "publish", true);
  const stored = await into.newest(context, entry.address);
  const draft = stored === null ? null : effective(stored, now);
  if (draft === null || draft.publishedRevision === null || !hasDraft(draft)) throw noDraft(draft);
  const texts = withTextsOf(schema, base.values, draft.values, languages);
  const sender = { caller, createdBy: base.createdBy };
  // Texts come and go, but no items of lists, so there are no faults.
  const values = keepingHidden(schema, sender, texts, base.values, []);
  return { ...PUBLISHED, ...(await checked(deps, state, schema, { ...base, values }, { publish: true })) };
}

function noDraft(draft: EntrySnapshot | null): AppError {
  const why =
    draft?.publishedRevision === null || draft === null
      ? "the entry is not live. Publish it as a whole in the change set"
      : "there is no draft beside the live revision. Write the texts into the change set";
  const detail = `The languages cannot be published, because ${why}.`;
  const data = { state: draft?.status ?? null, operation: "publish" };
  return new AppError("conflict", "wrong_state", detail, { data });
}

/** Returns the change that ends the publication of an entry. */
export function unpublishChange(): Change {
  return {
    acts: ["unpublish"],
    request: "unpublish",
    decide: async ({ base }) => ({
      operation: "unpublish",
      status: next(statusOf(base), "unpublish"),
      live: "withdraw",
    }),
  };
}

export function unpublishEntry(deps: Deps, actor: Actor, target: Target): Promise<Written> {
  return changeEntry(deps, actor, target, unpublishChange());
}

/** Returns the change that restores an archived entry without publishing it. */
export function restoreChange(): Change {
  return {
    acts: ["restore"],
    request: "restore",
    decide: async ({ base }) => ({
      operation: "restore",
      status: next(statusOf(base), "restore"),
      live: "keep",
    }),
  };
}

/**
 * Restores an archived entry without publishing it, or a deleted one, as it was before the deletion, as a draft. Its
 * unique values may belong to others by now.
 */
export function restoreEntry(given: Deps, actor: Actor, target: Target): Promise<Written> {
  const deps = ofOneWrite(given);
  const change = restoreChange();
  // A set can only take a deletion back that it has published itself.
  if (target.into !== undefined) return changeEntry(deps, actor, target, change);
  return changeEntry(deps, actor, target, {
    ...change,
    revives: true,
    decide: (state) => (state.base.status === "DELETED" ? decideRevival(deps, state) : change.decide(state)),
  });
}

/** Types of modules whose deleted entries can be restored. Others are records, or come back with a handler. */
const REVIVED: ReadonlySet<EntryAddress["type"]> = new Set(["content", "config", "rules"]);

/**
 * Decides how a deleted entry comes back: with the values of the revision before its deletion, which stay as they are.
 * Entries that it refers to may be gone, as after a deletion by force. So entries that refer to each other can come back.
 */
async function decideRevival(deps: Deps, state: State): Promise<Decision> {
  const { base, entry, schema } = state;
  if (!REVIVED.has(entry.address.type)) throw notFound("entry");
  const old = await revisionSnapshot(deps, schema, entry, base.revision - 1);
  const { values, validFrom, validTo, status } = old;
  const content = { values, validFrom, validTo };
  const held = old.claims.filter((key) => !isUniqueKey(key));
  const as = { publish: false, held, revives: true };
  const made = await checked(deps, state, requireSchema(state), content, as);
  return {
    operation: "restore",
    status: status === "SAVED" ? "SAVED" : "UNPUBLISHED",
    ...made,
    live: "keep",
    index: "add",
  };
}

/** Returns the change that archives (soft-deletes) an entry. It fails if other entries refer to it, unless forced. */
export function archiveChange(deps: Deps, actor: Actor, force: boolean): Change {
  return {
    acts: ["archive"],
    request: ["archive", force],
    guarded: !force,
    async decide(state) {
      const status = next(statusOf(state.base), "archive");
      const guards = force ? [] : await unreferenced(deps, actor, state);
      return { operation: "archive", status, guards, live: "withdraw" };
    },
  };
}

/** Archives (soft-deletes) an entry. Fails if other entries refer to it, unless forced. */
export function archiveEntry(
  deps: Deps,
  actor: Actor,
  target: Target & { force?: boolean | undefined },
): Promise<Written> {
  return changeEntry(deps, actor, target, archiveChange(deps, actor, target.force === true));
}

/**
 * Throws 409 if another entry refers to the entry. Otherwise returns conditions for the write: it must fail if another
 * entry adds a reference before the commit.
 * @throws AppError conflict `referenced`
 */
export async function unreferenced(deps: Deps, actor: Actor, state: State): Promise<Guard[]> {
  const { context, entry, guardSeq } = state;
  if (guardSeq !== 0 && (await isReferred(deps, context, entry.head.id))) {
    throw referenced(await referrersOf(deps, actor, context, entry.head.id));
  }
  return guardSeq === undefined
    ? []
    : [{ subject: subjects.referenceGuard(context.orb, entry.head.id), seq: guardSeq }];
}
