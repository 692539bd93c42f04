/** Brings the unique values of every orb, stored by a version that knew no normal form, into it: once, at a start. */
import { system } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { definitionFor } from "../definition/stored/live.ts";
import type { Deps } from "../deps.ts";
import { claimForms, type SharedForm } from "../entry/migrate/claim-forms.ts";
import { AppError } from "../kernel/errors.ts";
import { streams, subjects } from "../store/subjects.ts";
import { listOrbs } from "./read.ts";

const PAGE = 200;
/** How many audit records one orb gets. */
const NAMED = 50;

/** Result of a pass over all orbs. */
export interface FormsPass {
  /** Values that several entries hold. */
  shared: SharedForm[];
  /** Ids of orbs whose entries could not be walked: the next start tries again. */
  failed: string[];
}

/**
 * Does nothing, and reads once, when it was done before. Each value that several entries hold is in the audit log: action
 * `entry`, detail `unique_value_shared`.
 */
export async function claimFormsOnce(deps: Deps): Promise<FormsPass> {
  const pass: FormsPass = { shared: [], failed: [] };
  if ((await deps.store.get(streams.platform, subjects.claimForms)) !== null) return pass;
  let after: number | undefined;
  do {
    const page = await listOrbs(deps, system, { limit: PAGE, after });
    for (const { id } of page.orbs.map(({ document }) => document)) {
      try {
        const orb = await definitionFor(deps, id);
        if (orb !== null) pass.shared.push(...(await reported(deps, await claimForms(deps, orb))));
      } catch (error) {
        // One orb that cannot be read, or is written all the time, stops neither the others nor the start.
        if (!(error instanceof AppError)) throw error;
        pass.failed.push(id);
      }
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
  if (pass.failed.length > 0) return pass;
  const at = new Date(deps.clock.now()).toISOString();
  await deps.store.append(streams.platform, {
    subject: subjects.claimForms,
    data: JSON.stringify({ v: 1, at }),
    rollup: true,
  });
  return pass;
}

/** Records values that several entries hold, for operators. No record holds a value. */
async function reported(deps: Deps, shared: readonly SharedForm[]): Promise<readonly SharedForm[]> {
  for (const { orb, field, ids } of shared.slice(0, NAMED)) {
    deps.log.warn("entries hold one unique value in different forms", { orb, field, ids: ids.join() });
    for (const target of ids) {
      await audit(deps, {
        realm: orb,
        action: "entry",
        actor: system,
        target: `${target}/${field}`,
        outcome: "refused",
        detail: "unique_value_shared",
      });
    }
  }
  return shared;
}
