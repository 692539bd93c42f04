/**
 * The names of modules, schemas, components and fields in stored data. A name is stored as it was when its owner first
 * appeared. A rename (`was`) changes the name in the document and leaves the stored one, so that no entry is rewritten.
 * A change of type gives a field another stored name (`forms.ts`). A field that moved into an object keeps its stored
 * name for the values from before (`moves.ts`). A new field can be made of others (`made.ts`). `resolve.ts` decides which name in a new document is which stored name.
 */
import {
  type FieldDefinition,
  type Home,
  homeOf,
  type ModuleType,
  type OrbDocument,
  type SchemaToken,
  SUBJECT_TYPES,
} from "../document/index.ts";
import type { Form } from "./forms.ts";
import type { Meaning } from "./step.ts";

/** Something that has or had a name, and the names that it had. */
export interface Identity {
  /** The name in stored data. Only a change of type changes it. */
  stored: string;
  /** The current name, or the last one if the document no longer has it. */
  name: string;
  /** Earlier names, newest first. */
  earlier?: string[];
  /** Whether the document no longer has it. Its stored values may still exist, so its stored name stays taken. */
  gone?: true;
  /** The values under each stored name of a field whose type has changed, oldest first. */
  forms?: Form[];
  /** The members of objects that a field became, oldest first. */
  moved?: Move[];
  /** How a rule makes its values of those that other fields had before it. */
  made?: Made;
}

/** How the values of a field are made of those of other fields, for entries that were stored before it existed. */
export interface Made {
  /** The stored name under which the rule makes the values. */
  form: string;
  /** The attributes of the field at that time. */
  shape: Meaning;
  /** The other fields, by the names that the rule reads: what they were then, and their stored names. */
  sources: Readonly<Record<string, Meaning & { stored: string }>>;
  /** Where a value belongs if the field has languages or markets, and none of the other fields has. */
  language?: string | undefined;
  market?: string | undefined;
  /** The JsonLogic rule. Missing if these values would be lost. */
  rule?: unknown;
}

/** A field that became a member of an object. All names are those in stored data at that time. */
export interface Move {
  field: string;
  object: string;
  member: string;
  /** Scope of the object's fields. */
  scope: string;
  /** What the field and the member were. */
  shape: Meaning;
}

/**
 * End of the stored name that a field of an earlier revision has if its type changed while there were no entries. No
 * other stored name ends like this, because the numbers of the others begin with 2.
 */
export const OWN_FORM = "~0";

/** Returns the name of an identity that no change of type changes. */
export const rootOf = ({ stored, forms }: Identity): string => forms?.[0]?.stored ?? stored;

/** Returns the stored names of a form and of those from which it was made, the newest first. */
export function lineOf(stored: string, forms: readonly Form[]): string[] {
  const form = forms.find((one) => one.stored === stored);
  return form?.from === undefined ? [stored] : [stored, ...lineOf(form.from, forms)];
}

/** Returns whether a rule makes the values that an identity has under a stored name, if it makes some of its values. */
export const isMadeUnder = (
  { made, forms = [] }: Pick<Identity, "made" | "forms">,
  stored: string,
): boolean => made !== undefined && (forms.length === 0 || lineOf(stored, forms).includes(made.form));

/** Returns all stored names of an identity. */
export const allStored = ({ stored, forms = [] }: Identity): string[] => [
  ...new Set([stored, ...forms.map((form) => form.stored)]),
];

/**
 * For each scope (a list of the document in which names are unique), the identities whose stored name is not simply
 * their name. Scopes are named by stored names, so that a rename of the owner leaves them.
 */
export type StoredNames = Readonly<Record<string, readonly Identity[]>>;

export const MODULES = "modules";
export const COMPONENTS = "components";
export const schemasOf = (type: ModuleType) => `schemas/${SUBJECT_TYPES[type]}`;
export const COMPONENT = "component/";
/** Scope of the fields of a component. */
export const componentScope = (stored: string) => `${COMPONENT}${stored}`;
/** Scope of the fields of an object that lists them itself. */
export const insideScope = (scope: string, stored: string) => `${scope}.${stored}`;

/**
 * Returns the scope of the fields of the objects in a field.
 * @param scope scope of the field itself
 * @param component the component of blocks, for a field of blocks
 */
export function scopeWithin(
  names: NameTable,
  scope: string,
  { name, type, component: own }: Pick<FieldDefinition, "name" | "type" | "component">,
  component: string,
): string {
  const from = type === "blocks" || type === "richText" ? component : own;
  return from === undefined
    ? insideScope(scope, names.rootOf(scope, name))
    : componentScope(names.storedOf(COMPONENTS, from));
}

/** Returns where the entries of a schema are stored. */
export function storedHome(names: NameTable, type: ModuleType, schema: string): Home {
  const { type: token, schema: name } = homeOf(type, schema);
  return { type: token, schema: names.storedOf(schemasOf(type), name) as SchemaToken };
}

/** A document, and the names in the values that are stored for it. */
export interface NamedDocument {
  document: OrbDocument;
  names?: StoredNames | undefined;
}

/** Returns how many forms the values of all fields have whose type has changed. */
export const countForms = (names: StoredNames | undefined): number =>
  Object.values(names ?? {})
    .flat()
    .reduce((sum, { forms = [] }) => sum + forms.length, 0);

/** Returns whether rules convert some values or make them, or some values have moved into objects. */
export const hasRulesOrMoves = (names: StoredNames | undefined): boolean =>
  Object.values(names ?? {}).some((identities) =>
    identities.some(
      ({ forms = [], moved, made }) =>
        moved !== undefined || made !== undefined || forms.some((form) => form.convert !== undefined),
    ),
  );

/** Looks up stored names. */
export class NameTable {
  readonly #stored = new Map<string, Map<string, string>>();
  readonly #earlier = new Map<string, Map<string, string>>();
  readonly #forms = new Map<string, Map<string, readonly Form[]>>();
  readonly #names: StoredNames;
  readonly isEmpty: boolean;
  /** Whether values that have more than a form can hold become a part of it, instead of nothing. */
  readonly picks: boolean;

  constructor(names: StoredNames | undefined, picks = false) {
    this.picks = picks;
    this.#names = names ?? {};
    const scopes = Object.entries(names ?? {});
    this.isEmpty = scopes.length === 0;
    for (const [scope, identities] of scopes) {
      const present = identities.filter(({ gone }) => gone !== true);
      this.#stored.set(scope, new Map(present.map(({ name, stored }) => [name, stored])));
      const formed = present.flatMap(({ name, forms }) =>
        forms === undefined ? [] : [[name, forms] as const],
      );
      if (formed.length > 0) this.#forms.set(scope, new Map(formed));
      this.#earlier.set(
        scope,
        new Map(
          present.flatMap(({ name, stored, earlier = [] }) => [
            [stored, name] as const,
            ...earlier.toReversed().map((each) => [each, name] as const),
          ]),
        ),
      );
    }
  }

  /** Returns the stored name of what the document calls `name`. */
  storedOf(scope: string, name: string): string {
    return this.#stored.get(scope)?.get(name) ?? name;
  }

  /** Returns the values of a field under each of its stored names. Undefined if its type has never changed. */
  formsOf(scope: string, name: string): readonly Form[] | undefined {
    return this.#forms.get(scope)?.get(name);
  }

  /** Returns the identities of a scope whose stored name is not simply their name, also those that are gone. */
  identitiesIn(scope: string): readonly Identity[] {
    return Object.hasOwn(this.#names, scope) ? (this.#names[scope] ?? []) : [];
  }

  /** Returns all stored names of what the document calls `name`. */
  allStoredOf(scope: string, name: string): string[] {
    return allStored({
      stored: this.storedOf(scope, name),
      name,
      forms: [...(this.formsOf(scope, name) ?? [])],
    });
  }

  /** Returns the first stored name of what the document calls `name`, which no change of type changes. */
  rootOf(scope: string, name: string): string {
    return this.formsOf(scope, name)?.[0]?.stored ?? this.storedOf(scope, name);
  }

  /** Returns the current name of what was called `name` earlier. Undefined if nothing was. */
  nowOf(scope: string, name: string): string | undefined {
    return this.#earlier.get(scope)?.get(name);
  }
}
