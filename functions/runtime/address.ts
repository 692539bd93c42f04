/** What a path below /api/{orbId} names: a handler, a collection, an entry, or an operation on one. */
import type { CompiledModule, CompiledOrb, CompiledSchema } from "../../shared/definition/compile.ts";
import { AppError, notFound } from "../../shared/kernel/errors.ts";
import { listed } from "../../shared/kernel/faults.ts";
import { methodsOf } from "./definitions.ts";

/** Operations on entries that are paths of their own. */
const OPERATIONS = ["publish", "unpublish", "archive", "restore"] as const;
export type Operation = (typeof OPERATIONS)[number];

export type Address =
  /** Full name of the handler. */
  | { kind: "handler"; name: string }
  | { kind: "collection"; schema: CompiledSchema }
  | { kind: "entry"; schema: CompiledSchema; id: string }
  | { kind: "operation"; schema: CompiledSchema; id: string; operation: Operation };

/** Methods that each kind of address takes, as `Allow` tells them. */
export const METHODS: Record<Address["kind"], readonly string[]> = {
  handler: ["POST"],
  collection: methodsOf(["list", "create"]),
  entry: methodsOf(["get", "update", "remove"]),
  operation: methodsOf(OPERATIONS),
};

/** What to turn to for modules that have no routes. */
const INSTEAD: Record<string, string> = {
  RULES:
    "platform admins write rules at /api/admin/orbs/{orb}/entries, and the handler rules.evaluate runs them",
  TRANSACTIONS: "the handlers transactions.record and transactions.list write and read them",
  SETTINGS: "the handlers settings.get and settings.set read and write them",
};

const nothing = (detail: string) => new AppError("not_found", "route_not_found", detail);

/** Entry ids begin with a digit, schema ids with a letter: so a path says by itself which of them it names. */
function isEntrySegment(segment: string): boolean {
  return /^\d/.test(segment);
}

function schemaOf(module: CompiledModule, id: string | undefined): CompiledSchema {
  const schema = id === undefined ? module.only : module.schemas.get(id);
  if (schema !== undefined) return schema;
  const known = listed([...module.schemas.keys()]);
  throw notFound(
    "schema",
    id === undefined
      ? `The module ${module.id} does not have exactly one schema: the path must name one of ${known}.`
      : `The module ${module.id} has no such schema: it has ${known}.`,
  );
}

/**
 * Resolves the segments after /api/{orbId}.
 * @throws AppError not_found `module_not_found`, `handler_not_found`, `schema_not_found`, `no_automatic_routes`, `route_not_found`
 */
export function addressOf(compiled: CompiledOrb, segments: readonly string[]): Address {
  const [first = "", ...rest] = segments;
  if (first === "call" && rest.length === 1) {
    const handler = compiled.handlers.get(rest[0] ?? "");
    if (handler === undefined) throw notFound("handler", "The orb uses no handler of this name.");
    return { kind: "handler", name: handler };
  }
  const module = compiled.modules.get(first);
  if (module === undefined) {
    const handler = compiled.handlers.get(first);
    if (handler !== undefined && rest.length === 0) return { kind: "handler", name: handler };
    throw notFound("module", "The orb has neither a module nor a handler of this name.");
  }
  if (!module.routed) {
    throw new AppError(
      "not_found",
      "no_automatic_routes",
      `Modules of type ${module.type} have no automatic routes: ${INSTEAD[module.type] ?? "handlers use them"}.`,
    );
  }
  const [second] = rest;
  const named = second !== undefined && !isEntrySegment(second);
  const schema = schemaOf(module, named ? second : undefined);
  const [id, operation, ...more] = named ? rest.slice(1) : rest;
  if (id === undefined) return { kind: "collection", schema };
  if (operation === undefined) return { kind: "entry", schema, id };
  const known = OPERATIONS.find((name) => name === operation);
  if (known === undefined || more.length > 0) throw nothing("There is no such operation on entries.");
  return { kind: "operation", schema, id, operation: known };
}
