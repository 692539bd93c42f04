/** Compares fields whose objects become entries of another schema with a reference, and back. */
import { joinNames } from "../kernel/faults.ts";
import { type Change, meaningChanges, type Side } from "./compat-fields.ts";
import {
  accessLists,
  type FieldDefinition,
  type HomeKey,
  homeKey,
  isEntryRule,
  joinOf,
  type ModuleDefinition,
  refsOf,
  type SchemaDefinition,
  splitOf,
} from "./document/index.ts";
import { madeIn, storedHome } from "./names/index.ts";
import { componentsOf, shapesOf } from "./nested.ts";
import type { PartDefinition } from "./rich-text.ts";

/** The fields of a schema before and after a change, and the callers who may read its entries afterwards. */
export interface StepLists {
  a: Side;
  b: Side;
  before: { list: readonly FieldDefinition[]; scope: string };
  after: { list: readonly FieldDefinition[]; scope: string };
  readers: readonly string[];
  /** The callers who may read drafts of its entries afterwards. */
  drafters: readonly string[];
}

interface Target {
  module: ModuleDefinition;
  schema: SchemaDefinition;
  home: ReturnType<typeof storedHome>;
}

/** Returns the schema of a document to which a field refers. */
function targetIn({ document, names }: Side, field: FieldDefinition): Target | undefined {
  const [orb, moduleId, schemaId] = refsOf(field)[0]?.split("/") ?? [];
  const module = orb === document.id ? document.modules.find(({ id }) => id === moduleId) : undefined;
  const schema = module?.schemas.find(({ id }) => id === schemaId);
  if (module === undefined || schema === undefined) return undefined;
  return { module, schema, home: storedHome(names, module.type, schema.id) };
}

const homesOf = ({ document, names }: Side): Set<HomeKey> =>
  new Set(
    document.modules.flatMap(({ type, schemas }) =>
      schemas.map(({ id }) => homeKey(storedHome(names, type, id))),
    ),
  );

/** Returns whether all callers in a list are also in another one. Admins and owners may read everything. */
function isWithin(callers: readonly string[], others: readonly string[]): boolean {
  const users = others.includes("public") || others.includes("user");
  return callers.every(
    (one) =>
      others.includes(one) ||
      others.includes("public") ||
      ["admin", "owner"].includes(one) ||
      (users && one !== "public" && !one.startsWith("handler:")),
  );
}

/** Returns the callers who may read the drafts of a schema's entries. */
export const draftersOf = (
  type: ModuleDefinition["type"],
  schema: Pick<SchemaDefinition, "access">,
): string[] => {
  const { update, publish } = accessLists(type, schema);
  return [...new Set([...update, ...publish])];
};

/** Returns the callers who may read a field, apart from admins. */
const readersOf = ({ access }: FieldDefinition, entry: readonly string[]) => access?.read ?? entry;

const membersOf = ({ document }: Side, field: FieldDefinition) =>
  (shapesOf(field, componentsOf(document))?.get("") ?? []) as readonly FieldDefinition[];

/** A field whose values another field gets, in an object or outside. */
interface Pair {
  path: string;
  from: PartDefinition;
  /** Undefined if there is no such field. */
  to: PartDefinition | undefined;
  /** The callers who may read the new field. */
  readers: readonly string[];
}

/** Returns two fields, and those in their objects. */
function pairsOf(sides: readonly [Side, Side], { path, from, to, readers }: Pair): Pair[] {
  const own = { path, from, to, readers: to?.access?.read ?? readers };
  const [before, after] = [from, to].map(
    (one, at) => one && shapesOf(one, componentsOf((sides[at] ?? sides[0]).document)),
  );
  const inner = [...(before ?? [])].flatMap(([component, list]) => {
    const fields = new Map(after?.get(component)?.map((one) => [one.name, one]));
    return list.flatMap((one) =>
      pairsOf(sides, {
        path: `${path}.${one.name}`,
        from: one,
        to: fields.get(one.name),
        readers: own.readers,
      }),
    );
  });
  return [own, ...inner];
}

/** Returns the names of the new fields that callers could read who may not read the earlier ones. */
const widerIn = (pairs: readonly Pair[], known: (list: readonly string[]) => readonly string[]) =>
  pairs.flatMap(({ path, from, to, readers }) => {
    const list = from.access?.read;
    return to !== undefined && list !== undefined && !isWithin(readers, known(list)) ? [path] : [];
  });

const isSensitive = ({ from, to }: Pair) => from.sensitive === true || to?.sensitive === true;

const refused = (code: string, field: string, message: string): Change => ({
  severity: "dangerous",
  code,
  field,
  message: `Field ${field} ${message}`,
});

/** Returns the object that becomes the entries of a new reference, by its name before. */
function objectOf({ a, b, before, after }: StepLists, field: FieldDefinition): string | undefined {
  if (wasThere({ a, b, before, after }, field)) return undefined;
  const made = madeIn(b.names, after.scope, field.name);
  if (made === undefined || !isEntryRule(made.rule)) return splitOf(field);
  // A reference that comes back may know the object by an earlier name.
  const [[known, source] = []] = Object.entries(made.sources);
  return (
    before.list.find(({ name }) => a.names.allStoredOf(before.scope, name).includes(source?.stored ?? ""))
      ?.name ?? known
  );
}

/** Returns whether the document before has a field too, maybe by another name. */
const wasThere = ({ a, b, before, after }: Omit<StepLists, "readers" | "drafters">, field: FieldDefinition) =>
  before.list.some(
    ({ name }) => a.names.rootOf(before.scope, name) === b.names.rootOf(after.scope, field.name),
  );

/** Returns the reference whose entries become a new object, by its name before. */
function referenceOf({ a, b, before, after }: StepLists, field: FieldDefinition): string | undefined {
  if (field.type !== "object" || wasThere({ a, b, before, after }, field)) return undefined;
  // The object was split earlier, and the document without the split is published again.
  const own = b.names.allStoredOf(after.scope, field.name);
  const heir = before.list.find(({ name }) => {
    const made = madeIn(a.names, before.scope, name);
    const sources = Object.values(made?.sources ?? {});
    return isEntryRule(made?.rule) && sources.some(({ stored }) => own.includes(stored));
  });
  return joinOf(field) ?? heir?.name;
}

/** Returns whether a publication moves values between the entries of two schemas for a field. */
export const isStep = (lists: StepLists, field: FieldDefinition): boolean =>
  (objectOf(lists, field) ?? referenceOf(lists, field)) !== undefined;

/** Returns the changes of objects that become entries, and of entries that become objects. */
export function stepChanges(lists: StepLists): Change[] {
  return lists.after.list.flatMap((field): Change[] => {
    const named = splitOf(field) ?? joinOf(field);
    if (
      named !== undefined &&
      wasThere(lists, field) &&
      lists.before.list.some(({ name }) => name === named)
    ) {
      const code = splitOf(field) === undefined ? JOIN : SPLIT;
      return [
        refused(
          code,
          field.name,
          `cannot take the values of ${named}, because the schema has it already. Use a new name.`,
        ),
      ];
    }
    const object = objectOf(lists, field);
    if (object !== undefined) return splitChange(lists, field, object);
    const reference = referenceOf(lists, field);
    return reference === undefined ? [] : joinChange(lists, field, reference);
  });
}

const SPLIT = "split_field";
const JOIN = "joined_field";

function splitChange(lists: StepLists, field: FieldDefinition, name: string): Change[] {
  const { a, b, before } = lists;
  const refuse = (message: string) => [refused(SPLIT, field.name, message)];
  const source = before.list.find((one) => one.name === name);
  if (source?.type !== "object" || source.translatable === true || source.marketSpecific === true)
    return refuse(
      `cannot be made of ${name}, which must be an object that the schema has now, without translatable and marketSpecific.`,
    );
  if ((source.list ?? false) !== (field.list ?? false))
    return refuse(`cannot be made of ${name}: both must be lists, or none.`);
  if (
    a.names
      .identitiesIn(before.scope)
      .some(({ moved = [] }) => moved.some((one) => isOf(lists, one.object, name)))
  )
    return refuse(`cannot be made of ${name}, into which other fields have moved.`);
  const target = targetIn(b, field);
  if (target === undefined || !["CONTENT", "CONFIG"].includes(target.module.type))
    return refuse("must refer to a CONTENT or CONFIG schema of this orb.");
  const place = `${target.module.id}/${target.schema.id}`;
  if (homesOf(a).has(homeKey(target.home)))
    return refuse(
      `cannot be made of ${name}, because the schema ${place} is published already. Refer to a schema that is new in this document, so that nobody sees its entries too early.`,
    );
  const fields = new Map(target.schema.fields.map((one) => [one.name, one]));
  const entry = accessLists(target.module.type, target.schema).read;
  const drafters = draftersOf(target.module.type, target.schema);
  const pairs = membersOf(a, source).map((from) =>
    pairsOf([a, b], {
      path: from.name,
      from,
      to: fields.get(from.name),
      readers: [...entry, ...drafters],
    }),
  );
  const unfit = pairs.flatMap(([own, ...inner]) => {
    if (own === undefined) return [];
    const isFit =
      own.to !== undefined &&
      meaningChanges(own.from, own.to).length === 0 &&
      ![own, ...inner].some(isSensitive);
    return isFit ? [] : [own.path];
  });
  if (unfit.length > 0)
    return refuse(
      `cannot be made of ${name}: ${place} needs a field ${joinNames(unfit)} of the same type, list, translatable and marketSpecific, and not sensitive.`,
    );
  const readers = readersOf(source, lists.readers);
  if (!isWithin(entry, readers) || !isWithin(entry, lists.readers))
    return refuse(
      `cannot be made of ${name}, because other callers could read the entries of ${place}. Give that schema an access.read that names no other callers than ${joinNames(readers)}.`,
    );
  if (!isWithin(drafters, readersOf(source, drafters)) || !isWithin(drafters, lists.drafters))
    return refuse(
      `cannot be made of ${name}, because other callers could read drafts of ${place}. Give that schema an access.update and access.publish that name no other callers than those who may read drafts of ${name}.`,
    );
  const wider = widerIn(pairs.flat(), (list) => list);
  if (wider.length > 0)
    return refuse(
      `cannot be made of ${name}, because other callers could read ${joinNames(wider)} in ${place}. Give these fields the access.read that they have in ${name}.`,
    );
  return [
    {
      severity: "converted",
      code: "split_field",
      field: field.name,
      message: `Field ${name} becomes ${field.name}. Each of its objects becomes an entry of ${place}.`,
      roots: a.names.allStoredOf(before.scope, name),
      mayLose: true,
      step: { kind: "split", field: field.name, source: name, target: target.home },
    },
  ];
}

const isOf = ({ a, before }: StepLists, stored: string, name: string) =>
  a.names.allStoredOf(before.scope, name).includes(stored);

function joinChange(lists: StepLists, field: FieldDefinition, name: string): Change[] {
  const { a, b, before, after, readers } = lists;
  const refuse = (message: string) => [refused(JOIN, field.name, message)];
  const source = before.list.find((one) => one.name === name);
  if (source?.type !== "reference" || source.translatable === true || source.marketSpecific === true)
    return refuse(
      `cannot have the values of ${name}, which must be a reference that the schema has now, without translatable and marketSpecific.`,
    );
  if ((source.list ?? false) !== (field.list ?? false))
    return refuse(`cannot have the values of ${name}: both must be lists, or none.`);
  const target =
    refsOf(source).length === 1 && typeof source.ref === "string" ? targetIn(a, source) : undefined;
  if (target === undefined)
    return refuse(`cannot have the values of ${name}, which must refer to one schema of this orb.`);
  const place = `${target.module.id}/${target.schema.id}`;
  const fields = new Map(target.schema.fields.map((one) => [one.name, one]));
  const entry = accessLists(target.module.type, target.schema).read;
  const shown = readersOf(field, readers);
  const pairs = membersOf(b, field).flatMap((to) => {
    const from = fields.get(to.name);
    const all = readersOf(field, [...readers, ...lists.drafters]);
    return from === undefined ? [] : [pairsOf([a, b], { path: to.name, from, to, readers: all })];
  });
  const unfit = pairs.flatMap(([own, ...inner]) => {
    if (own?.to === undefined) return [];
    const isFit = meaningChanges(own.from, own.to).length === 0 && ![own, ...inner].some(isSensitive);
    return isFit ? [] : [own.path];
  });
  if (unfit.length > 0)
    return refuse(
      `cannot have the values of ${name}: its ${joinNames(unfit)} must have the same type, list, translatable and marketSpecific as in ${place}, and not be sensitive.`,
    );
  // Who created an entry need not have created those to which it refers.
  const others = (callers: readonly string[]) => callers.filter((one) => one !== "own");
  const wider = widerIn(pairs.flat(), others);
  const [known, drafts] = [others(entry), others(draftersOf(target.module.type, target.schema))];
  if (wider.length > 0 || !isWithin(shown, known))
    return refuse(
      `cannot have the values of ${name}, because other callers could read them than the entries of ${place}. Give ${field.name} an access.read that names no other callers than ${joinNames(known.length === 0 ? ["admin"] : known)}.`,
    );
  if (!isWithin(lists.drafters, drafts) && !isWithin(readersOf(field, lists.drafters), drafts))
    return refuse(
      `cannot have the values of ${name}, because other callers could read them than the drafts of ${place}. Give ${field.name} an access.read that names only callers who may read these drafts.`,
    );
  return [
    {
      severity: "converted",
      code: "joined_field",
      field: field.name,
      message: `Field ${name} becomes ${field.name}. It has the values of the entries of ${place} to which it refers.`,
      roots: [...a.names.allStoredOf(before.scope, name), ...b.names.allStoredOf(after.scope, field.name)],
      mayLose: true,
      step: { kind: "join", field: field.name, source: name, target: target.home },
    },
  ];
}
