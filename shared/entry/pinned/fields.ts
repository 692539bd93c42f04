/** Finds what the fields of an earlier revision of a definition are in the live one. */
import { type CompiledField, type CompiledSchema, withoutFields } from "../../definition/compile.ts";
import { allFields, fieldsNamed, TYPE, withNested } from "../../definition/walk.ts";

/** The schema of an earlier revision, and the same one in the live definition. */
export interface SchemaPair {
  old: CompiledSchema;
  now: CompiledSchema;
}

const rootWith = ({ fields }: CompiledSchema, identities: readonly string[]) =>
  [...fields.values()].find(({ identity }) => identities.includes(identity));

/**
 * Returns the field that has the values of a field of the earlier revision. Undefined if the definition no longer has it.
 * @param pair.now can be reduced to some of its fields. Then the result is one of these.
 */
export function counterpartOf(pair: SchemaPair, field: CompiledField): CompiledField | undefined {
  const { old, now } = pair;
  if (field.parent === undefined) {
    const own = rootWith(now, [field.identity]);
    const moved = now.moved.find(({ isOwn, stored }) => !isOwn && stored.includes(field.identity));
    return own ?? (moved === undefined ? undefined : fieldsNamed(now, moved.path)[0]);
  }
  const left = old.moved.find(({ isOwn, path }) => !isOwn && path === field.name);
  const own = left === undefined ? undefined : rootWith(now, left.stored);
  if (own !== undefined) return own;
  const parent = counterpartOf(pair, field.parent);
  const shape = parent === undefined ? undefined : shapeLike(field.parent, field.component, parent);
  return [...(shape?.values() ?? [])].find(({ identity }) => identity === field.identity);
}

/** Returns the fields of the objects of a field, for the component that another definition calls `component`. */
function shapeLike(from: CompiledField, component: string | undefined, to: CompiledField) {
  if (component === undefined) return to.shapes?.get("");
  const stored = from.renamedInside?.get(component) ?? component;
  const renamed = [...(to.renamedInside ?? [])].find(([, name]) => name === stored)?.[0];
  return to.shapes?.get(renamed ?? stored);
}

const reversed = new WeakMap<CompiledSchema, WeakMap<CompiledSchema, Map<CompiledField, CompiledField>>>();

/** Returns the fields of the earlier revision by their counterparts. */
export function oldByNow(pair: SchemaPair): ReadonlyMap<CompiledField, CompiledField> {
  const known = reversed.get(pair.old) ?? new WeakMap<CompiledSchema, Map<CompiledField, CompiledField>>();
  reversed.set(pair.old, known);
  const made =
    known.get(pair.now) ??
    new Map(
      allFields(pair.old).flatMap((old) => {
        const now = counterpartOf(pair, old);
        return now === undefined ? [] : [[now, old] as const];
      }),
    );
  known.set(pair.now, made);
  return made;
}

/** The views of a schema of an earlier revision, by the views of the live schema. */
const views = new WeakMap<CompiledSchema, WeakMap<CompiledSchema, CompiledSchema>>();

/**
 * Returns the schema of the earlier revision, reduced to the fields whose values the live schema has.
 * @param pair.now the live schema, reduced to the fields that the caller may use
 */
export function oldView(pair: SchemaPair): CompiledSchema {
  const { old, now } = pair;
  const known = views.get(old) ?? new WeakMap<CompiledSchema, CompiledSchema>();
  views.set(old, known);
  const made = known.get(now);
  if (made !== undefined) return made;
  const isGone = (field: CompiledField) =>
    withNested(field).every((one) => one.isPart || counterpartOf(pair, one) === undefined);
  const omitted = allFields(old).filter(isGone);
  const view = omitted.length === 0 ? old : withoutFields(old, new Set(omitted));
  known.set(now, view);
  return view;
}

const sorted = (targets: CompiledField["targets"]) =>
  JSON.stringify(targets.map(({ orb, module, schema }) => [orb, module, schema]).sort());

/** Returns whether two fields have the same values, and only their own names differ. */
export function isSameField(old: CompiledField, now: CompiledField): boolean {
  const [one, other] = [old.definition, now.definition];
  return (
    one.type === other.type &&
    old.stored === now.stored &&
    old.list === now.list &&
    old.translatable === now.translatable &&
    old.marketSpecific === now.marketSpecific &&
    old.sensitive === now.sensitive &&
    old.polymorphic === now.polymorphic &&
    one.scale === other.scale &&
    (!old.polymorphic || sorted(old.targets) === sorted(now.targets)) &&
    isSameInside(old, now)
  );
}

function isSameInside(old: CompiledField, now: CompiledField): boolean {
  if (old.shapes === undefined || now.shapes === undefined) return old.shapes === now.shapes;
  const [one, other] = [[...old.shapes], now.shapes];
  return (
    one.length === other.size &&
    one.every(([component, members]) => {
      const same = other.get(component);
      return (
        same !== undefined &&
        same.size === members.size &&
        (old.kind !== TYPE ||
          (old.renamedInside?.get(component) ?? component) ===
            (now.renamedInside?.get(component) ?? component)) &&
        [...members].every(([key, member]) => {
          const found = same.get(key);
          return found !== undefined && found.identity === member.identity && isSameField(member, found);
        })
      );
    })
  );
}

/**
 * Returns the live schema with the names of the earlier revision, for filters, orders and keys. Has only fields whose
 * values have not changed.
 * @param pair.now the live schema, reduced to the fields that the caller may compare
 */
export function namedAsOld(pair: SchemaPair): CompiledSchema {
  const view = oldView(pair);
  const pairs = allFields(view).flatMap((old) => {
    const now = counterpartOf(pair, old);
    return now !== undefined && isComparable(old, now) ? [[old, now] as const] : [];
  });
  const roots = pairs.filter(([old]) => old.parent === undefined);
  const nested = Map.groupBy(
    pairs.filter(([old]) => old.parent !== undefined && !old.isPart),
    ([old]) => old.name,
  );
  return {
    ...pair.now,
    module: pair.old.module,
    id: pair.old.id,
    fields: new Map(roots.map(([old, now]) => [old.name, now])),
    nested: new Map([...nested].map(([name, found]) => [name, found.map(([, now]) => now)])),
  };
}

/** Returns whether a filter means the same for both fields. What is inside them does not matter. */
function isComparable(old: CompiledField, now: CompiledField): boolean {
  const isSame = isSameField({ ...old, shapes: undefined }, { ...now, shapes: undefined });
  return isSame && old.repeated === now.repeated;
}
