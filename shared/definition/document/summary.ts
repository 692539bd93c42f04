import { equal } from "../../kernel/json.ts";
import type { FieldDefinition, ModuleDefinition, OrbDocument, SchemaDefinition } from "./document.ts";
import { schemaToken } from "./home.ts";
import { masked } from "./providers.ts";

/** Maximum characters of a value that one line of the summary shows. */
const SHOWN = 60;

export function summarise(from: OrbDocument | null, to: OrbDocument | null): string[] {
  if (from === null && to === null) return [];
  if (from === null) return [`created orb ${to?.id}`];
  if (to === null) return [`deleted orb ${from.id}`];
  const lines: string[] = [];
  properties(masked(from), masked(to), ["uses", "hooks", "schedules", "modules"], "", "", lines);
  secrets(from, to, lines);
  uses(from, to, lines);
  named("hook", from.hooks, to.hooks, lines);
  named("schedule", from.schedules, to.schedules, lines);
  byKey(from.modules, to.modules, (module) => module.id, {
    added: (module) => lines.push(`added module ${module.id}`),
    removed: (module) => lines.push(`removed module ${module.id}`),
    both: (before, after) => moduleChanges(before, after, lines),
    moved: () => lines.push("changed the order of modules"),
  });
  return lines;
}

function moduleChanges(from: ModuleDefinition, to: ModuleDefinition, lines: string[]): void {
  properties(from, to, ["id", "schemas"], `module ${to.id}: `, "", lines);
  byKey(from.schemas, to.schemas, (schema) => schemaToken(schema.id), {
    added: (schema) => lines.push(`added schema ${schema.id} (${to.id})`),
    removed: (schema) => lines.push(`removed schema ${schema.id} (${to.id})`),
    both: (before, after) => schemaChanges(before, after, to.id, lines),
    moved: () => lines.push(`module ${to.id}: changed the order of schemas`),
  });
}

function schemaChanges(from: SchemaDefinition, to: SchemaDefinition, module: string, lines: string[]): void {
  const place = `${module}/${to.id}`;
  if (from.id !== to.id) lines.push(`renamed schema ${from.id} to ${to.id} (${module})`);
  properties(from, to, ["id", "fields"], `schema ${place}: `, "", lines);
  byKey(from.fields, to.fields, (field) => field.name, {
    added: (field) => lines.push(`added field ${field.name}: ${field.type} (${place})`),
    removed: (field) => lines.push(`removed field ${field.name} (${place})`),
    both: (before, after) => fieldChanges(before, after, place, lines),
    moved: () => lines.push(`schema ${place}: changed the order of fields`),
  });
}

function fieldChanges(from: FieldDefinition, to: FieldDefinition, place: string, lines: string[]): void {
  if (from.type !== to.type) lines.push(`field ${to.name}: ${from.type} → ${to.type} (${place})`);
  properties(from, to, ["name", "type"], `field ${to.name}: `, ` (${place})`, lines);
}

function uses(from: OrbDocument, to: OrbDocument, lines: string[]): void {
  const handlers = (document: OrbDocument) =>
    document.uses.flatMap((use) => use.handlers.map((handler) => `${use.service}.${handler}`));
  const grants = (document: OrbDocument) =>
    document.uses.flatMap(({ service, acts = [] }) => acts.map((act) => `${act} to ${service}`));
  for (const [names, verb] of [
    [handlers, "use"],
    [grants, "grant"],
  ] as const) {
    const before = new Set(names(from));
    const after = new Set(names(to));
    for (const name of before) if (!after.has(name)) lines.push(`no longer ${verb}s ${name}`);
    for (const name of after) if (!before.has(name)) lines.push(`${verb}s ${name}`);
  }
}

function secrets(from: OrbDocument, to: OrbDocument, lines: string[]): void {
  for (const { id, clientSecret } of to.access?.providers ?? []) {
    const before = from.access?.providers?.find((provider) => provider.id === id)?.clientSecret;
    if (before !== undefined && clientSecret !== undefined && before !== clientSecret) {
      lines.push(`changed the client secret of provider ${id}`);
    }
  }
}

function named<T extends { id: string }>(
  kind: string,
  from: readonly T[] = [],
  to: readonly T[] = [],
  lines: string[],
): void {
  byKey(from, to, ({ id }) => id, {
    added: ({ id }) => lines.push(`added ${kind} ${id}`),
    removed: ({ id }) => lines.push(`removed ${kind} ${id}`),
    both: (before, after) => properties(before, after, ["id"], `${kind} ${after.id}: `, "", lines),
    moved: () => lines.push(`changed the order of ${kind}s`),
  });
}

function properties(
  from: object,
  to: object,
  skip: readonly string[],
  prefix: string,
  suffix: string,
  lines: string[],
): void {
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    if (skip.includes(key)) continue;
    const before: unknown = Reflect.get(from, key);
    const after: unknown = Reflect.get(to, key);
    if (!equal(before, after)) lines.push(`${prefix}${key} ${show(before)} → ${show(after)}${suffix}`);
  }
}

function show(value: unknown): string {
  if (value === undefined) return "none";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 3)}...`;
}

interface ListChange<T> {
  added: (item: T) => void;
  removed: (item: T) => void;
  both: (before: T, after: T) => void;
  moved: () => void;
}

function byKey<T>(from: readonly T[], to: readonly T[], key: (item: T) => string, on: ListChange<T>): void {
  const before = new Map(from.map((item) => [key(item), item]));
  const after = new Map(to.map((item) => [key(item), item]));
  for (const [id, item] of before) if (!after.has(id)) on.removed(item);
  for (const [id, item] of after) {
    const other = before.get(id);
    if (other === undefined) on.added(item);
    else on.both(other, item);
  }
  const kept = [...before.keys()].filter((id) => after.has(id));
  const order = [...after.keys()].filter((id) => before.has(id));
  if (!equal(kept, order)) on.moved();
}
