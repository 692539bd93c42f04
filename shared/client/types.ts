/**
 * Types of the client. A generator writes types of the shape `OrbTypes` for each application. The other types in this
 * file use `OrbTypes` to describe what an application reads and writes.
 */

/** The attributes of one field. An attribute that is missing is false. */
export interface FieldType {
  /** Type of the field's value. For a list, this is the type of the whole list. */
  type: unknown;
  required?: true;
  /** The platform sets a default value, so a new entry may omit the field. */
  default?: true;
  list?: true;
  translatable?: true;
  marketSpecific?: true;
  /** Responses contain a mask instead of the value. */
  sensitive?: true;
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
  ? Varied<F, Shown<F>, O>
  : Shown<F>;

/** The values of an entry in responses. A value that was never set is missing. */
export type Values<S extends Fields, O extends Offer, M extends Mode> = {
  [K in RequiredKeys<S>]: Read<S[K], O, M>;
} & { [K in Exclude<keyof S, RequiredKeys<S>>]?: Read<S[K], O, M> | null };

/** The type of a field's value in requests: the value for one language and market, or the map of all of them. */
type Written<F extends FieldType, O extends Offer> = F["type"] | Varied<F, F["type"], O> | null;

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
export type MergePatch<V> = V extends readonly unknown[]
  ? V
  : V extends object
    ? { readonly [K in keyof V]?: MergePatch<V[K]> | null | undefined }
    : V;

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

/** Properties of every entry, in addition to its values, that lists can filter and sort by. */
type Property =
  | "id"
  | "revision"
  | "createdAt"
  | "createdBy"
  | "updatedAt"
  | "updatedBy"
  | "validFrom"
  | "validTo";

type Ordered<V> = { gt?: V; gte?: V; lt?: V; lte?: V };

/** The condition on one field. `null` matches entries in which the field has no value. */
type Condition<V> =
  | V
  | null
  | ({ eq?: V; ne?: V; in?: readonly V[]; null?: boolean } & (V extends boolean ? unknown : Ordered<V>) &
      (V extends string ? { contains?: string; startsWith?: string } : unknown));

type FieldCondition<F extends FieldType> = unknown extends F["type"]
  ? unknown
  : F["type"] extends readonly (infer I)[]
    ? { contains?: I; null?: boolean }
    : Condition<F["type"] extends string ? F["type"] | Date : F["type"]>;

type FilterKeys<S extends Fields> = {
  [K in keyof S]: S[K] extends { sensitive: true } ? never : K;
}[keyof S];

/** The names of fields in referenced entries, such as `venue.city`. */
type RelatedNames<S extends Fields> = {
  [K in keyof S & string]: S[K] extends { refFields: infer F extends string } ? `${K}.${F}` : never;
}[keyof S & string];

/**
 * Groups of conditions. If the schema has a field called `or`, `and` or `not`, the property of that name is a condition
 * on the field. Such a group can be sent only in a query string that you write yourself.
 */
interface Groups<S extends Fields> {
  /** At least one of these must match. */
  or?: readonly Filter<S>[];
  and?: readonly Filter<S>[];
  /** At least one of these conditions must fail. */
  not?: Filter<S>;
}

/** Conditions on fields and properties. An entry must match all of them. */
export type Filter<S extends Fields> = Omit<Groups<S>, keyof S> & {
  [K in FilterKeys<S>]?: FieldCondition<S[K]>;
} & {
  /** A field of referenced entries: `{ "venue.city": "Oslo" }`. */
  [K in RelatedNames<S>]?: unknown;
} & {
  [P in Property]?: Condition<P extends "revision" ? number : string | Date>;
};

/** A field or property that filters, sort orders and aggregates can name. */
export type FieldName<S extends Fields> = (FilterKeys<S> | Property) & string;
/** A field or property to sort by. A leading `-` sorts in descending order. */
export type Sort<S extends Fields> = FieldName<S> | `-${FieldName<S>}`;

/** The names of the reference fields of a schema. */
export type References<S extends Fields> = {
  [K in keyof S]: S[K] extends { ref: string } ? K : string extends keyof S ? K : never;
}[keyof S] &
  string;

type TargetFields<All, R> = R extends `${infer O}/${infer M}/${infer S}`
  ? O extends keyof All
    ? All[O] extends OrbTypes
      ? M extends keyof All[O]["modules"]
        ? S extends keyof All[O]["modules"][M]
          ? All[O]["modules"][M][S] extends Fields
            ? Entry<Values<All[O]["modules"][M][S], All[O], "one">>
            : never
          : Entry<Record<string, unknown>>
        : Entry<Record<string, unknown>>
      : never
    : Entry<Record<string, unknown>>
  : Entry<Record<string, unknown>>;

/** The referenced entries of an entry, keyed by field. A referenced entry that the caller cannot see is `null`. */
export type Expanded<All, S extends Fields, E extends string> = {
  [K in E & keyof S]: S[K] extends { list: true }
    ? (TargetFields<All, S[K]["ref"]> | null)[] | null
    : TargetFields<All, S[K]["ref"]> | null;
};
