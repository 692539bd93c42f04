/** Compares two definitions of an application and lists the changes that affect stored entries. Does no I/O. */
import { equal } from "../kernel/json.ts";
import { accessLists } from "./document/access.ts";
import type {
  FieldDefinition,
  ModuleDefinition,
  OrbDocument,
  SchemaDefinition,
} from "./document/document.ts";
import { homeKey, homeOf, schemaToken } from "./document/home.ts";
import { FIELD_TYPES } from "./fields/index.ts";

/**
 * How a change of the definition affects stored entries:
 * - `removal`: deletes the module or schema of the entries. Needs `force`.
 * - `dangerous`: makes stored values unreadable. Always rejected.
 * - `claim`: makes a field unique. Rejected if two entries have equal values.
 * - `access`: changes which group of readers the published copies of entries are for.
 * - `tightened`: the next write of an entry may be rejected.
 * - `index`: requires an index of stored values.
 * - `renamed`: renames a schema, which changes its paths. The schema keeps its entries.
 */
export type Severity = "removal" | "dangerous" | "claim" | "access" | "tightened" | "index" | "renamed";

export interface SchemaChange {
  severity: Severity;
  /** Stable code such as `removed_schema`, `changed_type` or `added_unique`. */
  code: string;
  module: string;
  moduleType: ModuleDefinition["type"];
  schema: string;
  field?: string;
  message: string;
}

/**
 * Attributes of a field that determine how its stored values are read. Most changes of them would make these values
 * unreadable.
 */
export const FIELD_MEANING = ["type", "list", "translatable", "marketSpecific", "sensitive"] as const;

export type FieldMeaning = Pick<FieldDefinition, "name" | (typeof FIELD_MEANING)[number]>;

export function compareDefinitions(from: OrbDocument, to: OrbDocument): SchemaChange[] {
  const changes: SchemaChange[] = [];
  const modules = new Map(to.modules.map((module) => [module.id, module]));
  const homes = new Map(
    to.modules.flatMap((module) =>
      module.schemas.map((schema) => [homeKey(homeOf(module.type, schema.id)), module.id]),
    ),
  );
  for (const module of from.modules) {
    const after = modules.get(module.id);
    const schemas = new Map(after?.schemas.map((schema) => [schemaToken(schema.id), schema]));
    for (const schema of module.schemas) {
      const other = schemas.get(schemaToken(schema.id));
      const place = { module: module.id, moduleType: module.type, schema: (other ?? schema).id };
      const heir = homes.get(homeKey(homeOf(module.type, schema.id)));
      if (heir !== undefined && heir !== module.id) {
        changes.push({
          ...place,
          severity: "dangerous",
          code: "moved_schema",
          message: `The entries of ${module.id}/${schema.id} would become those of ${heir}/${schema.id}.`,
        });
      } else if (after === undefined) {
        changes.push({
          ...place,
          severity: "removal",
          code: "removed_module",
          message: `Module ${module.id} is removed.`,
        });
      } else if (other === undefined) {
        changes.push({
          ...place,
          severity: "removal",
          code: "removed_schema",
          message: `Schema ${module.id}/${schema.id} is removed.`,
        });
      } else if (after.type !== module.type) {
        changes.push({
          ...place,
          severity: "dangerous",
          code: "changed_module_type",
          message: `Module ${module.id} changes from ${module.type} to ${after.type}.`,
        });
      } else {
        changes.push(
          ...renamed(module, schema, other).map((change) => ({ ...place, ...change })),
          ...compareSchemas(from, to, module, schema, other).map((change) => ({ ...place, ...change })),
        );
      }
    }
  }
  return changes;
}

type Change = Omit<SchemaChange, "module" | "moduleType" | "schema">;

function renamed({ id }: ModuleDefinition, before: SchemaDefinition, after: SchemaDefinition): Change[] {
  if (before.id === after.id) return [];
  const message = `Schema ${id}/${before.id} becomes ${id}/${after.id}. It keeps its entries, and its paths change.`;
  return [{ severity: "renamed", code: "renamed_schema", message }];
}

function compareSchemas(
  from: OrbDocument,
  to: OrbDocument,
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
  const fields = new Map(after.fields.map((field) => [field.name, field]));
  for (const field of before.fields) {
    const other = fields.get(field.name);
    fields.delete(field.name);
    if (other === undefined) {
      changes.push({
        severity: "tightened",
        code: "removed_field",
        field: field.name,
        message: `Field ${field.name} is removed; stored values of it stay until the entry's next write.`,
      });
    } else changes.push(...compareFields(field, other), ...compareKeys(from, to, other));
  }
  for (const field of fields.values()) {
    if (field.required === true && field.default === undefined) {
      changes.push(
        tightened(field, "added_required", `The new field ${field.name} is required and has no default.`),
      );
    }
  }
  return changes;
}

/** Lists the changed attributes that would make stored values unreadable. */
export function meaningChanges(before: FieldMeaning, after: FieldMeaning): Change[] {
  const field = after.name;
  const changed = FIELD_MEANING.filter(
    (attribute) => (before[attribute] || false) !== (after[attribute] || false),
  );
  return changed.map((attribute) => ({
    severity: "dangerous",
    code: `changed_${snake(attribute)}`,
    field,
    message: `Field ${field}: ${attribute} changes from ${before[attribute] ?? false} to ${after[attribute] ?? false}.`,
  }));
}

function compareFields(before: FieldDefinition, after: FieldDefinition): Change[] {
  const field = after.name;
  const changes = meaningChanges(before, after);
  if (changes.length > 0) return changes;
  if (before.unique !== true && after.unique === true) {
    changes.push({
      severity: "claim",
      code: "added_unique",
      field,
      message: `Field ${field} becomes unique.`,
    });
  }
  if (before.unique === true && after.unique !== true) {
    changes.push({
      severity: "index",
      code: "removed_unique",
      field,
      message: `Field ${field} is no longer unique.`,
    });
  }
  const indexesOf = (one: FieldDefinition) => [one.enum !== undefined, one.index, one.search === true].join();
  if (indexesOf(before) !== indexesOf(after)) {
    changes.push({
      severity: "index",
      code: "changed_index",
      field,
      message: `The index of field ${field} changes.`,
    });
  }
  if (targetOf(before) !== targetOf(after)) {
    changes.push(
      tightened(after, "changed_ref", `Field ${field} refers to ${after.ref} instead of ${before.ref}.`),
    );
  }
  if (before.required !== true && after.required === true) {
    changes.push(tightened(after, "added_required", `Field ${field} becomes required.`));
  }
  if (narrowedEnum(before, after))
    changes.push(tightened(after, "narrowed_enum", `Field ${field} allows fewer values.`));
  if (narrowedBound(before, after, "min"))
    changes.push(tightened(after, "raised_min", `Field ${field}: min is raised.`));
  if (narrowedBound(before, after, "max"))
    changes.push(tightened(after, "lowered_max", `Field ${field}: max is lowered.`));
  if (after.pattern !== undefined && after.pattern !== before.pattern) {
    changes.push(tightened(after, "changed_pattern", `Field ${field} has another pattern.`));
  }
  return changes;
}

/**
 * Returns the application, the module and the stored schema name that a reference points to. The stored name does not
 * change when a schema gets a new id and keeps its entries.
 */
function targetOf({ ref }: FieldDefinition): string | undefined {
  if (ref === undefined) return undefined;
  const [orb, module, schema = ""] = ref.split("/");
  return `${orb}/${module}/${schemaToken(schema)}`;
}

function compareKeys(from: OrbDocument, to: OrbDocument, field: FieldDefinition): Change[] {
  const changes: Change[] = [];
  const gone = (before: readonly string[], after: readonly string[]) =>
    before.filter((key) => !after.includes(key));
  const languages = field.translatable === true ? gone(from.languages, to.languages) : [];
  const markets = field.marketSpecific === true ? gone(from.markets, to.markets) : [];
  if (languages.length > 0) {
    changes.push(
      tightened(
        field,
        "removed_language",
        `Field ${field.name} loses the languages ${languages.join(", ")}; stored values of them stay until the entry's next write.`,
      ),
    );
  }
  if (markets.length > 0) {
    changes.push(
      tightened(
        field,
        "removed_market",
        `Field ${field.name} loses the markets ${markets.join(", ")}; stored values of them stay until the entry's next write.`,
      ),
    );
  }
  const moved =
    (field.translatable === true && from.languages[0] !== to.languages[0]) ||
    (field.marketSpecific === true && from.markets[0] !== to.markets[0]);
  if (field.required === true && moved) {
    changes.push(
      tightened(
        field,
        "changed_default_key",
        `Field ${field.name} is required in another default language or market.`,
      ),
    );
  }
  return changes;
}

function tightened(field: FieldDefinition, code: string, message: string): Change {
  return { severity: "tightened", code, field: field.name, message };
}

function narrowedEnum(before: FieldDefinition, after: FieldDefinition): boolean {
  if (after.enum === undefined) return false;
  if (before.enum === undefined) return true;
  return before.enum.some((value) => !after.enum?.some((other) => equal(value, other)));
}

function narrowedBound(before: FieldDefinition, after: FieldDefinition, side: "min" | "max"): boolean {
  const [was, is] = [before[side], after[side]];
  if (is === undefined) return false;
  if (was === undefined) return true;
  if (typeof was === "number" && typeof is === "number") return side === "min" ? is > was : is < was;
  const type = FIELD_TYPES[after.type];
  const [old, now] = [type.parse(was, () => {}), type.parse(is, () => {})];
  if (old === undefined || now === undefined) return true;
  return side === "min" ? type.compare(now, old) > 0 : type.compare(now, old) < 0;
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
