/**
 * Takes back lines that an upload has stored before it was interrupted, if the upload is sent again with other lines.
 * So the collection ends with exactly the lines of the corrected upload, in their order.
 */
import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError, writeConflict } from "../../kernel/errors.ts";
import { streams } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import { effective, loadEntry, type OrbContext, snapshotOf } from "../model/index.ts";
import { deleteEntry } from "../write/index.ts";
import { MOST_KEYS, type OpenLine, type UploadClaims } from "./bulk-claims.ts";
import { untilKnown } from "./bulk-group.ts";
import { changeMany } from "./change-many.ts";

/** Maximum number of entries that an error names. */
const NAMED = 3;

export class Unfinished {
  readonly #deps: Deps;
  readonly #claims: UploadClaims;
  /** Keys of the stored lines of an upload that has not ended. */
  #keys: string[];
  readonly #unfinished: ReadonlySet<string>;
  /** How many of the keys the lines so far have repeated. */
  #repeated = 0;
  /** Revisions that a dry run has found to be taken back. */
  #hidden = new Set<number>();

  constructor(deps: Deps, claims: UploadClaims) {
    this.#deps = deps;
    this.#claims = claims;
    this.#keys = claims.open.map(({ key }) => key);
    this.#unfinished = new Set(this.#keys);
  }

  /** Number of stored lines that the lines so far have not repeated. */
  get rest(): number {
    return this.#keys.length - this.#repeated;
  }

  /** Takes the key of the next line. Returns whether the rest must be taken back before the line is written. */
  differsAt(key: string | undefined): boolean {
    if (this.rest === 0) return false;
    if (key === this.#keys[this.#repeated]) {
      this.#repeated++;
      return false;
    }
    // The line belongs to an upload that has ended.
    return key === undefined || !this.#claims.isKnown(key) || this.#unfinished.has(key);
  }

  /**
   * Deletes the entries of the rest, the last one first.
   * @param options.dryRun whether only to check that this is possible
   * @returns their number
   * @throws AppError conflict `unfinished_changed` if an entry has changed since, or must not be deleted
   * @throws AppError conflict `unfinished_too_large` if the keys of the upload are not all in memory
   */
  async takeBack(actor: Actor, orb: OrbContext, options: { dryRun: boolean }): Promise<number> {
    if (!this.#claims.hasRoom || this.#claims.hasOwn) throw tooLarge();
    const from = this.#repeated;
    const lines = this.#claims.open.slice(from);
    await remove(this.#deps, actor, orb, lines, true);
    this.#keys = this.#keys.slice(0, from);
    if (options.dryRun) {
      this.#hidden = new Set(this.#claims.hide(from).map(({ seq }) => seq));
      return lines.length;
    }
    await marked(this.#claims, () => this.#claims.take(from));
    if (this.#claims.taking.length === 0) throw writeConflict();
    await finishTakingBack(this.#deps, actor, orb, this.#claims);
    return lines.length;
  }

  /** Returns whether a dry run has found that an entry would be taken back. */
  async wouldRemove(orb: string, schema: CompiledSchema, id: string): Promise<boolean> {
    if (this.#hidden.size === 0) return false;
    const entry = await loadEntry(this.#deps, orb, id, schema);
    return entry !== null && this.#hidden.has(entry.seq);
  }
}

/** Deletes what an earlier upload has begun to take back. */
export async function finishTakingBack(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  claims: UploadClaims,
): Promise<void> {
  if (claims.taking.length === 0) return;
  await remove(deps, actor, orb, claims.taking, false);
  await marked(claims, () => claims.taken());
}

/** Stores that the upload has processed all its lines. */
export const endUpload = (claims: UploadClaims): Promise<void> => marked(claims, () => claims.end());

/** Stores a mark. If an attempt has an unknown outcome, reads what was stored. */
async function marked(claims: UploadClaims, store: () => Promise<void>): Promise<void> {
  await untilKnown(async () => {
    try {
      await store();
    } catch (error) {
      await claims.refresh();
      // Another upload, or an attempt whose outcome was unknown, has written. What is read says what is left to do.
      if (!(error instanceof Conflict)) throw error;
      await store();
    }
  });
}

async function remove(
  deps: Deps,
  actor: Actor,
  orb: OrbContext,
  lines: readonly OpenLine[],
  dryRun: boolean,
): Promise<void> {
  const bySeq = new Map(lines.map(({ key, seq }) => [key, seq]));
  const keys = lines.map(({ key }) => key).reverse();
  const { failed } = await changeMany(keys, async (key) => {
    const seq = bySeq.get(key) ?? 0;
    const snapshot = snapshotOf(await deps.store.getSeq(streams.orb(orb.orb), seq));
    const entry = snapshot === null ? null : await loadEntry(deps, orb.orb, snapshot.id);
    if (entry === null || entry.head.status === "DELETED") return false;
    const { id } = entry.address;
    if (entry.seq !== seq)
      throw new AppError("conflict", "unfinished_changed", `The entry ${id} has changed since.`);
    const ifMatch = effective(entry.head, deps.clock.now()).revision;
    await deleteEntry(deps, actor, { orbId: orb.orb, orb, id, ifMatch, dryRun });
    return true;
  });
  // Between the check and the deletion, somebody may have changed an entry. It is not the upload's any more, and stays.
  const reasons = failed
    .filter(
      ({ error }) =>
        dryRun || !["unfinished_changed", "revision_mismatch", "entry_not_found"].includes(error.code),
    )
    .map(({ error }) => error.detail);
  if (reasons.length > 0) throw changed(reasons);
}

function changed(reasons: readonly string[]): AppError {
  const more = reasons.length > NAMED ? ` There are ${reasons.length - NAMED} more.` : "";
  const detail = `An earlier upload with this key was interrupted, and this one has other lines. The entries of the earlier lines cannot all be deleted, so nothing was written: ${reasons.slice(0, NAMED).join(" ")}${more} Delete them yourself, or use another key.`;
  return new AppError("conflict", "unfinished_changed", detail);
}

function tooLarge(): AppError {
  const detail = `An earlier upload with this key was interrupted after more than ${MOST_KEYS.toLocaleString("en")} lines, and this one has other lines. So many cannot be taken back. Send the earlier lines first, or use another key.`;
  return new AppError("conflict", "unfinished_too_large", detail);
}
