import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { next } from "../../definition/document/lifecycle.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { publishMessages } from "../index/schedules.ts";
import { storedInput } from "../model/known.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import { admitted, merged } from "./admitted.ts";
import { changeEntry, type Target, type Written } from "./change.ts";
import type { State } from "./change-write.ts";
import { readWindow, windowFaults } from "./input.ts";
import { prepare } from "./prepare.ts";

export interface UpdateInput extends Target {
  /** Values of the entry: only the values to change if `locale` or `market` is set, otherwise all values. */
  values?: unknown;
  /** Whether to write nothing if the newest revision already has these values, `validFrom` and `validTo`. */
  skipsUnchanged?: boolean | undefined;
  /** Whether `values` is a JSON Merge Patch of the stored values. */
  merge?: boolean | undefined;
  /** Time from which the entry is visible: ISO 8601, or null for no limit. If omitted, it does not change. */
  validFrom?: unknown;
  validTo?: unknown;
  publish?: boolean | undefined;
  locale?: string | undefined;
  market?: string | undefined;
  /**
   * Properties that identify the entry, such as its schema. If the client sends them, they must match the URL path,
   * because an update cannot move an entry.
   */
  place?: Partial<Record<(typeof PLACE)[number], unknown>>;
}

const PLACE = ["id", "orb", "module", "schema"] as const;

function placeFaults(input: UpdateInput, schema: CompiledSchema, base: EntrySnapshot): Fault[] {
  const faults: Fault[] = [];
  const is = { id: base.id, orb: base.orb, module: base.module, schema: schema.id };
  for (const name of PLACE) {
    const sent = input.place?.[name];
    if (sent === undefined || sent === is[name]) continue;
    // The schema may have been renamed since the client read the entry. So also accept the old id.
    if (name === "schema" && sent === base.schema) continue;
    const message =
      name === "id"
        ? "must be the id in the path. Remove it, or send the id in the path."
        : `must be "${is[name]}", because an entry cannot be moved. Remove this property or send that value.`;
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

export function requireSchema(state: State): CompiledSchema {
  if (state.schema !== undefined) return state.schema;
  throw new AppError(
    "conflict",
    "schema_gone",
    "The orb's definition no longer has this entry's schema. You can only archive or delete the entry.",
  );
}

export function statusOf(snapshot: EntrySnapshot): Exclude<EntrySnapshot["status"], "DELETED"> {
  if (snapshot.status === "DELETED")
    throw new AppError("not_found", "entry_not_found", "The entry has been deleted. Create a new one.");
  return snapshot.status;
}

/** Appends a new revision, and publishes it in the same atomic write if requested. */
export function updateEntry(deps: Deps, actor: Actor, input: UpdateInput): Promise<Written> {
  const publish = input.publish === true;
  const { values, validFrom, validTo, locale, market } = input;
  return changeEntry(deps, actor, input, {
    acts: publish ? ["update", "publish"] : ["update"],
    request: { values, validFrom, validTo, locale, market, publish },
    ...(input.skipsUnchanged === true ? { skipsUnchanged: true } : {}),
    sent: isObject(values) ? Object.keys(values) : [],
    publishing: (state, made, role) =>
      publishMessages(state.entry.address, role, made, state.entry.head, state.now),
    async decide(state) {
      const schema = requireSchema(state);
      const status = next(statusOf(state.base), "update");
      const { window, faults } = readWindow({ validFrom, validTo }, state.base);
      if (publish) faults.push(...windowFaults(window, state.now));
      faults.push(...placeFaults(input, schema, state.base));
      const { values: stored, createdBy } = state.base;
      const sender = { caller: principalIn(actor, state.context.orb, state.context.compiled), createdBy };
      const whole = values === undefined && locale === undefined && market === undefined;
      const place = { locale, market };
      const named = values === undefined ? {} : values;
      const sent = input.merge === true ? merged(schema, sender, named, stored, place) : named;
      const { given, faults: refused } = whole
        ? { given: storedInput(schema, stored), faults: [] }
        : admitted(schema, sender, sent, stored, place);
      faults.push(...refused);
      const prepared = await prepare(deps, actor, state.context, schema, {
        id: state.base.id,
        given,
        createdBy,
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
        updates: publish,
      };
    },
  });
}
