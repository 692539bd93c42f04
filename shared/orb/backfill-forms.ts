/**
 * One-time backfill at a start: reserves the normal forms of unique values that an older version has stored, in every
 * orb.
 */
import { system } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { definitionFor } from "../definition/stored/live.ts";
import type { Deps } from "../deps.ts";
import { backfillForms, type SharedForm } from "../entry/migrate/backfill-forms.ts";
import { AppError } from "../kernel/errors.ts";
import { streams, subjects } from "../store/subjects.ts";
import { listOrbs } from "./read.ts";

const ORBS_PER_PAGE = 200;
/** Maximum number of shared values per orb that get audit records. */
const NAMED = 50;

/** Result of a pass over all orbs. */
export interface FormsPass {
  /** Values that several entries share. */
  shared: SharedForm[];
  /** Ids of orbs whose entries could not be scanned. The next start tries again. */
  failed: string[];
}

/**
 * Runs the backfill once. If it was done before, does nothing after one read. Each value that several entries share
 * is recorded in the audit log: action `entry`, detail `unique_value_shared`.
 */
export async function backfillFormsOnce(deps: Deps): Promise<FormsPass> {
  const pass: FormsPass = { shared: [], failed: [] };
  if ((await deps.store.get(streams.platform, subjects.claimForms)) !== null) return pass;
  let after: number | undefined;
  do {
    const page = await listOrbs(deps, system, { limit: ORBS_PER_PAGE, after });
    for (const { id } of page.orbs.map(({ document }) => document)) {
      try {
        const orb = await definitionFor(deps, id);
        if (orb !== null) pass.shared.push(...(await reported(deps, await backfillForms(deps, orb))));
      } catch (error) {
        // An orb that cannot be read, or has constant write conflicts, must not block the others or the start.
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

/** Reports shared values to operators, without revealing the values. */
async function reported(deps: Deps, shared: readonly SharedForm[]): Promise<readonly SharedForm[]> {
  for (const { orb, field, ids } of shared.slice(0, NAMED)) {
    deps.log.warn("entries share a unique value in different forms", { orb, field, ids: ids.join() });
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
