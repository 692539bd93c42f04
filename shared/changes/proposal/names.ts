/**
 * The stored names of a rebased definition. The live definition decides them, because stored entries have its names. Fields
 * that only the set has keep the names with which the pending versions of the set were written.
 */
import {
  type FieldDefinition,
  joinOf,
  movesOf,
  type OrbDocument,
  readsOf,
  ruleOf,
} from "../../definition/document/index.ts";
import {
  isSameShape,
  type NamedDocument,
  NameTable,
  type Root,
  rootsIn,
  type StoredNames,
} from "../../definition/names/index.ts";
import { AppError } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import type { DefinitionSides } from "../definition/index.ts";

const rootsOf = (side: NamedDocument | null): Root[] => (side === null ? [] : [...rootsIn(side).values()]);
const byRoot = ({ scope, root }: Root) => `${scope} ${root}`;
const byName = ({ scope, name }: Root) => `${scope} ${name}`;
const placed = (roots: readonly Root[], by: (root: Root) => string) =>
  new Map(roots.map((root) => [by(root), root]));

/**
 * Returns the stored names of a merged document: those that follow from the live one. The exception are fields that the
 * set has added and then renamed: they would get other names than in the pending versions.
 * @param names the names that follow from the live definition
 */
export function namesKept(
  names: StoredNames | undefined,
  document: OrbDocument,
  { base, now, proposed }: DefinitionSides,
): StoredNames | undefined {
  const others = [...rootsOf(base), ...rootsOf(now)];
  const known = placed(others, byRoot);
  let kept = names;
  let merged = rootsOf({ document, names: kept });
  for (const own of rootsOf(proposed)) {
    if (known.has(byRoot(own))) continue;
    const here = placed(merged, byName).get(byName(own));
    const isFree = !placed(merged, byRoot).has(byRoot(own));
    if (here === undefined || !isFree || known.has(byRoot(here))) continue;
    kept = withStored(kept, own);
    merged = rootsOf({ document, names: kept });
  }
  // The orb has nothing in these lists, so they have the names of the set.
  const scopes = new Set(merged.map(({ scope }) => scope));
  const outside = new Set(others.map(({ scope }) => scope));
  const inside = Object.entries(proposed.names ?? {}).filter(
    ([scope]) => scopes.has(scope) && !outside.has(scope),
  );
  return inside.length === 0 ? kept : { ...kept, ...Object.fromEntries(inside) };
}

function withStored(names: StoredNames | undefined, { scope, name, root }: Root): StoredNames {
  const known = (names?.[scope] ?? []).filter(({ stored, gone }) => !(gone === true && stored === root));
  const isHere = (one: (typeof known)[number]) => one.gone !== true && one.name === name;
  const identities = known.some(isHere)
    ? known.map((one) => (isHere(one) ? { ...one, stored: root } : one))
    : [...known, { stored: root, name }];
  return { ...names, [scope]: identities };
}

/**
 * Returns an error if stored entries, or pending versions of the set, have values that the merged definition would show as
 * those of another field, or not at all.
 * @param hasEntries whether the set contains versions of entries
 */
export function lostBy(
  merged: NamedDocument,
  { base, now, proposed }: DefinitionSides,
  hasEntries: boolean,
): AppError | undefined {
  const [old, live] = [placed(rootsOf(base), byRoot), placed(rootsOf(now), byRoot)];
  const all = rootsOf(merged);
  const [roots, names] = [placed(all, byRoot), placed(all, byName)];
  const [own, other] = [new NameTable(proposed.names), new NameTable(merged.names)];
  for (const field of rootsOf(proposed)) {
    const { scope, name } = field;
    if (!old.has(byRoot(field))) {
      // The orb has added something with the name that the set's had before.
      if ((live.get(byRoot(field))?.name ?? name) !== name) return lost(name);
      const here = names.get(byName(field));
      if (hasEntries && here !== undefined && here.root !== field.root) return lost(name);
    }
    const same = roots.get(byRoot(field));
    if (!hasEntries || same === undefined) continue;
    const stored = own.storedOf(scope, name);
    const formOf = (table: NameTable, called: string) =>
      table.formsOf(scope, called)?.find((form) => form.stored === stored);
    const [form, kept] = [formOf(own, name), formOf(other, same.name)];
    if (form !== undefined && (kept === undefined || !isSameShape(form, kept))) return lost(name);
  }
  const taken = takenIn(all, { base, now, proposed });
  if (taken !== undefined) return lost(taken);
  const source = sourceGone(merged, { base, now, proposed });
  return source === undefined ? undefined : sourceLost(source);
}

/** Returns the fields of a document of which another one is made, by their names. */
const sourcesIn = (field: Pick<FieldDefinition, "from">): string[] => [
  ...movesOf(field).map(([, name]) => name),
  ...readsOf(ruleOf(field)),
  ...[joinOf(field) ?? []].flat(),
];

/** Returns the name of a field of which the set makes another one, and which the orb has renamed or removed. */
function sourceGone(merged: NamedDocument, { base, now }: DefinitionSides): string | undefined {
  if (base === null) return undefined;
  const fromOf = (side: NamedDocument) =>
    new Map([...rootsIn(side)].map(([item, root]) => [byRoot(root), "from" in item ? item.from : undefined]));
  const known = [fromOf(base), fromOf(now)];
  const [old, live] = [placed(rootsOf(base), byName), placed(rootsOf(now), byRoot)];
  for (const [item, root] of rootsIn(merged)) {
    const { from } = item as Pick<FieldDefinition, "from">;
    if (from === undefined || known.some((side) => equal(side.get(byRoot(root)), from))) continue;
    const gone = sourcesIn({ from }).find((name) => {
      const source = old.get(`${root.scope} ${name}`);
      return source !== undefined && live.get(byRoot(source))?.name !== name;
    });
    if (gone !== undefined) return gone;
  }
  return undefined;
}

/** Returns a name that comes from one of the sides, but would show the values of something else, because of its `was`. */
function takenIn(merged: readonly Root[], { base, now, proposed }: DefinitionSides): string | undefined {
  const stored = placed([...rootsOf(base), ...rootsOf(now)], byRoot);
  const sides = [now, proposed].map((side) => placed(rootsOf(side), byName));
  return merged.find((one) => {
    const from = sides
      .flatMap((side) => side.get(byName(one)) ?? [])
      .filter((root) => stored.has(byRoot(root)));
    return from.length > 0 && from.every(({ root }) => root !== one.root);
  })?.name;
}

const sourceLost = (name: string): AppError =>
  new AppError(
    "conflict",
    "definition_conflict",
    `The definition in the change set makes a field of ${name}, which the orb has renamed or removed since. Write the definition into the set again, with the present name in from.`,
    { data: { name } },
  );

const lost = (name: string): AppError =>
  new AppError(
    "conflict",
    "definition_conflict",
    `The orb and the change set store values of ${name} in the same place, with another meaning. Take the definition and the versions of such entries out of the set, and write them into it again.`,
    { data: { name } },
  );
