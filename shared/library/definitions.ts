/** Stores shared definitions, one message per version. The newest version counts. */
import { type Actor, actorId, system } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/types.ts";
import { invalid, notFound, revisionMismatch } from "../kernel/errors.ts";
import { READ_BYTES } from "../store/budget.ts";
import { nullOnConflict, scanPages } from "../store/pages.ts";
import { isToken, streams, subjects } from "../store/subjects.ts";
import type { StoredMessage } from "../store/types.ts";
import { type DefinitionBody, type DefinitionKind, readDefinition } from "./shapes.ts";

/** A stored version. Numbers continue after a removal. */
interface StoredDefinition extends DefinitionBody {
  v: 1;
  kind: DefinitionKind;
  id: string;
  version: number;
  at: string;
  by: string;
  removed?: true;
}

/** A version in a response. */
export type DefinitionView = Omit<StoredDefinition, "v" | "removed">;

function viewOf(message: StoredMessage): DefinitionView | null {
  const { v: _, removed, ...view } = message.json<StoredDefinition>();
  return removed === true ? null : view;
}

/** Maximum number of versions per read. */
const DEFINITIONS_PER_READ = 100;

/** Returns the newest version of every definition by subject, including removed ones. */
async function newestOf(
  deps: Pick<Deps, "store">,
  kind: DefinitionKind,
): Promise<Map<string, StoredMessage>> {
  const newest = new Map<string, StoredMessage>();
  for await (const messages of versionsOf(deps, subjects.definitions(kind)))
    for (const message of messages) newest.set(message.subject, message);
  return newest;
}

/** Yields stored versions, oldest first. */
const versionsOf = ({ store }: Pick<Deps, "store">, subject: string) =>
  scanPages((fromSeq) =>
    store.scan(streams.platform, subject, { fromSeq, limit: DEFINITIONS_PER_READ, maxBytes: READ_BYTES }),
  );

/** Returns all definitions of a kind, ordered by id. */
export async function listDefinitions(
  deps: Pick<Deps, "store">,
  kind: DefinitionKind,
): Promise<DefinitionView[]> {
  const found = await newestOf(deps, kind);
  return [...found.values()]
    .map(viewOf)
    .filter((view) => view !== null)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Returns the newest version, or a given one. @throws AppError not_found */
export async function getDefinition(
  deps: Pick<Deps, "store">,
  kind: DefinitionKind,
  id: string,
  version?: number,
): Promise<DefinitionView> {
  const subject = subjects.definition(kind, id);
  if (version === undefined) {
    const message = await deps.store.get(streams.platform, subject);
    const view = message === null ? null : viewOf(message);
    if (view === null) throw notFound("definition");
    return view;
  }
  for await (const messages of versionsOf(deps, subject)) {
    for (const message of messages) {
      const view = viewOf(message);
      if (view?.version === version) return view;
    }
  }
  throw notFound("definition");
}

export interface PutDefinition {
  kind: DefinitionKind;
  id: string;
  body: unknown;
  /** Newest version that the caller knows. If another one is newer, the write fails. */
  ifMatch?: number | undefined;
}

/**
 * Stores a new version.
 * @throws AppError validation_failed with all errors, revision_mismatch or write_conflict
 */
export async function putDefinition(
  deps: Deps,
  actor: Actor,
  { kind, id, body, ifMatch }: PutDefinition,
): Promise<{ definition: DefinitionView; created: boolean }> {
  requireOperator(actor, "registry.write");
  const read = readDefinition(kind, body);
  if (Array.isArray(read)) throw invalid(read);
  if (!isToken(id)) {
    const message = "must be 1 to 128 letters, digits, hyphens or underscores";
    throw invalid([{ path: "/id", code: "format", message }]);
  }
  return append(deps, actor, kind, id, read, ifMatch);
}

/** Removes a definition. Its versions stay readable. @throws AppError not_found, revision_mismatch or write_conflict */
export async function deleteDefinition(
  deps: Deps,
  actor: Actor,
  kind: DefinitionKind,
  id: string,
  ifMatch?: number,
): Promise<void> {
  requireOperator(actor, "registry.write");
  await append(deps, actor, kind, id, undefined, ifMatch);
}

async function append(
  deps: Deps,
  actor: Actor,
  kind: DefinitionKind,
  id: string,
  body: DefinitionBody | undefined,
  ifMatch: number | undefined,
): Promise<{ definition: DefinitionView; created: boolean }> {
  const subject = subjects.definition(kind, id);
  const message = await deps.store.get(streams.platform, subject);
  const last = message?.json<StoredDefinition>();
  const before = last === undefined || last.removed === true ? undefined : last;
  if (body === undefined && before === undefined) throw notFound("definition");
  if (ifMatch !== undefined && ifMatch !== before?.version) throw revisionMismatch(before?.version ?? 0);
  const stored: StoredDefinition = {
    v: 1,
    kind,
    id,
    version: (last?.version ?? 0) + 1,
    at: new Date(deps.clock.now()).toISOString(),
    by: actorId(actor),
    ...(body ?? { description: "", removed: true }),
  };
  await deps.store.append(streams.platform, {
    subject,
    data: JSON.stringify(stored),
    expect: { seq: message?.seq ?? 0 },
  });
  const { v: _, removed: __, ...definition } = stored;
  return { definition, created: before === undefined };
}

/** Stores the message schemas of built-in handlers that are new or have changed. */
export async function storeBuiltInMessages(deps: HandlerDeps): Promise<void> {
  const stored = await newestOf(deps, "messages");
  for (const handler of deps.builtIn) {
    for (const part of ["input", "output"] as const) {
      const schema = handler[part];
      if (schema === undefined) continue;
      const id = `${handler.name.replace(".", "-")}-${part}`;
      const known = stored.get(subjects.definition("messages", id))?.json<StoredDefinition>();
      if (known !== undefined && JSON.stringify(known.schema) === JSON.stringify(schema)) continue;
      // Never overwrite a definition that an operator has changed or removed.
      if (known !== undefined && known.by !== actorId(system)) continue;
      const description = `${part === "input" ? "Input" : "Answer"} of the handler ${handler.name}.`;
      await nullOnConflict(append(deps, system, "messages", id, { description, schema }, undefined));
    }
  }
}
