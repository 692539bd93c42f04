/** The attempts of one publication: they charge each entry once, and know which batch they have sent. */
import { type Actor, actorId } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { Refusals, type Together } from "../../entry/batch/index.ts";
import { type EntrySnapshot, type OrbContext, schemaOf } from "../../entry/model/index.ts";
import type { Plan } from "../../entry/write/index.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import type { Attempts as DefinitionAttempts } from "../../orb/change.ts";
import { ofOneWrite, releaseGuess } from "../../quotas/guesses.ts";
import type { ChangeSet } from "../record/index.ts";
import { addressOfItem, type Content, type VersionAct } from "./content.ts";

/** An entry that a publication has written. */
export interface PublishedEntry {
  module: string;
  schema: string;
  id: string;
  revision: number;
  status: EntrySnapshot["status"];
  warnings?: Fault[];
}

type Publication = NonNullable<ChangeSet["published"]>;

/** The attempts of one publication. All of them together charge each entry once. */
export class Attempts {
  readonly #deps: Deps;
  readonly #known = new Map<string, Deps>();
  /** What the attempts have found about the definition of the set. */
  readonly definition: DefinitionAttempts = {};
  #refused: ReadonlyMap<string, unknown> = new Map();
  /** The publication that an attempt has sent to the broker. Its acknowledgement may have been lost. */
  sent: Publication | undefined;
  /** Whether it is unknown if the broker has stored it, or still does. */
  isUnsure = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Returns the dependencies with which an entry is written. */
  depsOf(id: string): Deps {
    const deps = this.#known.get(id) ?? ofOneWrite(this.#deps);
    this.#known.set(id, deps);
    return deps;
  }

  /** Notes the entries that the newest attempt has refused. */
  refuse(refused: ReadonlyMap<string, unknown>): void {
    this.#refused = refused;
  }

  /** Gives back what the guesses of values in the entries cost, except for those that the error answers. */
  release(error?: unknown): void {
    // A refused entry says nothing about the values of the others.
    for (const [id, deps] of this.#known)
      releaseGuess(deps, this.#refused.size > 0 ? this.#refused.get(id) : error);
  }

  /**
   * Returns whether a set was published by this request, or by an earlier one of the same account that named the same
   * content.
   * @param hash hash that the request names
   */
  isRepeated({ published, state }: ChangeSet, actor: Actor, hash: string | undefined): boolean {
    if (state !== "PUBLISHED" || published === undefined || published.by !== actorId(actor)) return false;
    if (hash !== undefined && hash === published.hash) return true;
    return published.at === this.sent?.at && published.hash === this.sent.hash;
  }
}

const STATUS_AFTER: Readonly<Record<VersionAct, EntrySnapshot["status"]>> = {
  publish: "PUBLISHED",
  unpublish: "UNPUBLISHED",
  archive: "ARCHIVED",
  restore: "UNPUBLISHED",
  delete: "DELETED",
};

/** Returns what the publication of a set has written, from its content. */
export function entriesIn({ orb, compiled }: OrbContext, { items }: Content): PublishedEntry[] {
  return items.flatMap((item) => {
    if (item.done === undefined) return [];
    const schema = schemaOf(compiled, addressOfItem(orb, item));
    const [module, name] = [schema?.module ?? item.type, schema?.id ?? item.schema];
    const { revision } = item.done;
    return [{ module, schema: name, id: item.id, revision, status: STATUS_AFTER[item.act] }];
  });
}

/** Collects why entries cannot be published, and tells them all. */
export class Reasons extends Refusals {
  readonly #placed: readonly Pick<Together, "schema" | "id">[];

  constructor(placed: readonly Pick<Together, "schema" | "id">[]) {
    super();
    this.#placed = placed;
  }

  override throwAny(): void {
    const found = [...this.all].sort(([a], [b]) => a - b);
    const [first] = found;
    if (first === undefined) return;
    const errors = found.flatMap(([index, error]) => {
      const placed = this.#placed[index];
      const path = `/${placed?.schema.module}/${placed?.schema.id}/${placed?.id}`;
      const { code, detail: message, errors: faults = [] } = error;
      if (faults.length === 0) return [{ path, code, message }];
      return faults.map((fault) => ({ ...fault, path: path + fault.path }));
    });
    const [, { kind, code, detail, data, retryAfter, cause }] = first;
    const isConflict = found.every(([, error]) => error.code === "change_conflict");
    const refused = found.length === 1 ? "an entry is" : `${found.length} entries are`;
    const text = isConflict
      ? `Nothing was published. ${detail}`
      : `Nothing was published, because ${refused} refused. ${detail}`;
    throw new AppError(kind, code, text, { errors, data, retryAfter, cause });
  }
}

/** Returns what a publication has written of an entry. */
export function entryIn(
  { warnings }: Plan,
  { module, schema, id, revision, status }: EntrySnapshot,
): PublishedEntry {
  return {
    module,
    schema,
    id,
    revision,
    status,
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}
