/**
 * Says what a caller may read of the entries of one schema. A request decides this once, and passes it on. Lists and
 * live lists use the same decision.
 */
import { mayWith, type Principal, requireMay, seeing } from "../../access/authorize.ts";
import type { EntryOperation } from "../../access/credentials/index.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { newestRevision, seenBy, type VisibleEntry } from "../index/index.ts";
import { addressOf, comparableBy, type EntrySnapshot, type OrbContext, readableBy } from "../model/index.ts";

/** A caller who may read entries of a schema, though perhaps only their own. */
export class Reading {
  readonly caller: Principal;
  readonly orb: OrbContext;
  readonly schema: CompiledSchema;
  /** Whether to read the newest revision of each entry, drafts included, if the caller may read drafts of the entry. */
  readonly latest: boolean;
  #readable: CompiledSchema | undefined;
  #comparable: CompiledSchema | undefined;

  private constructor(caller: Principal, orb: OrbContext, schema: CompiledSchema, latest: boolean) {
    this.caller = caller;
    this.orb = orb;
    this.schema = schema;
    this.latest = latest;
  }

  /** @throws AppError unauthenticated or forbidden if the caller may read no such revision in any entry of the schema */
  static of(caller: Principal, orb: OrbContext, schema: CompiledSchema, latest = false): Reading {
    requireMay(caller, latest ? "readDraft" : "read", { access: schema.access, own: true });
    return new Reading(caller, orb, schema, latest);
  }

  /** Returns the same reading with drafts. Throws if the caller may read no drafts. */
  withDrafts(): Reading {
    return this.latest ? this : Reading.of(this.caller, this.orb, this.schema, true);
  }

  /** The schema, reduced to the fields that the caller may read in their own entries. */
  get readable(): CompiledSchema {
    this.#readable ??= readableBy(this.schema, this.caller, true);
    return this.#readable;
  }

  /** The schema, reduced to the fields that the caller may compare in filters and sort orders. */
  get comparable(): CompiledSchema {
    this.#comparable ??= comparableBy(this.schema, this.caller);
    return this.#comparable;
  }

  /** Returns whether the caller may perform an operation on an entry of the schema. */
  may(operation: EntryOperation, createdBy: string): boolean {
    return mayWith(this.caller, operation, { access: this.schema.access, createdBy });
  }

  /**
   * Returns the newest revision of an entry, even if it is a draft. Returns undefined if the caller may not read drafts.
   * @param now milliseconds since the epoch
   */
  newest(head: EntrySnapshot, now: number): VisibleEntry | undefined {
    if (seeing(this.caller, head.id) !== this.caller || !this.may("readDraft", head.createdBy))
      return undefined;
    return newestRevision(this.schema, addressOf(this.schema, head.id), head, now);
  }

  /** Returns an entry without the values that the caller may not read, or undefined if the caller may not read it. */
  shown<T extends VisibleEntry>(seen: T): T | undefined {
    const caller = seeing(this.caller, seen.address.id);
    const { access } = this.schema;
    return mayWith(caller, "read", { access, createdBy: seen.head.createdBy })
      ? seenBy(caller, seen)
      : undefined;
  }
}
