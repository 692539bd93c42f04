import { equal, isObject } from "../../kernel/json.ts";
import type { FieldDefinition, ModuleDefinition, OrbDocument, SchemaDefinition } from "./document.ts";
import { schemaToken } from "./home.ts";
import { masked } from "./providers.ts";

/** Maximum characters of a value that a line of the summary shows whole. */
const SHOWN = 60;
/** Characters before and after the difference of two long values that a line shows. */
const AROUND = 12;
/** Maximum characters of a difference that a line shows. */
const MOST_SHOWN = 300;

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
  const modules = renamedIn(from.modules, to.modules, (module) => module.id);
  byKey(from.modules, to.modules, modules, {
    added: (module) => lines.push(`added module ${module.id}`),
    removed: (module) => lines.push(`removed module ${module.id}`),
    both: (before, after) => moduleChanges(before, after, lines),
    moved: () => lines.push("changed the order of modules"),
  });
  return lines;
}

function moduleChanges(from: ModuleDefinition, to: ModuleDefinition, lines: string[]): void {
  if (from.id !== to.id) lines.push(`renamed module ${from.id} to ${to.id}`);
  properties(from, to, ["id", "was", "schemas"], `module ${to.id}: `, "", lines);
  const schemas = renamedIn(from.schemas, to.schemas, (schema) => schemaToken(schema.id));
  byKey(from.schemas, to.schemas, schemas, {
    added: (schema) => lines.push(`added schema ${schema.id} (${to.id})`),
    removed: (schema) => lines.push(`removed schema ${schema.id} (${to.id})`),
    both: (before, after) => schemaChanges(before, after, to.id, lines),
    moved: () => lines.push(`module ${to.id}: changed the order of schemas`),
  });
}

function schemaChanges(from: SchemaDefinition, to: SchemaDefinition, module: string, lines: string[]): void {
  const place = `${module}/${to.id}`;
  if (from.id !== to.id) lines.push(`renamed schema ${from.id} to ${to.id} (${module})`);
  properties(from, to, ["id", "was", "fields"], `schema ${place}: `, "", lines);
  const fields = renamedIn(from.fields, to.fields, (field) => field.name);
  byKey(from.fields, to.fields, fields, {
    added: ({ name, type, from: origin }) => {
      lines.push(`added field ${name}: ${type} (${place})`);
      // Reviewers must see what becomes of stored values.
      if (typeof origin === "object") lines.push(`field ${name}: from none → ${textOf(origin)} (${place})`);
    },
    removed: (field) => lines.push(`removed field ${field.name} (${place})`),
    both: (before, after) => fieldChanges(before, after, place, lines),
    moved: () => lines.push(`schema ${place}: changed the order of fields`),
  });
}

function fieldChanges(from: FieldDefinition, to: FieldDefinition, place: string, lines: string[]): void {
  if (from.name !== to.name) lines.push(`renamed field ${from.name} to ${to.name} (${place})`);
  if (from.type !== to.type) lines.push(`field ${to.name}: ${from.type} → ${to.type} (${place})`);
  properties(from, to, ["name", "was", "type"], `field ${to.name}: `, ` (${place})`, lines);
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
    if (equal(before, after)) continue;
    // Name the member that differs, because a whole object would hide it.
    if (isObject(before) && isObject(after)) properties(before, after, [], `${prefix}${key}.`, suffix, lines);
    else lines.push(`${prefix}${key} ${shown(before, after)}${suffix}`);
  }
}

function textOf(value: unknown): string {
  if (value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns how many characters two texts have in common at their beginning. */
function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

const reversed = (text: string) => [...text].reverse().join("");

/** Returns both values. Of long ones, leaves out only what they have in common, so that they never look the same. */
function shown(before: unknown, after: unknown): string {
  const texts = [textOf(before), textOf(after)] as const;
  if (texts.every(({ length }) => length <= SHOWN)) return texts.join(" → ");
  const start = commonStart(...texts);
  const [a, b] = texts.map((text) => reversed(text.slice(start))) as [string, string];
  const end = commonStart(a, b);
  return texts
    .map((text) => {
      if (text.length <= SHOWN) return text;
      const from = start <= AROUND + 3 ? 0 : start - AROUND;
      const to = end <= AROUND + 3 ? text.length : text.length - end + AROUND;
      const part = text.slice(from, to);
      const cut = part.length > MOST_SHOWN ? `${part.slice(0, MOST_SHOWN)}...` : part;
      return `${from > 0 ? "..." : ""}${cut}${to < text.length && cut === part ? "..." : ""}`;
    })
    .join(" → ");
}

/**
 * Returns the key of each item. Items that the new document renames get the key of their earlier name.
 * @param key the name of an item in the form in which names are compared
 */
function renamedIn<T extends { was?: string | string[] | undefined }>(
  from: readonly T[],
  to: readonly T[],
  key: (item: T) => string,
): (item: T) => string {
  const before = new Map(from.map((item) => [key(item), item]));
  const earlier = new Map<T, string>();
  for (const item of to) {
    const done = new Set([before.get(key(item))?.was ?? []].flat());
    const was = [item.was ?? []].flat().find((name) => !done.has(name) && before.has(name));
    if (was !== undefined) earlier.set(item, was);
  }
  const taken = new Set(earlier.values());
  // Another item may have the earlier name now. It is new, so its key must be none that an item had before.
  for (const item of to) if (!earlier.has(item) && taken.has(key(item))) earlier.set(item, `+${key(item)}`);
  return (item) => earlier.get(item) ?? key(item);
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
