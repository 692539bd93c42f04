import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import type { EntryAddress } from "../../store/subjects.ts";
import { knownValues } from "../model/known.ts";
import type { OrbContext } from "../model/resolve.ts";
import { schemaOf } from "../model/resolve.ts";
import { openEverything } from "../model/sealing.ts";
import type { EntrySnapshot, StoredValue } from "../model/snapshot.ts";

/**
 * The values of a revision with the sensitive ones in plaintext, for platform admins. The audit record is acknowledged
 * before anything is opened. Such an answer must not be stored by anybody (`no-store`).
 * @param input.past whether it is shown as history, with what the definition has dropped since
 * @throws AppError forbidden, unauthenticated; internal `sealed_value_lost`
 */
export async function revealValues(
  deps: Deps,
  actor: Actor,
  input: { orb: OrbContext; address: EntryAddress; snapshot: EntrySnapshot; past?: boolean },
): Promise<Record<string, StoredValue>> {
  const { orb, address, snapshot, past } = input;
  requireOperator(actor, "entries.reveal");
  await audit(deps, {
    realm: orb.orb,
    action: "reveal",
    actor,
    target: `${snapshot.id}/${snapshot.revision}`,
    outcome: "ok",
  });
  const schema = schemaOf(orb.compiled, address);
  const values =
    past === true || schema === undefined ? snapshot.values : knownValues(schema, snapshot.values);
  return openEverything(deps.config, schema, { orb: orb.orb, id: snapshot.id, values });
}
