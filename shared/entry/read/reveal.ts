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
 * Decrypts the sensitive values of a revision for a platform admin. First writes an audit record, without which nothing
 * is decrypted. The response must not be cached.
 * @param input.past whether to include values that the definition no longer has
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
  });
  const schema = schemaOf(orb.compiled, address);
  const values =
    past === true || schema === undefined ? snapshot.values : knownValues(schema, snapshot.values);
  return openEverything(deps.config, schema, { orb: orb.orb, id: snapshot.id, values });
}
