/** The definition of the orb that a change set proposes. */

import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import { type CompiledOrb, type CompiledSchema, compileOrb } from "../../definition/compile.ts";
import { homeKey, type OrbDocument } from "../../definition/document/index.ts";
import type { StoredNames } from "../../definition/names/index.ts";
import { bringsBack } from "../../definition/retired.ts";
import { type ExistingOrb, requireReadable } from "../../definition/stored/index.ts";
import { allFields } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import type { OrbContext } from "../../entry/model/index.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { AppError } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { reindexed } from "../../orb/migrate/index.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import { isPending, isReadable, parseSet } from "../record/index.ts";

/** A proposed definition, as stored. */
export interface Proposal {
  v: 1;
  /** Number of the version within the set. A write expects it in `If-Match`. */
  revision: number;
  /** Revision of the live definition from which it was made. */
  base: number;
  document: OrbDocument;
  /** Names in stored data, with which the pending versions of the set are written too. */
  names?: StoredNames | undefined;
  /** Whether modules and schemas with stored entries may be removed. */
  force?: true;
  /** Whether removed fields or schemas come back for which entries have values. Their earlier rights are not stored. */
  bringsBack?: true;
  /** Whether it gave other rights than the live one of then, which may have removed what they are for since. */
  changesRights?: true;
  by: string;
  /** ISO 8601. */
  at: string;
}

export interface ReadProposal {
  proposal: Proposal;
  seq: number;
}

/** What the list of the content of a set says of its definition. */
export interface DefinitionItem {
  revision: number;
  base: number;
  /** Hash of all that decides what the publication does: two documents that look the same can keep other values. */
  hash: string;
  force?: true;
  /** Set by the publication: the revision that it made. */
  done?: { revision: number };
}

export function parseProposal(message: StoredMessage | null | undefined): ReadProposal | null {
  if (message === null || message === undefined || message.size === 0) return null;
  return { proposal: message.json<Proposal>(), seq: message.seq };
}

/** Reads the definition that a set proposes. Null if it proposes none. */
export async function findProposal(
  { store }: Pick<Deps, "store">,
  orb: string,
  set: string,
): Promise<ReadProposal | null> {
  return parseProposal(await nullIfMissing(store.get(streams.orb(orb), subjects.changeDefinition(orb, set))));
}

/** Returns the message that stores a proposed definition. The list of the content of the set guards it. */
export function proposalMessage(orb: string, set: string, proposal: Proposal): Append {
  return { subject: subjects.changeDefinition(orb, set), data: JSON.stringify(proposal), rollup: true };
}

/** Says in a proposed definition whether it brings back what the one before has removed, and whether it gives other rights. */
export function rightsMarks(
  { retired = [], ...live }: Pick<ExistingOrb, "retired" | "document" | "names">,
  { document, names }: Pick<Proposal, "document" | "names">,
): Pick<Proposal, "bringsBack" | "changesRights"> {
  const isOther = changesRights(compileOrb(live.document, live.names), compileOrb(document, names));
  return {
    ...(bringsBack(retired, document, names) ? { bringsBack: true } : {}),
    ...(isOther ? { changesRights: true } : {}),
  };
}

export async function itemOf(proposal: Proposal): Promise<DefinitionItem> {
  const { revision, base, document, names, force } = proposal;
  const hash = await sha256(JSON.stringify([document, force === true, base, names]));
  return { revision, base, hash, ...(force === undefined ? {} : { force }) };
}

/** Error 409: the live definition is not the one from which the set's was made. */
export function definitionMovedOn(base: number, now: number | null): AppError {
  return new AppError(
    "conflict",
    "definition_conflict",
    `The orb's definition has changed since it was written into the change set: revision ${base} was live then, ${now ?? "none"} is now. Rebase it with POST …/definition/rebase.`,
    { data: { base, now } },
  );
}

/** The definitions that sets proposed last in place of a live one, by set and sequence number. */
const known = new WeakMap<CompiledOrb, BoundedMap<string, OrbContext>>();
const MOST = 16;

/** Returns the definition that a set proposes in place of the live one, ready to read and write entries. */
export function proposedContext<T extends OrbContext>(live: T, key: string, proposal: ProposedDocument): T {
  const made = known.get(live.compiled) ?? new BoundedMap<string, OrbContext>(MOST);
  known.set(live.compiled, made);
  const found = made.get(key);
  const { compiled, pending, proposed } = found ?? contextOf(live, proposal);
  const context = {
    ...live,
    compiled,
    pending,
    document: proposal.document,
    proposed: { ...proposed, live },
  };
  made.set(key, context);
  return context;
}

type ProposedDocument = Pick<Proposal, "document" | "names" | "base" | "bringsBack" | "changesRights">;

function contextOf(live: OrbContext, proposal: ProposedDocument) {
  const { document, names, base } = proposal;
  requireReadable(live.orb, document);
  const compiled = compileOrb(document, names);
  // The stored entries are in no index that is new.
  const pending = [...(live.pending ?? []), ...reindexed(live.compiled, compiled).map(({ home }) => home)];
  return {
    compiled,
    pending,
    proposed: {
      live,
      base,
      names,
      changesRights:
        proposal.bringsBack === true ||
        proposal.changesRights === true ||
        changesRights(live.compiled, compiled),
    },
  };
}

/**
 * Returns the definition with which requests within a set read and write: the one that the set proposes, or else the live
 * one.
 * @param reader the live definition is returned if this caller may not read the set
 */
export async function contextIn<T extends OrbContext>(
  { store }: Pick<Deps, "store">,
  live: T,
  set: string,
  reader?: () => Promise<Actor>,
): Promise<T> {
  const { orb } = live;
  if (!isToken(set)) return live;
  const wanted = [subjects.changeRecord(orb, set), subjects.changeDefinition(orb, set)] as const;
  const [record, definition] = await Promise.all(
    wanted.map((subject) => nullIfMissing(store.get(streams.orb(orb), subject))),
  );
  const read = parseProposal(definition);
  if (read === null || record === null || record === undefined) return live;
  const found = parseSet(record).set;
  if (!isPending(found.state)) return live;
  if (
    reader !== undefined &&
    !isReadable(principalIn(await reader(), orb, live.compiled), live.compiled, found)
  )
    return live;
  return proposedContext(live, `${set}/${read.seq}`, read.proposal);
}

const asText = (value: unknown) =>
  JSON.stringify(value, (_, one: unknown) => (one instanceof Map || one instanceof Set ? [...one] : one));

/** Returns the access to each field that has rules of its own, by the stored names that lead to the field. */
function restricted(schema: CompiledSchema): Map<string, string> {
  const pathOf = ({ storedName, parent }: (typeof fields)[number]): string =>
    parent === undefined ? storedName : `${pathOf(parent)}.${storedName}`;
  const fields = allFields(schema);
  return new Map(
    fields
      .filter(({ access }) => access.read !== undefined || access.write !== undefined)
      .map((field) => [pathOf(field), asText(field.access)]),
  );
}

/** Returns whether a definition gives other rights to what exists than the live one. */
function changesRights(live: CompiledOrb, after: CompiledOrb): boolean {
  if (live.usesAccess !== after.usesAccess || asText(live.roles) !== asText(after.roles)) return true;
  if (asText(live.grants) !== asText(after.grants)) return true;
  return [...after.byHome.values()].some((schema) => {
    const before = live.byHome.get(homeKey(schema.home));
    if (before === undefined) return false;
    if (asText(before.access) !== asText(schema.access)) return true;
    const [was, now] = [restricted(before), restricted(schema)];
    const isMade = schema.made.some(({ form }) => !before.made.some((one) => one.form === form));
    return (was.size > 0 && isMade) || [...was].some(([path, access]) => now.get(path) !== access);
  });
}
