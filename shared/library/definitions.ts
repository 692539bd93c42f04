/**
 * Stores the message schemas and module templates that orbs (applications) share. Each version of a schema or template
 * is one message in the platform's broker stream.
 */
import { type Actor, actorId, system } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { AppError, invalid, notFound, revisionMismatch } from "../kernel/errors.ts";
import { READ_BYTES, REQUEST_BYTES, ReadBudget, tooManyBytes } from "../store/budget.ts";
import { NumberedLog } from "../store/numbered-log.ts";
import { nullOnConflict, scanPages } from "../store/pages.ts";
import { isToken, streams, subjects } from "../store/subjects.ts";
import { type StoredMessage, TooMuch } from "../store/types.ts";
import { type DefinitionBody, type DefinitionKind, readDefinition } from "./shapes.ts";

/** One version of a shared definition. If a removed definition is stored again, its version numbers continue. */
interface StoredDefinition extends DefinitionBody {
  v: 1;
  kind: DefinitionKind;
  id: string;
  version: number;
  at: string;
  by: string;
  removed?: true;
}

export type DefinitionView = Omit<StoredDefinition, "v" | "removed">;

function viewOf(message: StoredMessage): DefinitionView | null {
  const { v: _, removed, ...view } = message.json<StoredDefinition>();
  return removed === true ? null : view;
}

const DEFINITIONS_PER_READ = 100;

const ONE_BY_ONE = "Read the definitions one by one.";

/**
 * Returns the newest version of each definition, including removed ones. The broker returns at most 1,024 newest
 * messages per request. If there are more, this function reads all versions.
 */
async function newestOf({ store }: Pick<Deps, "store">, kind: DefinitionKind): Promise<StoredMessage[]> {
  const filter = subjects.definitions(kind);
  try {
    return [...(await store.getMany(streams.platform, [filter], { maxBytes: REQUEST_BYTES })).values()];
  } catch (error) {
    if (error instanceof TooMuch) throw tooManyBytes(REQUEST_BYTES, ONE_BY_ONE);
    if (!(error instanceof AppError && error.code === "too_broad")) throw error;
  }
  const newest = new Map<string, StoredMessage>();
  const budget = new ReadBudget();
  const page = { limit: DEFINITIONS_PER_READ, maxBytes: READ_BYTES };
  const read = (fromSeq: number) =>
    budget.charging(store).scan(streams.platform, filter, { fromSeq, ...page });
  for await (const messages of scanPages(read)) {
    for (const message of messages) newest.set(message.subject, message);
    budget.require(ONE_BY_ONE);
  }
  return [...newest.values()];
}

/**
 * Returns all definitions of one kind, ordered by id.
 * @throws AppError `too_broad` if there are too many
 */
export async function listDefinitions(
  deps: Pick<Deps, "store">,
  kind: DefinitionKind,
): Promise<DefinitionView[]> {
  const found = await newestOf(deps, kind);
  return found
    .map(viewOf)
    .filter((view) => view !== null)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function getDefinition(
  deps: Pick<Deps, "store">,
  kind: DefinitionKind,
  id: string,
  version?: number,
): Promise<DefinitionView> {
  const subject = subjects.definition(kind, id);
  const newest = await deps.store.get(streams.platform, subject);
  const found = newest !== null && version !== undefined ? await findVersion(deps, newest, version) : newest;
  const view = found === null ? null : viewOf(found);
  if (view === null) throw notFound("definition");
  return view;
}

async function findVersion(
  { store }: Pick<Deps, "store">,
  newest: StoredMessage,
  version: number,
): Promise<StoredMessage | null> {
  const numberOf = (message: StoredMessage) => message.json<StoredDefinition>().version;
  const log = new NumberedLog(store, {
    stream: streams.platform,
    subject: newest.subject,
    last: { number: numberOf(newest), seq: newest.seq },
    parse: (message) => ({ number: numberOf(message), value: message }),
  });
  return (await log.find(version))?.value ?? null;
}

export interface PutDefinition {
  kind: DefinitionKind;
  id: string;
  body: unknown;
  /** Newest version that the caller knows. The write fails if a newer version exists. */
  ifMatch?: number | undefined;
}

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

/** Removes a definition. Its older versions stay readable. */
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
  for (const handler of deps.builtIn) {
    for (const part of ["input", "output"] as const) {
      const schema = handler[part];
      if (schema === undefined) continue;
      const id = `${handler.name.replace(".", "-")}-${part}`;
      const stored = await deps.store.get(streams.platform, subjects.definition("messages", id));
      const known = stored?.json<StoredDefinition>();
      if (known !== undefined && JSON.stringify(known.schema) === JSON.stringify(schema)) continue;
      // An operator has changed or removed this definition. Never overwrite it.
      if (known !== undefined && known.by !== actorId(system)) continue;
      const description = `${part === "input" ? "Input" : "Answer"} of the handler ${handler.name}.`;
      await nullOnConflict(append(deps, system, "messages", id, { description, schema }, undefined));
    }
  }
}
