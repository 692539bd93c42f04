/**
 * Types of the client. A generator writes types of the shape `OrbTypes` for each application. The other types in this
 * file use `OrbTypes` to describe what an application reads and writes.
 */

/** The attributes of one field. An attribute that is missing is false. */
export interface FieldType {
  /** Type of the field's value. For a list, this is the type of the whole list. */
  type: unknown;
  /** For objects: the type of the value with all languages and markets. */
  all?: unknown;
  /** For objects and for references by a unique value: the type of the value in requests. */
  input?: unknown;
  required?: true;
  /** The platform sets a default value, so a new entry may omit the field. */
  default?: true;
  list?: true;
  translatable?: true;
  marketSpecific?: true;
  /** Responses contain a mask instead of the value. */
  sensitive?: true;
  /** The operators of filters on the field, as a union. If it is missing, filters cannot use the field. */
  filters?: string;
  sortable?: true;
  /** The values are exact numbers as texts, which aggregates can sum up. */
  exact?: true;
  /** Each value belongs to one entry, and addresses it. */
  key?: true;
  /** The schema that a reference field points to: `orb/module/schema`. */
  ref?: string;
  /** Names of the referenced schema's fields that filters can use, as a union. */
  refFields?: string;
}

/** The fields of a schema, keyed by name. */
export interface Fields {
  [name: string]: FieldType;
}

/** The types of one orb (an application). */
export interface OrbTypes {
  languages: string;
  markets: string;
  /** The revision of the orb's definition that the types were made from. */
  revision?: number;
  /** Schemas by module id and schema id. Includes only modules that the platform serves over HTTP. */
  modules: { [module: string]: { [schema: string]: Fields } };
  /** Input and output types of the orb's handlers, keyed by full name: `service.handler`. */
  handlers: { [name: string]: { input: unknown; output: unknown } };
}

/** Default types of a client without generated types: any application, with values of unknown type. */
export interface AnyOrbs {
  [orb: string]: OrbTypes;
}

/** The languages and markets of an application, which determine the types of its values. */
type Offer = Pick<OrbTypes, "languages" | "markets">;

/** `one`: values of one language and market. `all`: maps of all languages and markets. */
export type Mode = "one" | "all";

type Has<F extends FieldType, A extends keyof FieldType> = F extends { [K in A]: true } ? true : false;

/** The type of a field's value in responses. */
type Shown<F extends FieldType> = F extends { sensitive: true } ? string : F["type"];
/** The type of a field's value with the languages and markets of values inside its objects. */
type ShownWhole<F extends FieldType> = F extends { all: infer All } ? All : Shown<F>;
/** The type of a field's value in requests. */
type Sent<F extends FieldType> = F extends { input: infer Input } ? Input : F["type"];

type ByLanguage<V, O extends Offer> = { [L in O["languages"]]?: V | null };
type ByMarket<V, O extends Offer> = { [M in O["markets"]]?: V | null };

/** The type of a field as a map, if its value varies by language or market. */
type Varied<F extends FieldType, V, O extends Offer> =
  Has<F, "marketSpecific"> extends true
    ? ByMarket<Has<F, "translatable"> extends true ? ByLanguage<V, O> : V, O>
    : Has<F, "translatable"> extends true
      ? ByLanguage<V, O>
      : V;

type RequiredKeys<S extends Fields> = {
  [K in keyof S]: S[K] extends { required: true } ? K : never;
}[keyof S];

/** The type of a field in responses, as a map or as the value of one language and market. */
type Read<F extends FieldType, O extends Offer, M extends Mode> = M extends "all"
  ? Varied<F, ShownWhole<F>, O>
  : Shown<F>;

/** The values of an entry in responses. A value that was never set is missing. */
export type Values<S extends Fields, O extends Offer, M extends Mode> = {
  [K in RequiredKeys<S>]: Read<S[K], O, M>;
} & { [K in Exclude<keyof S, RequiredKeys<S>>]?: Read<S[K], O, M> | null };

/** The type of a field's value in requests: the value for one language and market, or the map of all of them. */
type Written<F extends FieldType, O extends Offer> = Sent<F> | Varied<F, Sent<F>, O> | null;

type NeededKeys<S extends Fields> = {
  [K in keyof S]: S[K] extends { required: true } ? (S[K] extends { default: true } ? never : K) : never;
}[keyof S];

/** The values of a new entry. */
export type NewValues<S extends Fields, O extends Offer> = {
  [K in NeededKeys<S>]: NonNullable<Written<S[K], O>>;
} & { [K in Exclude<keyof S, NeededKeys<S>>]?: Written<S[K], O> | undefined };

/** The values of an entry to change. All omitted values stay unchanged. */
export type ChangedValues<S extends Fields, O extends Offer> = {
  [K in keyof S]?: Written<S[K], O> | undefined;
};

/** A change of a value: an object may contain only the members to change, and null removes a member. */
export type MergePatch<V> = V extends readonly (infer Item)[]
  ? V | (Item extends object ? { readonly [key: string]: ItemPatch<Item> | null } : never)
  : V extends object
    ? { readonly [K in keyof V]?: MergePatch<V[K]> | null | undefined }
    : V;

/**
 * A change of one item in a list of objects. `_after` moves or adds the item: behind the item with that key, or to the
 * beginning if null.
 */
type ItemPatch<Item> = { readonly [K in keyof Item]?: MergePatch<Item[K]> | null | undefined } & {
  readonly _after?: string | null;
};

export type Status = "SAVED" | "PUBLISHED" | "UNPUBLISHED" | "ARCHIVED";

/** An entry in a response. Times are in ISO 8601. */
export interface Entry<V> {
  id: string;
  orb: string;
  module: string;
  schema: string;
  status: Status;
  revision: number;
  /** Number of the published revision. Null if no revision is published. */
  publishedRevision: number | null;
  validFrom: string | null;
  validTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  values: V;
  /** The fields whose value comes from another language or market than that of the call. */
  fallback?: { [field: string]: { language?: string; market?: string } };
  /** After a write: what was changed in converted rich text, and references of a publication whose entries are gone. */
  warnings?: { path: string; code: string; message: string }[];
}

/** One revision in the history of an entry. */
export interface RevisionItem {
  revision: number;
  /** The operation of the write, such as `update` or `publish`. */
  operation: string;
  status: Status | "DELETED";
  publishedRevision: number | null;
  validFrom: string | null;
  validTo: string | null;
  /**
   * Time and author of the revision. The author is `scheduler` if the entry was unpublished because `validTo` passed.
   */
  at: string;
  by: string;
  /** The handler that wrote the revision on behalf of the account. */
  through?: string;
  /** Set if an import wrote the revision and said who created the entry, when, or its state. */
  imported?: true;
  /** When the revision became visible. Present only if its `validFrom` was later than its publication. */
  opened?: { at: string; by: string };
}

export interface Revision<V> extends RevisionItem {
  id: string;
  orb: string;
  module: string;
  schema: string;
  /**
   * The values, without the fields that the caller may not read. A field that the application no longer requires may
   * be missing.
   */
  values: Partial<V>;
}

/** Whether the client has no generated types, and so knows no names of fields. */
type IsAny<S extends Fields> = string extends keyof S ? true : false;

interface Compared<Type, Operators extends string> {
  type: Type;
  filters: Operators;
  sortable: true;
}
type Equal = "eq" | "ne" | "in";
type Ordered = Equal | "gt" | "gte" | "lt" | "lte";

/** Properties of every entry, in addition to its values, that lists can filter and sort by. */
type Properties = {
  id: Compared<string, Equal>;
  createdBy: Compared<string, Equal>;
  updatedBy: Compared<string, Equal>;
  createdAt: Compared<string, Ordered>;
  updatedAt: Compared<string, Ordered>;
  validFrom: Compared<string, Ordered | "null">;
  validTo: Compared<string, Ordered | "null">;
  revision: Compared<number, Ordered>;
};

/** The values that conditions compare. References to one of several schemas are compared by their ids. */
type ItemOf<F extends FieldType> = F extends { ref: string }
  ? string
  : F["type"] extends readonly (infer I)[]
    ? I
    : F["type"];
/** The type of a value in a condition. A `Date` can stand for a time, but not for one of the values of an enum. */
type Operand<F extends FieldType> = string extends ItemOf<F> ? ItemOf<F> | Date : ItemOf<F>;

type OperandOf<F extends FieldType, Operator> = Operator extends "null"
  ? boolean
  : Operator extends "in"
    ? readonly Operand<F>[]
    : Operator extends "near" | "within"
      ? string
      : Operator extends "contains" | "startsWith"
        ? F extends { list: true }
          ? ItemOf<F>
          : string
        : Operand<F>;

/** The condition on one field. `null` matches entries in which the field has no value. */
type Condition<F extends FieldType> = F extends { filters: infer Operators extends string }
  ?
      | { [Operator in Operators]?: OperandOf<F, Operator> }
      | ("eq" extends Operators ? Operand<F> : never)
      | ("null" extends Operators ? null : never)
  : never;

/** The names of the fields that have an attribute. All names if the client knows no fields. */
export type NamesWith<S extends Fields, Attribute> =
  IsAny<S> extends true
    ? string
    : { [K in keyof S & string]: S[K] extends Attribute ? K : never }[keyof S & string];

/** The fields of a schema that a reference names as `orb/module/schema`. */
type FieldsOf<All, Ref> = Ref extends `${infer O}/${infer M}/${infer S}`
  ? All extends { [K in O]: { modules: { [K in M]: { [K in S]: infer F extends Fields } } } }
    ? F
    : AnyFields
  : AnyFields;

interface AnyFields {
  [name: string]: FieldType;
}

/** The condition on a field of referenced entries, such as `venue.city` or `venue.country.name`. */
type RelatedCondition<All, S, Name> = Name extends `${infer K}.${infer Of}`
  ? K extends keyof S
    ? S[K] extends { ref: infer Ref }
      ? ConditionIn<All, FieldsOf<All, Ref>, Of>
      : unknown
    : never
  : never;

/** The condition on a field of one of several schemas, or of entries that they refer to. */
type ConditionIn<All, S, Name> = S extends unknown
  ? string extends keyof S
    ? unknown
    : S extends { [N in Name & string]: infer F extends FieldType }
      ? Condition<F>
      : RelatedCondition<All, S, Name>
  : never;

/** The names of fields of entries that a reference of the schema leads to, such as `venue.city`. */
type ThroughOne<S> = S extends Fields
  ? {
      [K in keyof S & string]: S[K] extends { refFields: infer Of extends string } ? `${K}.${Of}` : never;
    }[keyof S & string]
  : never;

/** The names of fields of referenced entries that filters can use, such as `venue.city` or `venue.country.name`. */
export type Related<All, S extends Fields> =
  IsAny<S> extends true
    ? never
    :
        | ThroughOne<S>
        | {
            [K in keyof S & string]: S[K] extends { ref: infer Ref; refFields: string }
              ? `${K}.${ThroughOne<FieldsOf<All, Ref>>}`
              : never;
          }[keyof S & string];

type ConditionOn<All, S extends Fields, Name> =
  IsAny<S> extends true
    ? unknown
    : Name extends keyof S
      ? Condition<S[Name]>
      : Name extends keyof Properties
        ? Condition<Properties[Name]>
        : RelatedCondition<All, S, Name>;

/**
 * Conditions on fields and properties. An entry must match all of them. The groups `or`, `and` and `not` contain
 * further conditions. If the schema has a field of that name, the member is a condition on the field, and you can only
 * write the group in a query string of your own.
 * @template More further names: those of fields in referenced entries
 */
export type Filter<All, S extends Fields, More extends string = Related<All, S>> = {
  [Name in NamesWith<S, { filters: string }> | keyof Properties | More]?: ConditionOn<All, S, Name>;
} & { [Name in Exclude<"or" | "and", keyof S>]?: readonly Filter<All, S, More>[] } & {
  [Name in Exclude<"not", keyof S>]?: Filter<All, S, More>;
};

/** A field or property that sort orders can name. A leading `-` sorts in descending order. */
export type Sort<S extends Fields> = `${"" | "-"}${NamesWith<S & Properties, { sortable: true }>}`;

/** An aggregate: the number of entries or values, or an operation on the values of a field. */
export type Aggregate<S extends Fields> =
  | "count"
  | `count(${Exclude<keyof S & string, NamesWith<S, { sensitive: true }>> | keyof Properties})`
  | `${"sum" | "avg"}(${NamesWith<S & Properties, { type: number; filters: string } | { exact: true; filters: string }>})`
  | `${"min" | "max"}(${NamesWith<S & Properties, { sortable: true }>})`;

/** A field that aggregates can be grouped by: it is no list, and a boolean, a reference or one of the values of an enum. */
export type Grouping<S extends Fields> =
  | {
      [K in keyof S & string]: S[K] extends { sensitive: true } | { list: true }
        ? never
        : S[K] extends { ref: string }
          ? K
          : string extends S[K]["type"]
            ? never
            : number extends S[K]["type"]
              ? never
              : S[K]["type"] extends string | number | boolean
                ? K
                : never;
    }[keyof S & string]
  | "createdBy"
  | "updatedBy";

/** A value of a unique field, which addresses an entry instead of its id: `{ sku: "AB-1000" }`. */
export type Key<S extends Fields> = string extends keyof S
  ? Readonly<Record<string, string | number>>
  : { [K in NamesWith<S, { key: true }>]: { readonly [F in K]: S[K]["type"] } }[NamesWith<S, { key: true }>];

/** A field of files: its values have the id of a file. */
type OfFiles = { type: { file: string } | readonly { file: string }[] };

/** The names of the fields of a schema that responses can expand: references and files. */
export type Expandable<S extends Fields> = {
  [K in keyof S]: S[K] extends { ref: string } | OfFiles ? K : string extends keyof S ? K : never;
}[keyof S] &
  string;

type TargetFields<All, R> = R extends `${infer O}/${infer M}/${infer S}`
  ? O extends keyof All
    ? All[O] extends OrbTypes
      ? M extends keyof All[O]["modules"]
        ? S extends keyof All[O]["modules"][M]
          ? All[O]["modules"][M][S] extends Fields
            ? Entry<Values<All[O]["modules"][M][S], All[O], "one">> & { module: M; schema: S }
            : never
          : Entry<Record<string, unknown>>
        : Entry<Record<string, unknown>>
      : never
    : Entry<Record<string, unknown>>
  : Entry<Record<string, unknown>>;

/** The description of a file. The texts are those of the response's language, or maps if it has all languages. */
export interface DescribedFile {
  file: string;
  alt: string | Readonly<Record<string, string>> | null;
  caption: string | Readonly<Record<string, string>> | null;
  focal: { x: number; y: number } | null;
  crop: { x: number; y: number; w: number; h: number } | null;
}

type TargetOf<All, F extends FieldType> = F extends OfFiles ? DescribedFile : TargetFields<All, F["ref"]>;

/**
 * The referenced entries and the descriptions of the files of an entry, keyed by field. A referenced entry that the
 * caller cannot see is `null`.
 */
export type Expanded<All, S extends Fields, E extends string> = {
  [K in E & keyof S]: S[K] extends { list: true }
    ? (TargetOf<All, S[K]> | null)[] | null
    : TargetOf<All, S[K]> | null;
};
