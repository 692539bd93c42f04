/**
 * Keeps values out of a write that a response filled in from another language or market. Without this, a client that
 * sends a response back would store English text as German, and later changes of the English text would not show.
 */
import type { CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/index.ts";
import { counterpart, plainLeaves, replaceLeaves, withNested } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { publishedOf } from "../index/index.ts";
import { choose, type EntrySnapshot, fallbackOf, hasDraft, presentField } from "../model/index.ts";
import { revisionSnapshot } from "../read/index.ts";
import type { Localization } from "../values/index.ts";
import type { State } from "./change-write.ts";

/** What a request says of the response that it may be made from. */
export interface ReadBefore {
  /** The member `fallback` of the response. Its names are the fields that were filled in. */
  fallback?: unknown;
  /** The member `revision` of the response. */
  revision?: number;
}

/**
 * Returns the revisions that the client may have read: the one that the body names, otherwise the newest and the live
 * one.
 */
async function readable(
  deps: Deps,
  { base, entry, schema }: State,
  revision: number | undefined,
): Promise<EntrySnapshot[]> {
  const live = hasDraft(base)
    ? await publishedOf(deps, schema, { head: base, address: entry.address })
    : null;
  const known = live === null ? [base] : [base, live];
  if (revision === undefined) return known;
  const named = known.find((one) => one.revision === revision);
  try {
    return [named ?? (await revisionSnapshot(deps, schema, entry, revision))];
  } catch (error) {
    // The body names a revision that does not exist. The member has no other effect, so ignore it.
    if (error instanceof AppError && error.kind === "not_found") return known;
    throw error;
  }
}

/**
 * Returns the values of a write for one language or market, without those that a response filled in. A value counts as
 * filled in if a revision that the client may have read has none in this place, and shows the same value instead. If the
 * request has `fallback`, only the fields that it names can be filled in.
 * @param schema the fields that the caller may read: the result must not tell the values of others
 * @param shownAs returns stored values in the shape of `schema`, if that is another one
 */
export async function withoutFallback(
  deps: Deps,
  state: State,
  schema: CompiledSchema,
  sent: unknown,
  place: Localization,
  { fallback, revision }: ReadBefore,
  shownAs: (values: EntrySnapshot["values"]) => EntrySnapshot["values"] = (values) => values,
): Promise<unknown> {
  if ((place.locale ?? place.market) === undefined || !isObject(sent)) return sent;
  const named = isObject(fallback) ? Object.keys(fallback) : undefined;
  const all = Object.keys(sent).flatMap((name) => {
    const field = schema.fields.get(name);
    return field === undefined ? [] : withNested(field);
  });
  const varying = all.filter(({ translatable, marketSpecific }) => translatable || marketSpecific);
  const fields = varying.filter(({ name }) => named?.includes(name) !== false);
  const leaves = fields.flatMap((field) => plainLeaves(field, sent).map((leaf) => ({ ...leaf, field })));
  if (leaves.length === 0) return sent;
  const choice = choose(schema, { locale: place.locale ?? schema.languages[0], market: place.market });
  const read = (await readable(deps, state, revision)).map(({ values }) => shownAs(values));
  const filled = leaves.filter(({ field, trail, value }) =>
    read.some((values) => {
      const stored = counterpart(sent, trail, values);
      if (fallbackOf(field, stored, choice) === undefined) return false;
      // Responses show a mask instead of a sensitive value.
      if (field.sensitive) return value === MASK;
      return equal(presentField(field, stored, choice), value);
    }),
  );
  const left = replaceLeaves(
    sent,
    filled.map(({ trail }) => ({ trail, value: undefined })),
  );
  return Object.fromEntries(Object.entries(left).filter(([, value]) => value !== undefined));
}
