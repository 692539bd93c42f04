/** Writes several entries in one atomic request. */
import type { Wish } from "./options.ts";
import { type CallOptions, newKey, type Transport } from "./transport.ts";
import type { ChangedValues, Fields, MergePatch, NamesWith, NewValues, OrbTypes, Status } from "./types.ts";

/** The names of all schemas as `module/schema`. */
type SchemaPath<O extends OrbTypes> = {
  [M in keyof O["modules"] & string]: `${M}/${keyof O["modules"][M] & string}`;
}[keyof O["modules"] & string];

type FieldsAt<O extends OrbTypes, P> = P extends `${infer M}/${infer S}`
  ? O["modules"] extends { [K in M]: { [N in S]: infer F extends Fields } }
    ? F
    : Fields
  : never;

/** Stands for the id of an entry that an item with this name in `as` creates. */
export interface BatchRef {
  readonly $ref: string;
}

/** Values in which references can be those to entries that other items create. */
type WithRefs<V, S extends Fields> = {
  [K in keyof V]: K extends keyof S
    ? S[K] extends { ref: string }
      ? V[K] | BatchRef | (S[K] extends { list: true } ? readonly (string | BatchRef)[] : never)
      : V[K]
    : V[K];
};

interface Content {
  publish?: boolean;
  /** ISO 8601. Null means no limit. */
  validFrom?: string | null;
  validTo?: string | null;
  /** Language of the values. Default: that of the client. */
  locale?: string;
  market?: string;
}

interface Conditions {
  /** A rule (JsonLogic) that the newest revision must meet, over `id`, `revision`, `status` and `values`. */
  if?: unknown;
  /** The number of the newest revision. */
  ifMatch?: number | string;
}

/** Numbers to add to stored values, by field. */
export type Amounts<S extends Fields> = {
  [K in NamesWith<S, { type: number } | { exact: true }>]?: number | string;
};

interface CreateItem<O extends OrbTypes, P extends string> extends Content {
  create: P;
  /** Name by which other items refer to the entry. */
  as?: string;
  values: WithRefs<NewValues<FieldsAt<O, P>, O>, FieldsAt<O, P>>;
}

interface UpdateItem<O extends OrbTypes, P extends string> extends Content, Conditions {
  /** `module/schema/id` */
  update: `${P}/${string}`;
  /** The values to change, as a merge patch. */
  values?: WithRefs<MergePatch<ChangedValues<FieldsAt<O, P>, O>>, FieldsAt<O, P>>;
  /** Numbers to add to the newest values. */
  add?: Amounts<FieldsAt<O, P>>;
}

interface DeleteItem<P extends string> extends Conditions {
  /** `module/schema/id` */
  delete: `${P}/${string}`;
  /** Whether to delete the entry even if other entries refer to it. */
  force?: boolean;
}

/** One of up to 200 items, each of which names another entry. */
export type BatchItem<O extends OrbTypes> = {
  [P in SchemaPath<O>]: CreateItem<O, P> | UpdateItem<O, P> | DeleteItem<P>;
}[SchemaPath<O>];

/** What became of an item. */
export interface BatchWritten {
  module: string;
  schema: string;
  id: string;
  /** Number of the newest revision. */
  revision: number;
  status: Status | "DELETED";
  warnings?: { path: string; code: string; message: string }[];
}

export interface BatchOptions extends CallOptions {
  /** Default: a new key, so that the retries of this call have an effect once. */
  idempotencyKey?: string;
}

/** An item before a schema's types are known. */
type AnyItem = BatchItem<OrbTypes>;

/** @param path URL path of the orb */
export async function sendBatch(
  transport: Transport,
  path: string,
  defaults: Wish,
  items: readonly AnyItem[],
  { idempotencyKey = newKey(), signal }: BatchOptions = {},
): Promise<BatchWritten[]> {
  const response = await transport.send({
    method: "POST",
    path: `${path}/batch`,
    body: { do: items.map((item) => ("delete" in item ? item : { ...defaults, ...item })) },
    headers: { "idempotency-key": idempotencyKey },
    signal,
    repeat: "safe",
  });
  const answer = (await response.json()) as { items: BatchWritten[] };
  return answer.items;
}
