/**
 * A one-time migration that adds missing index keys of unique values. Older versions compared unique values as written.
 * Now, texts that look the same (but differ in white space, invisible characters or Unicode form) count as equal. So
 * each value also needs the index key of its normalized form.
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
const NAMED = 50;

export interface FormsPass {
  /** Unique values that two or more entries have in different spellings. */
  shared: SharedForm[];
  /** Ids of applications whose entries could not be read. The next start tries again. */
  failed: string[];
}

/** Migrates all applications. Does nothing if an earlier start of the platform has done so. */
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
        // A broken application must not stop the migration of other applications, or the start of the platform.
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

/** Logs which entries have the same unique value, without logging the value. */
async function reported(deps: Deps, shared: readonly SharedForm[]): Promise<readonly SharedForm[]> {
  for (const { orb, field, ids } of shared.slice(0, NAMED)) {
    deps.log.warn("entries have the same unique value in different Unicode forms", {
      orb,
      field,
      ids: ids.join(),
    });
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
