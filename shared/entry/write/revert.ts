import type { Actor } from "../../access/actor.ts";
import { next } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { remembered, storedInput } from "../model/index.ts";
import { revisionSnapshot } from "../read/index.ts";
import { keepingHidden, readWindow } from "../values/index.ts";
import { changeEntry, type Target, type Written } from "./change.ts";
import { prepare } from "./prepare.ts";
import { requireSchema, statusOf } from "./update.ts";

/** Restores an older revision as a new draft. The published revision does not change. */
export function revertEntry(
  given: Deps,
  actor: Actor,
  target: Target & { revision: number },
): Promise<Written> {
  const deps = ofOneWrite(given);
  return changeEntry(deps, actor, target, {
    acts: ["update"],
    request: ["revert", target.revision],
    async decide(state) {
      const schema = requireSchema(state);
      const status = next(statusOf(state.base), "update");
      const old = await revisionSnapshot(deps, state.schema, state.entry, target.revision);
      const { base, caller } = state;
      const { window, faults } = readWindow(old, base);
      const sender = { caller, createdBy: base.createdBy };
      const kept = keepingHidden(schema, sender, old.values, base.values, faults);
      const values = remembered(kept, old.values);
      const prepared = await prepare(deps, caller, state.context, schema, {
        id: state.base.id,
        given: storedInput(schema, values),
        createdBy: base.createdBy,
        stored: values,
        held: state.held.claims,
        publish: false,
        faults,
      });
      return {
        operation: "revert",
        status,
        values: prepared.values,
        claims: prepared.claims,
        ...window,
        guards: prepared.guards,
        made: prepared.made,
        live: "keep",
      };
    },
  });
}
