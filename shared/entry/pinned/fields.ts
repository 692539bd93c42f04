/** Finds what the fields of an earlier revision of a definition are in the live one. */
import { type CompiledField, type CompiledSchema, withoutFields } from "../../definition/compile.ts";
import { keyOfRef, targetKey } from "../../definition/document/index.ts";
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
  const stored = storedShape(from, component);
  const found = [...(to.shapes ?? [])].find(([key]) => storedShape(to, key) === stored);
  return found?.[1];
}

/** Returns the stored name of a component of blocks, or of a schema that links refer to. */
function storedShape({ kind, renamedInside, renamedTargets }: CompiledField, key: string): string {
  if (kind === TYPE) return renamedInside?.get(key) ?? key;
  return [...(renamedTargets ?? [])].find(([ref]) => keyOfRef(ref) === key)?.[1] ?? key;
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

/** Returns the schemas that a field refers to, by their names in stored data. */
const storedTargets = ({ targets, renamedTargets }: CompiledField) =>
  JSON.stringify(targets.map((target) => renamedTargets?.get(target.ref) ?? targetKey(target)).sort());

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
    (!old.polymorphic || storedTargets(old) === storedTargets(now)) &&
    isSameInside(old, now)
  );
}

function isSameInside(old: CompiledField, now: CompiledField): boolean {
  if (old.shapes === undefined || now.shapes === undefined) return old.shapes === now.shapes;
  const [one, other] = [[...old.shapes], now.shapes];
  return (
    one.length === other.size &&
    one.every(([component, members]) => {
      const same = old.kind === TYPE ? other.get(component) : shapeLike(old, component, now);
      return (
        same !== undefined &&
        same.size === members.size &&
        (old.kind !== TYPE || storedShape(old, component) === storedShape(now, component)) &&
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
    translatable: pairs.flatMap(([, now]) => (now.translatable ? [now] : [])),
    nested: new Map([...nested].map(([name, found]) => [name, found.map(([, now]) => now)])),
  };
}

/** Returns whether a filter means the same for both fields. It does not compare the members of their objects. */
export function isComparable(old: CompiledField, now: CompiledField): boolean {
  const isMoved = old.parent === undefined && now.parent !== undefined;
  // A field that moved has another stored name, and no other form unless its type has changed.
  const stored = isMoved && old.forms === undefined && now.forms === undefined ? now.stored : old.stored;
  const isSame = isSameField({ ...old, stored, shapes: undefined }, { ...now, shapes: undefined });
  return isSame && old.repeated === now.repeated;
}
