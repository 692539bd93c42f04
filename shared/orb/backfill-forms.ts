/**
 * Adds missing index keys of texts. Older versions compared unique values as written. Now, texts that look the same (but
 * differ in white space, invisible characters or Unicode form) count as equal. So each value also needs the index key of
 * its normalized form. Ordered indexes list texts in one Unicode form too.
 *
 * A mark in the stream of each application says up to which message this is done, and under which definition. An older
 * version adds neither the keys nor the mark, so what it writes comes after the mark, and is completed when a newer
 * version runs again. A newer version of the forms has a mark of its own.
 */
import { system } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { stopsWrites } from "../definition/live-orb.ts";
import {
  type Activation,
  activationOf,
  concernsOneOrb,
  definitionFor,
  FORMS_VERSION,
  storedDefinitions,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { completeLive } from "../entry/listed/index.ts";
import { backfillForms, type SharedForm } from "../entry/migrate/index.ts";
import { streams, subjects } from "../store/subjects.ts";

const NAMED = 50;
/** Applications that are looked at in parallel. */
const PARALLEL = 16;

/** Body of the mark of an application. */
interface StoredMark {
  v: 1;
  at: string;
  /** Entries written up to this sequence number of the stream have all keys. */
  upTo: number;
  /** Revision of the definition from which the keys were computed. */
  revision: number;
}

export interface FormsPass {
  /** Unique values that two or more entries have in different spellings. */
  shared: SharedForm[];
  /** Ids of applications whose entries could not be read. The next start tries again. */
  failed: string[];
}

/** Completes the keys of all applications before requests are served. */
export async function completeAllForms(deps: Deps): Promise<FormsPass> {
  const pass: FormsPass = { shared: [], failed: [] };
  const complete = async (record: Activation) => {
    try {
      pass.shared.push(...(await completeForms(deps, record, { live: true })));
    } catch (error) {
      // A broken application must not stop the migration of other applications, or the start of the platform.
      if (!concernsOneOrb(error)) throw error;
      pass.failed.push(record.orb);
    }
  };
  let batch: Activation[] = [];
  for await (const { entry, deleted } of storedDefinitions(deps)) {
    const record = deleted ? undefined : activationOf(entry);
    if (record !== undefined && !("reason" in record)) batch.push(record);
    if (batch.length < PARALLEL) continue;
    await Promise.all(batch.map(complete));
    batch = [];
  }
  await Promise.all(batch.map(complete));
  return pass;
}

/**
 * Returns the sequence number of the stream up to which entries have all keys under the current definition. Returns 0 if
 * an older version may have activated a definition since the mark was written, or if the stream lost its end.
 */
function completeUpTo({ revision, forms }: Activation, mark: StoredMark | undefined, last: number): number {
  if (mark === undefined || mark.upTo > last) return 0;
  const isOwn = forms?.version === FORMS_VERSION && forms.pending !== true;
  return mark.revision === revision || (isOwn && mark.revision >= forms.from) ? mark.upTo : 0;
}

/**
 * Completes the keys of one application.
 * @param options.live also completes the live indexes, in which an older version does not list what it publishes
 * @returns unique values that two or more entries have in different spellings
 */
export async function completeForms(
  deps: Deps,
  record: Activation,
  { live = false }: { live?: boolean } = {},
): Promise<readonly SharedForm[]> {
  // Nothing is written to a stream that has lost messages, until the operator decides.
  if (stopsWrites(record.damaged)) return [];
  const stream = streams.orb(record.orb);
  const subject = subjects.formsMark(record.orb, FORMS_VERSION);
  const info = await deps.store.streamInfo(stream);
  if (info === null) return [];
  const message = await deps.store.get(stream, subject);
  const mark = message?.json<StoredMark>();
  const last = info.state.last_seq;
  const since = completeUpTo(record, mark, last);
  if (since > 0 && (since === last || message?.seq === last)) return [];
  const definition = await definitionFor(deps, record.orb);
  if (definition === null) return [];
  const { any, shared } = await backfillForms(deps, definition, since);
  if (live) await completeLive(deps, definition, definition.compiled.byHome.values(), since);
  const at = new Date(deps.clock.now()).toISOString();
  if (since === 0 || any)
    await deps.store.append(stream, {
      subject,
      data: JSON.stringify({ v: 1, at, upTo: last, revision: record.revision } satisfies StoredMark),
      rollup: true,
    });
  return reported(deps, shared);
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
