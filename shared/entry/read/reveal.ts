import { audit } from "../../access/audit.ts";
import { isOwn, type Principal, requireMay } from "../../access/authorize.ts";
import { ADMINS_ONLY } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import type { EntryAddress } from "../../store/subjects.ts";
import { publishedOf, type VisibleEntry } from "../index/index.ts";
import {
  type EntrySnapshot,
  effective,
  knownValues,
  type OrbContext,
  ofFields,
  openEverything,
  type StoredValue,
  schemaOf,
  withoutAnyMarks,
} from "../model/index.ts";
import type { Reading } from "./reading.ts";

/**
 * Decrypts the sensitive values of a revision. The caller must be an owner of the application, or a handler with the
 * permission `entries:reveal`. Writes an audit record first. If that fails, nothing is decrypted. The response must not
 * be cached.
 * @param input.past whether to include values of fields that the definition no longer has
 */
export async function revealValues(
  deps: Deps,
  caller: Principal,
  input: { orb: OrbContext; address: EntryAddress; snapshot: EntrySnapshot; past?: boolean },
): Promise<Record<string, StoredValue>> {
  const { orb, address, snapshot, past } = input;
  const schema = schemaOf(orb.compiled, address);
  const access = schema?.access ?? ADMINS_ONLY;
  const on = { access, own: isOwn(caller.actor, snapshot.createdBy) };
  requireMay(caller, "reveal", on);
  await audit(deps, {
    realm: orb.orb,
    action: "reveal",
    actor: caller.actor,
    target: `${snapshot.id}/${snapshot.revision}`,
  });
  const values =
    past === true || schema === undefined
      ? withoutAnyMarks(snapshot.values)
      : knownValues(schema, snapshot.values);
  return openEverything(deps.config, schema, { orb: orb.orb, id: snapshot.id, values });
}

/**
 * Returns a visible entry with its sensitive values decrypted, limited to fields that the caller may read. The rules
 * of {@link revealValues} apply.
 * @param at the past time for which the entry was read, if any
 */
export async function revealEntry(
  deps: Deps,
  { caller, orb }: Reading,
  seen: VisibleEntry,
  at = deps.clock.now(),
): Promise<VisibleEntry> {
  const { head, address, shown } = seen;
  const newest = effective(head, at);
  const isNewest = shown.revision === newest.revision;
  const schema = schemaOf(orb.compiled, address);
  const snapshot = isNewest ? newest : await publishedOf(deps, schema, { head, address });
  if (snapshot === null) throw notFound("revision", "No revision of the entry is published.");
  const revealed = await revealValues(deps, caller, { orb, address, snapshot });
  return { ...seen, shown: { ...snapshot, values: ofFields(seen.schema, revealed) } };
}
