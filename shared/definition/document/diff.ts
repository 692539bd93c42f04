/** Compares two documents: as a JSON Patch (RFC 6902) and as a summary for people. */
import { createPatch, type Operation } from "rfc6902";
import { unmoved } from "../../differences/moves.ts";
import type { OrbDocument } from "./document.ts";
import { maskedValue } from "./providers.ts";
import { summarise } from "./summary.ts";

export type { Operation } from "rfc6902";

export interface ChangeLog {
  changes: Operation[];
  /** One line per change, for people. */
  summary: string[];
}

/** Compares two documents. The change log shows that a secret has changed, but not its value. */
export function changeLog(from: OrbDocument | null, to: OrbDocument | null): ChangeLog {
  const changes = patch(from, to).map((operation) =>
    "value" in operation ? { ...operation, value: maskedValue(operation.path, operation.value) } : operation,
  );
  return { changes, summary: summarise(from, to) };
}

/**
 * Creates a JSON Patch. Matches array items by `_key`, `id`, `name` or `service`, so that an inserted item does not rewrite
 * all others.
 */
export function patch(from: unknown, to: unknown): Operation[] {
  return createPatch(from, to, (input, output, at) => {
    if (!Array.isArray(input) || !Array.isArray(output)) return undefined;
    const before = keysOf(input);
    const after = keysOf(output);
    return before === undefined || after === undefined
      ? plainList(input, output, at.toString())
      : alignedList(input, before, output, after, at.toString());
  });
}

/** Arrays longer than this are compared as a whole, because matching their items takes quadratic time. */
const MOST_ALIGNED = 2_000;

function keysOf(items: readonly unknown[]): string[] | undefined {
  if (items.length > MOST_ALIGNED) return undefined;
  const keys: string[] = [];
  for (const item of items) {
    if (typeof item !== "object" || item === null) return undefined;
    const key = ["_key", "id", "name", "service"]
      .map((name) => Reflect.get(item, name))
      .find((value) => typeof value === "string");
    if (typeof key !== "string") return undefined;
    keys.push(key);
  }
  return new Set(keys).size === keys.length ? keys : undefined;
}

function alignedList(
  input: readonly unknown[],
  before: readonly string[],
  output: readonly unknown[],
  after: readonly string[],
  path: string,
): Operation[] {
  const operations: Operation[] = [];
  const wanted = new Set(after);
  const items = new Map(before.map((key, index) => [key, input[index]]));
  const current = [...before];
  for (let index = current.length - 1; index >= 0; index--) {
    if (wanted.has(current[index] ?? "")) continue;
    operations.push({ op: "remove", path: `${path}/${index}` });
    current.splice(index, 1);
  }
  const places = new Map(current.map((key, index) => [key, index]));
  const common = after.filter((key) => items.has(key));
  const still = unmoved(common.map((key) => places.get(key) ?? 0));
  const moved = new Set(common.filter((_, index) => !still.has(index)));
  // From the end, so that an item moves before the one that follows it, which has its place already.
  for (let index = common.length - 1; index >= 0; index--) {
    const key = common[index] ?? "";
    if (!moved.has(key)) continue;
    const place = current.indexOf(key);
    current.splice(place, 1);
    const next = common[index + 1];
    const to = next === undefined ? current.length : current.indexOf(next);
    operations.push({ op: "move", from: `${path}/${place}`, path: `${path}/${to}` });
    current.splice(to, 0, key);
  }
  for (const [index, key] of after.entries()) {
    if (!items.has(key)) operations.push({ op: "add", path: `${path}/${index}`, value: output[index] });
  }
  for (const [index, key] of after.entries()) {
    if (items.has(key)) operations.push(...under(`${path}/${index}`, patch(items.get(key), output[index])));
  }
  return operations;
}

/**
 * If one array is the beginning of the other, changes only the end; otherwise replaces the whole array. `rfc6902` would
 * need minutes to compare a thousand items.
 */
function plainList(input: readonly unknown[], output: readonly unknown[], path: string): Operation[] {
  if (JSON.stringify(input) === JSON.stringify(output)) return [];
  const common = Math.min(input.length, output.length);
  const prefix = JSON.stringify(input.slice(0, common)) === JSON.stringify(output.slice(0, common));
  if (!prefix) return [{ op: "replace", path, value: output }];
  const removed = input
    .slice(common)
    .map((_, offset): Operation => ({ op: "remove", path: `${path}/${input.length - 1 - offset}` }));
  const added = output.slice(common).map((value): Operation => ({ op: "add", path: `${path}/-`, value }));
  return [...removed, ...added];
}

function under(path: string, operations: readonly Operation[]): Operation[] {
  return operations.map((operation) =>
    operation.op === "move" || operation.op === "copy"
      ? { ...operation, from: path + operation.from, path: path + operation.path }
      : { ...operation, path: path + operation.path },
  );
}
