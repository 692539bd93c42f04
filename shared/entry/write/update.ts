import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { publishMessages } from "../index/schedules.ts";
import { storedInput } from "../model/known.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import { changeEntry, type State, type Target, type Written } from "./change.ts";
import { mergeValues, readWindow, windowFaults } from "./input.ts";
import { prepare } from "./prepare.ts";

export interface UpdateInput extends Target {
  /** All values; or, with `locale` or `market`, those to change. Left out: the values stay. */
  values?: unknown;
  /** ISO 8601 in any offset; null: no bound; left out: as before. */
  validFrom?: unknown;
  validTo?: unknown;
  /** Makes the new revision live in the same act. */
  publish?: boolean | undefined;
  locale?: string | undefined;
  market?: string | undefined;
  /** Which entry the body says it is: it cannot be another one, nor be moved. */
  place?: Partial<Record<(typeof PLACE)[number], unknown>>;
}

/** Members of a body that name an entry. */
const PLACE = ["id", "orb", "module", "schema"] as const;

/** What an update says of the entry's place, where it says anything, and that it says anything at all. */
function placeFaults(input: UpdateInput, base: EntrySnapshot): Fault[] {
  const faults: Fault[] = [];
  for (const name of PLACE) {
    const sent = input.place?.[name];
    if (sent === undefined || sent === base[name]) continue;
    const message =
      name === "id"
        ? "The path names another entry: leave the id out, or send the one of the path."
        : `An entry stays in the orb, module and schema that it was created in: leave this out, or send "${base[name]}".`;
    faults.push({ path: `/${name}`, code: "immutable", message });
  }
  const { values, validFrom, validTo, publish } = input;
  if (values === undefined && validFrom === undefined && validTo === undefined && publish !== true) {
    faults.push({
      path: "/values",
      code: "required",
      message: "is required, because nothing else in the body changes the entry",
    });
  }
  return faults;
}

/** The schema of an entry. @throws AppError conflict `schema_gone` when the definition no longer has it */
export function requireSchema(state: State): CompiledSchema {
  if (state.schema !== undefined) return state.schema;
  throw new AppError(
    "conflict",
    "schema_gone",
    "The orb's definition no longer has this entry's schema: it can only be archived or deleted.",
  );
}

/** The lifecycle state of a revision that was not deleted. */
export function statusOf(snapshot: EntrySnapshot): Exclude<EntrySnapshot["status"], "DELETED"> {
  if (snapshot.status === "DELETED")
    throw new AppError("not_found", "entry_not_found", "The entry was deleted.");
  return snapshot.status;
}

/**
 * Writes a new revision. What is live stays as it is until it is published, by `publish` in the same act.
 * Two requests one after the other (definition beside head, write); three when references are added.
 * @throws AppError not_found; precondition `revision_mismatch`; invalid; conflict `wrong_state`, `unique_conflict`,
 * `reference_not_live`; forbidden, unauthenticated
 */
export function updateEntry(deps: Deps, actor: Actor, input: UpdateInput): Promise<Written> {
  const publish = input.publish === true;
  const { values, validFrom, validTo, locale, market } = input;
  return changeEntry(deps, actor, input, {
    acts: publish ? ["update", "publish"] : ["update"],
    request: { values, validFrom, validTo, locale, market, publish },
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    async decide(state) {
      const schema = requireSchema(state);
      const status = next(statusOf(state.base), "update");
      const { window, faults } = readWindow({ validFrom, validTo }, state.base);
      if (publish) faults.push(...windowFaults(window, state.now));
      faults.push(...placeFaults(input, state.base));
      const stored = state.base.values;
      const prepared = await prepare(deps, actor, state.context, schema, {
        id: state.base.id,
        given:
          values === undefined && locale === undefined && market === undefined
            ? storedInput(schema, stored)
            : mergeValues(schema, values === undefined ? {} : values, stored, { locale, market }),
        stored,
        held: state.held.claims,
        publish,
        faults,
      });
      return {
        operation: publish ? "publish" : "update",
        status: publish ? "PUBLISHED" : status,
        values: prepared.values,
        claims: prepared.claims,
        ...window,
        guards: prepared.guards,
        live: publish ? "publish" : "keep",
      };
    },
  });
}
