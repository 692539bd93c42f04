/**
 * Creates or updates the entry with a key, the value of a unique field. The reservation of the value decides between
 * concurrent requests: one of them creates the entry, the others update it.
 */
import type { Actor } from "../../access/actor.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalid, notFound } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { retry } from "../../kernel/retry.ts";
import { type EntryKey, holdsKey, ownerOf } from "../index/index.ts";
import type { Written } from "./change.ts";
import { createEntry } from "./create.ts";
import { inTurn } from "./turns.ts";
import { type UpdateInput, updateEntry } from "./update.ts";

export interface PutInput extends Omit<UpdateInput, "id" | "key" | "idempotency" | "dryRun"> {
  schema: CompiledSchema;
  key: EntryKey;
  /** `create`: fail if there is such an entry. `update`: fail if there is none. */
  only?: "create" | "update" | undefined;
  /** The name of the key's field in `values`, if they have the shape of an earlier revision of the definition. */
  keyName?: string | undefined;
  /** Returns the id of the entry that has the key where the write goes. Default: the entry that has reserved it. */
  owner?: (() => Promise<string | undefined>) | undefined;
  /** Writes of a process with the same turn follow each other. */
  turn?: string | undefined;
}

export interface Put extends Written {
  created: boolean;
}

/** With `owner`, nothing reserves the key, so other writes to the same place count as conflicts too. */
const UNRESERVED = { attempts: 30, pauseMs: () => Math.random() * 40 };

/** Returns the values with the key, which the client may omit. */
function withKey(values: unknown, key: EntryKey, name: string): unknown {
  if (!isObject(values)) return values;
  if (!Object.hasOwn(values, name)) return { ...values, [name]: key.value };
  if (holdsKey(key, { [key.field.name]: values[name] })) return values;
  const message = "must be the value in the path. Remove it, or send that value.";
  throw invalid([{ path: `/values/${key.field.name}`, code: "immutable", message }]);
}

/** Returns whether a write failed because another entry has the key. */
export function isTaken(error: unknown, { field }: EntryKey): boolean {
  return (
    error instanceof AppError &&
    error.code === "unique_conflict" &&
    error.errors?.some(({ path }) => path === `/values/${field.name}`) === true
  );
}

/** The place of a write has changed since the look for an entry with the key. So the write must look again. */
export class TakenMeanwhile extends AppError {
  constructor({ field }: EntryKey) {
    const message = "may have been given to another entry meanwhile";
    const errors = [{ path: `/values/${field.name}`, code: "unique", message }];
    super("conflict", "unique_conflict", "Other requests write into the change set. Try again.", { errors });
  }
}

const isMissing = (error: unknown) => error instanceof AppError && error.code === "entry_not_found";

/**
 * Creates the entry if no entry has the key, and otherwise updates it: with `merge`, only the values that are given.
 * Writes nothing if the entry already is what the
 * request asks for.
 * @throws AppError conflict `unique_conflict` if only the published revision of an entry has the key, or if the caller
 *   may not read the entry that has it
 */
export async function putEntry(deps: Deps, actor: Actor, input: PutInput): Promise<Put> {
  const { key, only, schema, keyName = key.field.name, owner, turn, ...change } = input;
  const { ifMatch, place, read: _, merge: __, ...entry } = change;
  const values = withKey(input.values, key, keyName);
  const mayCreate = only !== "update" && ifMatch === undefined && place?.id === undefined;
  let creates = false;
  let id: string | undefined;
  /** The entry that has the key, but cannot be updated by it. */
  let refused: string | undefined;
  const after = (error: unknown) => {
    if (error instanceof TakenMeanwhile) return true;
    const repeats = creates ? id === undefined && isTaken(error, key) : mayCreate && isMissing(error);
    if (!creates) refused = id;
    return repeats;
  };
  const policy = owner === undefined ? { attempts: 12 } : UNRESERVED;
  const once = async () => {
    id = owner === undefined ? await ownerOf(deps, schema, key, "leader") : await owner();
    creates = id === undefined || id === refused;
    if (id !== undefined && !creates) {
      if (only === "create")
        throw new AppError("precondition", "entry_exists", "There is already an entry with this value.");
      const updated = { ...change, values, schema, id, key, skipsUnchanged: true };
      return { ...(await updateEntry(deps, actor, updated)), created: false };
    }
    if (!mayCreate) throw notFound("entry");
    const created = { ...entry, values, module: schema.module, schema: schema.id };
    return { ...(await createEntry(deps, actor, created)), created: true };
  };
  return inTurn(turn === undefined ? [] : [turn], () => retry({ ...policy, after }, once));
}
