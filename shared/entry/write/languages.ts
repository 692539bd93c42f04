/** Publishes the texts of some languages of a draft: the published revision keeps everything else. */

import type { CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage } from "../../definition/document/ids.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalidParameters } from "../../kernel/errors.ts";
import { joinNames } from "../../kernel/faults.ts";
import { equal } from "../../kernel/json.ts";
import { publishedOf } from "../index/entry-keys.ts";
import { storedInput } from "../model/known.ts";
import { type EntrySnapshot, effective, hasDraft } from "../model/snapshot.ts";
import { type Window, windowFaults } from "../values/input.ts";
import { onlyTextsOf, withTextsOf } from "../values/languages.ts";
import type { Decision, State } from "./change-write.ts";
import type { Destination } from "./commit.ts";
import { prepare } from "./prepare.ts";
import { requireSchema, statusOf } from "./update.ts";

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
  as: { publish: boolean; held?: readonly string[] },
) {
  const window = { validFrom, validTo };
  const prepared = await prepare(deps, caller, context, schema, {
    id: base.id,
    given: storedInput(schema, values),
    stored: values,
    createdBy: base.createdBy,
    held: [...held.claims, ...(held.liveClaims ?? []), ...(as.held ?? [])],
    publish: as.publish,
    faults: as.publish ? windowFaults(window, now) : [],
  });
  return { ...prepared, ...window };
}

const PUBLISHED = { operation: "publish", status: "PUBLISHED", live: "publish", updates: true } as const;

/**
 * Decides the publication of some languages. If the draft has other changes, it stays the newest revision.
 * @param into the change set into which the request writes
 */
export async function decideLanguages(
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
      : withTextsOf(schema, live.values, base.values, languages);
  const { validFrom, validTo } = live ?? base;
  const made = await checked(deps, state, schema, { values, validFrom, validTo }, { publish: true });
  const isWhole = equal(made.values, base.values) && equal(windowOf(made), windowOf(base));
  if (isWhole) return { ...PUBLISHED, ...made };
  const kept = await checked(deps, state, schema, base, { publish: false, held: made.claims });
  const guarded = new Set(made.guards.map(({ subject }) => subject));
  const guards = kept.guards.filter(({ subject }) => !guarded.has(subject));
  const unchanged = live !== null && equal(made.values, live.values) && equal(kept.values, base.values);
  return { ...PUBLISHED, ...made, draft: { ...kept, guards, unchanged } };
}

const windowOf = ({ validFrom, validTo }: Window): Window => ({ validFrom, validTo });

/** Decides the version in a change set: the one before, or the live revision, with the texts of the draft in the orb. */
async function decideInSet(
  deps: Deps,
  state: State,
  languages: ReadonlySet<string>,
  into: Destination,
): Promise<Decision> {
  const schema = requireSchema(state);
  const { base, context, entry, now } = state;
  next(statusOf(base), "publish", true);
  const stored = await into.newest(context, entry.address);
  const draft = stored === null ? null : effective(stored, now);
  if (draft === null || draft.publishedRevision === null || !hasDraft(draft)) throw noDraft(draft);
  const values = withTextsOf(schema, base.values, draft.values, languages);
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
