/** Compares two definitions of an application and lists the changes that affect stored entries. Does no I/O. */
import { joinNames } from "../kernel/faults.ts";
import { equal } from "../kernel/json.ts";
import type { PlacedChange } from "./changes.ts";
import {
  type Change,
  compareFields,
  compareKeys,
  FIELD_MEANING,
  meaningChanges,
  type Side,
  tightened,
} from "./compat-fields.ts";
import { becameOthers, madeChanges, madeOfRemoved } from "./compat-made.ts";
import { draftersOf, isStep, stepChanges } from "./compat-split.ts";
import { isRequired } from "./compile-field.ts";
import {
  accessLists,
  type FieldDefinition,
  homeKey,
  type ModuleDefinition,
  movesOf,
  type OrbDocument,
  type SchemaDefinition,
  sourceOf,
} from "./document/index.ts";
import {
  COMPONENTS,
  conversionTo,
  isLossless,
  type Location,
  MODULES,
  type MovedBetween,
  movedBetween,
  NameTable,
  type StoredNames,
  scopeWithin,
  sharedBetween,
  storedHome,
} from "./names/index.ts";
import { componentsOf, shapesOf } from "./nested.ts";
import { allowedIn, BLOCK, linkKey } from "./rich-text.ts";

/** The names in stored data before and after a change. */
export interface NamesOfBoth {
  from?: StoredNames | undefined;
  to?: StoredNames | undefined;
}

export function compareDefinitions(
  from: OrbDocument,
  to: OrbDocument,
  names: NamesOfBoth = {},
): PlacedChange[] {
  const a: Side = { document: from, names: new NameTable(names.from) };
  const b: Side = { document: to, names: new NameTable(names.to) };
  const modules = new Map(to.modules.map((module) => [b.names.storedOf(MODULES, module.id), module]));
  const homes = new Map(
    to.modules.flatMap((module) =>
      module.schemas.map((schema) => [homeKey(storedHome(b.names, module.type, schema.id)), module]),
    ),
  );
  return from.modules.flatMap((module) => {
    const after = modules.get(a.names.storedOf(MODULES, module.id));
    return module.schemas.flatMap((schema) => {
      const home = storedHome(a.names, module.type, schema.id);
      const other = after?.schemas.find(
        ({ id }) => storedHome(b.names, after.type, id).schema === home.schema,
      );
      const names = { module: after?.id ?? module.id, schema: (other ?? schema).id };
      const place = { ...names, moduleType: module.type, home };
      const heir = homes.get(homeKey(home));
      if (heir !== undefined && heir !== after) {
        const message = `The entries of ${module.id}/${schema.id} would become those of ${heir.id}/${schema.id}.`;
        return [{ ...place, severity: "dangerous" as const, code: "moved_schema", message }];
      }
      const found = after === undefined ? undefined : { module: after, schema: other };
      return schemaChanges([a, b], { module, schema }, found).map((change) => ({ ...place, ...change }));
    });
  });
}

function schemaChanges(
  sides: readonly [Side, Side],
  { module, schema }: { module: ModuleDefinition; schema: SchemaDefinition },
  after: { module: ModuleDefinition; schema: SchemaDefinition | undefined } | undefined,
): Change[] {
  if (after === undefined)
    return [{ severity: "removal", code: "removed_module", message: `Module ${module.id} is removed.` }];
  const { schema: other } = after;
  if (other === undefined) {
    const message = `Schema ${module.id}/${schema.id} is removed.`;
    return [{ severity: "removal", code: "removed_schema", message }];
  }
  if (after.module.type !== module.type) {
    const message = `Module ${module.id} changes from ${module.type} to ${after.module.type}.`;
    return [{ severity: "dangerous", code: "changed_module_type", message }];
  }
  const place = `${module.id}/${schema.id}`;
  const changes: Change[] = [];
  if (module.id !== after.module.id) {
    const message = `Module ${module.id} becomes ${after.module.id}. It keeps its entries, and its paths change.`;
    changes.push({ severity: "renamed", code: "renamed_module", message });
  }
  if (schema.id !== other.id) {
    const message = `Schema ${place} becomes ${after.module.id}/${other.id}. It keeps its entries, and its paths change.`;
    changes.push({ severity: "renamed", code: "renamed_schema", message });
  }
  return [...changes, ...compareSchemas(sides, module, schema, other)];
}

function compareSchemas(
  [a, b]: readonly [Side, Side],
  module: ModuleDefinition,
  before: SchemaDefinition,
  after: SchemaDefinition,
): Change[] {
  const changes: Change[] = [];
  const read = { from: accessLists(module.type, before).read, to: accessLists(module.type, after).read };
  if (!equal(read.from, read.to)) {
    changes.push({
      severity: "access",
      code: "changed_access_read",
      message: `Readers change from ${read.from.join(", ")} to ${read.to.join(", ")}.`,
    });
  }
  const scope = homeKey(storedHome(a.names, module.type, before.id));
  const lists = { a, b, before: { list: before.fields, scope }, after: { list: after.fields, scope } };
  const listed = ({ document, names }: Side, fields: readonly FieldDefinition[]) => ({
    names,
    components: componentsOf(document),
    scope,
    fields,
  });
  const sides = [listed(a, before.fields), listed(b, after.fields)] as const;
  const steps = { ...lists, readers: read.to, drafters: draftersOf(module.type, after) };
  const moved = movedBetween(...sides);
  return [
    ...changes,
    ...moved.flatMap((one) => movedField([a, b], one)),
    ...refusedMoves(before, after, moved),
    ...sharedBetween(...sides).map(sharedMember),
    ...compareLists({ ...lists, prefix: "", roots: undefined, moved }),
    ...stepChanges(steps),
    ...madeChanges({
      ...lists,
      arrived: new Set(moved.map(({ to }) => to.path)),
      isOther: (field) => isStep(steps, field),
    }),
  ];
}

/** The fields of a schema, or of the objects of a field, before and after a change. */
interface Lists {
  a: Side;
  b: Side;
  before: { list: readonly FieldDefinition[]; scope: string };
  after: { list: readonly FieldDefinition[]; scope: string };
  /** Names on the way to the fields. */
  prefix: string;
  /** Stored names of the field of the schema that contains them. */
  roots: readonly string[] | undefined;
  /** The fields of the schema that move into objects, or out of them. */
  moved: readonly MovedBetween[];
}

function compareLists(lists: Lists): Change[] {
  const { a, b, before, after, prefix } = lists;
  const changes: Change[] = [];
  const named = (field: FieldDefinition) => (prefix === "" ? field : { ...field, name: prefix + field.name });
  const rootIn = ({ names }: Side, scope: string, { name }: FieldDefinition) => names.rootOf(scope, name);
  const fields = new Map(after.list.map((field) => [rootIn(b, after.scope, field), field]));
  const known = new Set(before.list.map((field) => rootIn(a, before.scope, field)));
  const isMoved = (side: "from" | "to", field: FieldDefinition) =>
    isMovedAway(lists, side, prefix + field.name, field);
  const added = [...fields].flatMap(([root, field]) =>
    known.has(root) || isMoved("to", field) ? [] : [field],
  );
  for (const field of before.list) {
    const root = rootIn(a, before.scope, field);
    const other = fields.get(root);
    const roots = lists.roots ?? namesOf(lists, field, other);
    fields.delete(root);
    if (other === undefined && isMoved("from", field)) continue;
    if (other === undefined) {
      const heirs = prefix === "" ? madeOfRemoved(lists, root) : [];
      if (heirs.length > 0) {
        changes.push({ roots, ...becameOthers(named(field).name, heirs) });
        continue;
      }
      const alike = added.filter((one) => meaningChanges(field, one).length === 0);
      changes.push({ roots, ...removedField(named(field).name, field.name, alike) });
    } else {
      const converted = convertedField(lists, field, other);
      const own = [
        ...renamedField(prefix, field, other),
        ...converted,
        ...(converted.some(({ mayLose }) => mayLose === true) ? convertedUnique(field, named(other)) : []),
        ...compareFields([a, b], named({ ...field, name: other.name }), named(other), converted.length > 0),
      ];
      changes.push(
        ...[...own, ...compareKeys(a.document, b.document, named(other))].map((one) => ({ roots, ...one })),
      );
      if (!own.some(({ severity }) => severity === "dangerous"))
        changes.push(...compareShapes(lists, field, other, roots));
    }
  }
  for (const field of [...fields.values()].map(named)) {
    if (lists.moved.some(({ to }) => to.path === field.name)) continue;
    if (isRequired(field) && field.default === undefined && sourceOf(field) === undefined) {
      changes.push(
        tightened(field, "added_required", `The new field ${field.name} is required and has no default.`),
      );
    }
  }
  return changes;
}

/** Returns whether a field moves, or all members of an object. */
function isMovedAway(
  { moved, a, b }: Lists,
  side: "from" | "to",
  path: string,
  field: FieldDefinition,
): boolean {
  const moves = (one: string) => moved.some((each) => each[side].path === one);
  const components = componentsOf((side === "from" ? a : b).document);
  const members = field.type === "object" ? (shapesOf(field, components)?.get("") ?? []) : [];
  return moves(path) || (members.length > 0 && members.every(({ name }) => moves(`${path}.${name}`)));
}

/** Returns the changes of a field that becomes a member of an object, or reversed. */
function movedField(
  sides: readonly [Side, Side],
  { from, to, roots, mayLose, fits }: MovedBetween,
): Change[] {
  const message = `Field ${from.path} becomes ${to.path}. It keeps its values.`;
  const after = { ...to.definition, name: to.path };
  // Equal values could be written while the unique values of the new place are reserved.
  const before = { ...from.definition, name: to.path, unique: false };
  const misfits = fits ? [] : meaningChanges(from.definition, after);
  return [
    {
      severity: "renamed" as const,
      code: "moved_field",
      field: to.path,
      message,
      ...(mayLose ? { mayLose } : {}),
    },
    ...(misfits.length > 0 ? misfits : compareFields(sides, before, after, true)),
  ].map((one) => ({ ...one, roots }));
}

/** Tells which fields the document names as earlier ones of members, although they cannot become them. */
function refusedMoves(
  before: SchemaDefinition,
  after: SchemaDefinition,
  moved: readonly MovedBetween[],
): Change[] {
  return after.fields.flatMap((owner) =>
    movesOf(owner).flatMap(([member, source]): Change[] => {
      const field = `${owner.name}.${member}`;
      if (before.fields.every(({ name }) => name !== source) || moved.some(({ to }) => to.path === field))
        return [];
      const message = `Field ${source} cannot become ${field}, which must be new, and have the same type, list, translatable and marketSpecific.`;
      return [{ severity: "dangerous", code: "moved_field", field, message }];
    }),
  );
}

function sharedMember({ own, member }: { own: Location; member: Location }): Change {
  const message = `Field ${member.path} cannot be new: entries have values of ${own.path} there. Give it another name, or write these entries first.`;
  return { severity: "dangerous", code: "moved_field", field: member.path, message };
}

/** Returns all stored names of a field. */
function namesOf({ a, b, before, after }: Lists, field: FieldDefinition, other?: FieldDefinition): string[] {
  const inSide = ({ names }: Side, scope: string, one: FieldDefinition) => [
    names.storedOf(scope, one.name),
    ...(names.formsOf(scope, one.name) ?? []).map(({ stored }) => stored),
  ];
  const now = other === undefined ? [] : inSide(b, after.scope, other);
  return [...new Set([...inSide(a, before.scope, field), ...now])];
}

/** @param alike new fields that may have the values of the removed one */
function removedField(name: string, was: string, alike: readonly FieldDefinition[]): Change {
  const stay = `Field ${name} is removed; stored values of it stay until the entry's next write.`;
  const removed: Change = { severity: "tightened", code: "removed_field", field: name, message: stay };
  if (alike.length === 0) return removed;
  const candidates = alike.map((one) => one.name);
  const message = `Rename or remove? Field ${name} is removed, and ${joinNames(candidates)} of the same type is new. If a new field is the old one, add "was": "${was}" to it. Otherwise force the removal: stored values stay until the entry's next write.`;
  return { ...removed, severity: "removal", candidates, message };
}

function renamedField(prefix: string, { name: was }: FieldDefinition, { name }: FieldDefinition): Change[] {
  if (was === name) return [];
  const message = `Field ${prefix}${was} becomes ${prefix}${name}. It keeps its values.`;
  return [{ severity: "renamed", code: "renamed_field", field: prefix + name, message }];
}

/** Returns the change of a field whose values get another stored name. */
function convertedField(
  { a, b, before, after, prefix }: Lists,
  field: FieldDefinition,
  other: FieldDefinition,
): Change[] {
  const was = a.names.storedOf(before.scope, field.name);
  const is = b.names.storedOf(after.scope, other.name);
  if (was === is) return [];
  const forms = b.names.formsOf(after.scope, other.name) ?? [];
  const made = (stored: string, from: string) =>
    forms.some((form) => form.stored === stored && form.from === from);
  const { ruled } = conversionTo(is, was, forms);
  // A conversion over other forms may lose what a direct one would keep.
  const lossless = isLossless(field, other) && (made(is, was) || made(was, is)) && !ruled;
  const told = FIELD_MEANING.flatMap((attribute) => {
    const [from, to] = [field[attribute] ?? false, other[attribute] ?? false];
    return from === to ? [] : [`${attribute} changes from ${from} to ${to}`];
  });
  const fate = ruled
    ? "Rules convert the stored values when they are read."
    : "Stored values are converted when they are read.";
  return [
    {
      severity: "converted",
      code: "converted_field",
      field: prefix + other.name,
      message: `Field ${prefix}${other.name}: ${joinNames(told)}. ${fate}`,
      ...(lossless ? {} : { mayLose: true }),
    },
  ];
}

/**
 * Returns the change of a unique field whose values are converted. Different values may become equal ones, also those
 * that are written while the unique values are reserved.
 */
function convertedUnique(before: FieldDefinition, { name, unique }: FieldDefinition): Change[] {
  if (before.unique !== true || unique !== true) return [];
  const message = `Field ${name} stays unique: its converted values must differ.`;
  return [{ severity: "claim", code: "added_unique", field: name, message }];
}

/** Compares the fields of objects and blocks. */
function compareShapes(
  { a, b, before: from, after: to, prefix, moved }: Lists,
  before: FieldDefinition,
  after: FieldDefinition,
  roots: readonly string[],
): Change[] {
  const name = prefix + after.name;
  const storedIn = ({ names }: Side, id: string) => (id === "" ? id : names.storedOf(COMPONENTS, id));
  const shapes = new Map(
    [...(shapesOf(after, componentsOf(b.document)) ?? [])].map(([id, list]) => [
      storedIn(b, id),
      { id, list },
    ]),
  );
  return [...(shapesOf(before, componentsOf(a.document)) ?? [])].flatMap(([id, list]): Change[] => {
    if (after.type === "richText" && id === BLOCK)
      return compareText(before, { ...after, name }).map((one) => ({ ...one, roots }));
    const other = shapes.get(storedIn(a, id));
    if (other === undefined) {
      const message = `Field ${name} no longer allows the component ${id}; stored blocks of it stay until the entry's next write.`;
      return [{ ...tightened({ name }, "removed_component", message), roots }];
    }
    const message = `Component ${id} becomes ${other.id}. Its blocks keep their values.`;
    const renamed: Change = { severity: "renamed", code: "renamed_component", field: name, roots, message };
    const below = compareLists({
      a,
      b,
      before: { list, scope: scopeWithin(a.names, from.scope, before, id) },
      after: { list: other.list, scope: scopeWithin(b.names, to.scope, after, other.id) },
      prefix: `${name}.`,
      roots,
      moved,
    });
    return id === other.id ? below : [renamed, ...below];
  });
}

/** Compares what a field of rich text allows. */
function compareText(before: FieldDefinition, after: FieldDefinition): Change[] {
  const [was, is] = [allowedIn(before), allowedIn(after)];
  return (["styles", "marks", "lists", "links"] as const).flatMap((attribute) => {
    const key = attribute === "links" ? linkKey : (name: string) => name;
    const left = is[attribute].map(key);
    const gone = was[attribute].filter((name) => !left.includes(key(name)));
    if (gone.length === 0) return [];
    const message = `Field ${after.name} no longer allows the ${attribute} ${gone.join(", ")}; texts that use them must be changed at the entry's next write.`;
    return [tightened(after, "removed_format", message)];
  });
}
