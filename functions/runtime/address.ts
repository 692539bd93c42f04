/** Resolves the URLs of published applications to handlers, collections, entries and operations. */
import type { CompiledModule, CompiledOrb, CompiledSchema } from "../../shared/definition/compile.ts";
import { AppError, notFound } from "../../shared/kernel/errors.ts";
import { joinNames } from "../../shared/kernel/faults.ts";
import { BATCH_SEGMENT, hidesBatch, hidesSearch, SEARCH_SEGMENT } from "../../shared/orb/routes.ts";
import { noRouteDetail } from "../http/problem.ts";

/** The operations that change the status of an entry. */
const MOVES = ["publish", "unpublish", "restore", "archive"] as const;
export type Move = (typeof MOVES)[number];

/** What the path of an operation on entries names, by kind of address. */
export interface Places {
  collection: object;
  entry: { id: string };
  keyed: { field: string; value: string };
  operation: { id: string; operation: Move };
  revisions: { id: string };
  revision: { id: string; revision: string };
  revert: { id: string; revision: string };
}
export type AddressKind = keyof Places;

/**
 * The target of a URL. For a handler, `above` is the number of path segments up to and including the handler's name.
 * An HTTP handler receives the remaining segments as its path.
 */
export type Address =
  | { kind: "handler"; name: string; above: number }
  | { kind: "batch" }
  | { kind: "search" }
  | EntryAddress;
export type EntryAddress = {
  [K in AddressKind]: { kind: K; schema: CompiledSchema } & Places[K];
}[AddressKind];

/** Path segment before the name and the value of a unique field, which address an entry instead of its id. */
const BY = "by";

/** For modules whose entries have no URLs, the text that tells callers what to use instead. */
const INSTEAD: Record<string, string> = {
  RULES:
    "write rules at /api/admin/orbs/{orb}/entries as a platform admin, and run them with the handler rules.evaluate",
  TRANSACTIONS: "use the handlers transactions.record and transactions.list",
  SETTINGS: "use the handlers settings.get and settings.set",
};

const nothing = (detail: string) => new AppError("not_found", "route_not_found", detail);

/** Entry ids begin with a digit, schema ids with a letter. */
function isEntrySegment(segment: string): boolean {
  return /^\d/.test(segment);
}

function schemaOf(module: CompiledModule, id: string | undefined): CompiledSchema {
  const schema = id === undefined ? module.only : module.schemas.get(id);
  if (schema !== undefined) return schema;
  const known = joinNames([...module.schemas.keys()]);
  throw notFound(
    "schema",
    id === undefined
      ? `The module ${module.id} does not have exactly one schema. Name one in the path: ${known}.`
      : `The module ${module.id} has no such schema. Use one of: ${known}.`,
  );
}

/**
 * Returns whether a path has the form of a file URL. {@link servesFiles} returns whether the application serves files
 * there.
 */
export function isFilePath(segments: readonly string[]): boolean {
  return segments[0] === "files";
}

/** Returns whether the application serves files at `/files`. A module or handler named `files` takes precedence. */
export function servesFiles({ modules, handlers }: CompiledOrb): boolean {
  return !modules.has("files") && !handlers.has("files");
}

/**
 * Finds the handler at the start of a path, such as `quote` or `pricing/quote`. First treats the first two segments as
 * service and handler, because a service can have the same name as a handler.
 * @param above number of path segments before `segments`
 */
function handlerAt(compiled: CompiledOrb, segments: readonly string[], above: number): Address | undefined {
  const [first = "", second] = segments;
  const full = `${first}.${second}`;
  if (second !== undefined && compiled.handlerNames.has(full))
    return { kind: "handler", name: full, above: above + 2 };
  const short = compiled.handlers.get(first);
  if (short !== undefined) return { kind: "handler", name: short, above: above + 1 };
  const shared = [...compiled.handlers.keys()].filter((path) => path.endsWith(`/${first}`));
  if (first === "" || shared.length === 0) return undefined;
  const paths = joinNames(shared);
  throw new AppError(
    "not_found",
    "ambiguous_handler",
    `Several services of the orb have a handler ${first}. Name the service in the path: ${paths}.`,
  );
}

/**
 * Returns whether a path such as `pricing/quote` leads to a module, although its first segment may also be the name of a
 * service. The module takes precedence where it has a route: a service of its name keeps the paths of its handlers.
 */
function isModulePath({ modules, handlerNames }: CompiledOrb, [first = "", second = ""]: readonly string[]) {
  const module = modules.get(first);
  if (module === undefined) return false;
  return !handlerNames.has(`${first}.${second}`) || (module.routed && module.schemas.has(second));
}

/** Returns whether a path leads to a handler. Also returns true for an ambiguous name that several services use. */
export function isHandler(compiled: CompiledOrb, segments: readonly string[]): boolean {
  const [first = "", second] = segments;
  if (isModulePath(compiled, segments)) return false;
  return first === "call" || compiled.handlers.has(first) || compiled.handlerNames.has(`${first}.${second}`);
}

/**
 * @param segments the path below the application, split at slashes; the last segment is empty if the path ends with a
 * slash
 */
export function addressOf(compiled: CompiledOrb, segments: readonly string[]): Address {
  const [first = "", ...rest] = segments;
  if (first === "call" && rest.length > 0) {
    const handler = handlerAt(compiled, rest, 1);
    if (handler === undefined)
      throw notFound("handler", "The orb uses no handler of this name. Add it to uses in the orb document.");
    return handler;
  }
  if (first === BATCH_SEGMENT && rest.length === 0 && !hidesBatch(compiled)) return { kind: "batch" };
  if (first === SEARCH_SEGMENT && rest.length === 0 && !hidesSearch(compiled)) return { kind: "search" };
  const handler = isModulePath(compiled, segments) ? undefined : handlerAt(compiled, segments, 0);
  if (handler !== undefined) return handler;
  if (segments.includes("")) throw nothing(noRouteDetail(segments.join("/")));
  const module = compiled.modules.get(first);
  if (module === undefined) {
    throw notFound(
      "module",
      "The orb has no module and no handler of this name. See /api/discovery for their names.",
    );
  }
  if (!module.routed) {
    throw new AppError(
      "not_found",
      "no_automatic_routes",
      `Modules of type ${module.type} have no automatic routes: ${INSTEAD[module.type] ?? "use handlers instead"}.`,
    );
  }
  const [second] = rest;
  const isKey = second === BY && module.only !== undefined && !module.schemas.has(BY);
  const named = second !== undefined && !isKey && !isEntrySegment(second);
  const schema = schemaOf(module, named ? second : undefined);
  const [id, operation, ...more] = named ? rest.slice(1) : rest;
  if (id === undefined) return { kind: "collection", schema };
  if (id === BY) {
    const [value] = more;
    if (operation === undefined || value === undefined || more.length > 1)
      throw nothing("Address an entry by a unique field like this: …/by/{field}/{value}.");
    return { kind: "keyed", schema, field: operation, value };
  }
  if (operation === undefined) return { kind: "entry", schema, id };
  if (operation === "revisions") {
    const [revision, restore, ...further] = more;
    if (revision === undefined) return { kind: "revisions", schema, id };
    if (restore === undefined) return { kind: "revision", schema, id, revision };
    if (restore === "restore" && further.length === 0) return { kind: "revert", schema, id, revision };
  }
  const move = MOVES.find((name) => name === operation);
  if (move === undefined || more.length > 0)
    throw nothing("No such operation on entries. Use publish, unpublish, archive, restore or revisions.");
  return { kind: "operation", schema, id, operation: move };
}
