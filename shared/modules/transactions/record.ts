import { accountOf, actorId } from "../../access/actor.ts";
import { type Principal, principalIn, requireAct, requireMay } from "../../access/authorize.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { LiveOrb } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { publishMessages, withReservations } from "../../entry/index/index.ts";
import {
  addressOf,
  hmacs,
  loadEntry,
  readableIn,
  withNames,
  withStoredNames,
} from "../../entry/model/index.ts";
import { commit, planNew, retryOnConflict } from "../../entry/write/index.ts";
import { type LocalHandler, requireUsing, schemaOf, TARGET_INPUT } from "../../handlers/contract/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { derivedId } from "../../kernel/ids.ts";
import { canonical } from "../../kernel/json.ts";
import { ofOneWrite } from "../../quotas/guesses.ts";
import { counted } from "../../quotas/write.ts";
import { ownHints, RECORD, type RecordSnapshot, type RecordView, recordView } from "./schema.ts";

export interface NewRecord {
  values: unknown;
  /** Idempotency key. It never expires: another request with the same key creates no second record. */
  key?: string | undefined;
}

/**
 * Throws 401 or 403 if the caller may not create records. By default, every account may create records; the schema's
 * `access` can restrict this.
 */
function requireWriter(caller: Principal, schema: CompiledSchema): void {
  const { write, create } = schema.definition.access ?? {};
  requireAct(caller, "transactions:record");
  if (write !== undefined || create !== undefined)
    requireMay(caller, "record", { access: schema.access, own: true });
  else if (caller.role === "public") throw refusal(caller.actor);
}

export async function recordTransaction(
  plain: Deps,
  caller: Principal,
  first: LiveOrb,
  given: CompiledSchema,
  input: NewRecord,
): Promise<{ record: RecordView; replayed: boolean }> {
  const { actor } = caller;
  requireWriter(caller, given);
  const deps = ofOneWrite(plain);
  const owner = actorId(actor);
  const { key, values } = input;
  const requests = key === undefined ? [] : await hmacs(deps.config, `transaction/${canonical(values)}`);
  const [request] = requests;
  // The record's id is derived from the idempotency key. So a repeated request writes to the same subject, and gets a
  // conflict.
  const keyed =
    key === undefined
      ? undefined
      : await derivedId(["transaction", given.home.schema, accountOf(actor), key]);
  const write = async (attempt: number) => {
    const id = keyed ?? deps.newId();
    let [live, schema] = [first, given];
    if (attempt > 0) {
      live = await requireUsing(deps, first.orb, "transactions.record");
      schema = schemaOf(live, "TRANSACTIONS", { module: given.module, schema: given.id });
    }
    const caller = principalIn(actor, live.orb, live.compiled);
    if (attempt > 0) requireWriter(caller, schema);
    const view = readableIn(schema, caller, owner);
    const address = addressOf(schema, id);
    const before = request === undefined ? null : await loadEntry(deps, live.orb, id, schema);
    if (before !== null) {
      const stored: RecordSnapshot = withNames(schema, before.head);
      if (stored.request === undefined || !requests.includes(stored.request)) throw mismatch();
      return { record: recordView(view, stored), replayed: true };
    }
    const plan = await planNew(deps, caller, live, schema, { module: schema.module, values }, id);
    const [made] = plan.snapshots;
    const snapshot: RecordSnapshot = {
      ...made,
      status: "PUBLISHED",
      publishedRevision: 1,
      ...(request === undefined ? {} : { request }),
    };
    const write = {
      ...plan,
      snapshots: [snapshot],
      hints: ownHints(address, owner),
      // Admins read records from the entry's log, so only other readers need a published copy.
      live:
        schema.liveRole === "admin"
          ? []
          : publishMessages(
              address,
              schema.liveRole,
              withStoredNames(schema, snapshot),
              null,
              deps.clock.now(),
            ),
    };
    const sure = attempt === 0 ? write : await withReservations(deps, live, schema, write);
    // Two requests with the same key may write the same record at the same time. One atomic batch makes sure that lists
    // never contain the record twice.
    await commit(deps, live, sure, { atomic: request !== undefined });
    return { record: recordView(view, snapshot), replayed: false };
  };
  return counted(deps, actor, first.orb, () => retryOnConflict(deps, first.orb, write));
}

function mismatch(): AppError {
  return new AppError(
    "invalid",
    "idempotency_mismatch",
    "This key was already used for other values. Choose another key.",
    {
      errors: [
        {
          path: "/key",
          code: "idempotency_mismatch",
          message: "was already used for other values. Choose another key.",
        },
      ],
    },
  );
}

export const transactionsRecord: LocalHandler = {
  kind: "local",
  name: "transactions.record",
  act: "transactions:record",
  description: "Appends a record to a TRANSACTIONS module. Records are never changed or removed.",
  auth: "AuthRequired",
  input: {
    type: "object",
    required: ["values"],
    additionalProperties: false,
    properties: {
      ...TARGET_INPUT,
      values: { type: "object", description: "Values of the schema's fields." },
      key: {
        type: "string",
        minLength: 1,
        maxLength: 255,
        description:
          "Idempotency key: the same account, key and values create only one record. Default: the header Idempotency-Key.",
      },
    },
  },
  output: RECORD,
  async run({ deps, live, principal, input, idempotencyKey }) {
    const schema = schemaOf(live, "TRANSACTIONS", input);
    const { values, key } = input;
    const given: NewRecord = { values, key: typeof key === "string" ? key : idempotencyKey };
    const { record } = await recordTransaction(deps, principal, live, schema, given);
    return record;
  },
};
