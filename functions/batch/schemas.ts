/** The body and the response of a batch, which writes several entries in one atomic write. */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { type BatchItem, type BatchWritten, MOST_ITEMS } from "../../shared/entry/index.ts";
import { AppError, type Fault, invalid } from "../../shared/kernel/errors.ts";
import { Faults } from "../../shared/kernel/faults.ts";
import { isObject } from "../../shared/kernel/json.ts";
import { ifMatch } from "../http/etag.ts";
import { faultsOf } from "../http/problem.ts";
import { FaultSchema, LOCALE, MARKET_NAME } from "../http/schemas.ts";

const OBJECT = { type: "object", additionalProperties: true } as const;
const MOMENT = { type: "string", format: "date-time", nullable: true } as const;

const content = {
  publish: z.boolean().optional().openapi({ description: "`true`: also publishes the new revision" }),
  validFrom: z.unknown().optional().openapi(MOMENT),
  validTo: z.unknown().optional().openapi(MOMENT),
  locale: z
    .string()
    .optional()
    .openapi({ ...LOCALE, description: "`values` holds translatable values in this language only" }),
  market: z
    .string()
    .optional()
    .openapi({ ...MARKET_NAME, description: "`values` holds market-specific values of this market only" }),
};

const conditions = {
  if: z
    .unknown()
    .optional()
    .openapi({
      description:
        "A rule (JsonLogic) over the newest revision: `id`, `revision`, `status` and `values.…`. 412 `condition_failed` if its result is not truthy",
      example: { "<": [{ var: "values.sold" }, { var: "values.capacity" }] },
    }),
  ifMatch: z.unknown().optional().openapi({
    type: "string",
    description: "Number of the newest revision; 412 when it is not",
    example: "4",
  }),
};

const entryAddress = z.string().openapi({
  description: "The entry: `module/schema/id`",
  example: "catalog/product/0197c5a8k3m9x2",
});

export const BatchCreate = z
  .strictObject({
    create: z
      .string()
      .openapi({ description: "The schema of a new entry: `module/schema`", example: "catalog/product" }),
    as: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
      .optional()
      .openapi({ description: 'Name by which values of other items refer to the entry: `{ "$ref": "…" }`' }),
    values: z.unknown().openapi(OBJECT),
    ...content,
  })
  .openapi("BatchCreate", { required: ["create", "values"] });

export const BatchUpdate = z
  .strictObject({
    update: entryAddress,
    values: z
      .unknown()
      .optional()
      .openapi({ ...OBJECT, description: "The values to change, as a JSON Merge Patch" }),
    add: z
      .unknown()
      .optional()
      .openapi({ ...OBJECT, description: "Numbers to add to the stored values, by field" }),
    ...content,
    ...conditions,
  })
  .openapi("BatchUpdate");

export const BatchDelete = z
  .strictObject({
    delete: entryAddress,
    force: z.boolean().optional().openapi({ description: "`true`: even if other entries refer to it" }),
    ...conditions,
  })
  .openapi("BatchDelete");

const ITEMS = { create: BatchCreate, update: BatchUpdate, delete: BatchDelete } as const;
const ACTS = ["create", "update", "delete"] as const;

const component = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const BatchBody = z
  .strictObject({
    do: z
      .array(
        z.unknown().openapi({
          type: "object",
          oneOf: [component("BatchCreate"), component("BatchUpdate"), component("BatchDelete")],
        }),
      )
      .min(1)
      .max(MOST_ITEMS)
      .openapi({ description: "Each item names another entry" }),
  })
  .openapi("Batch");

export const BatchAnswer = z
  .object({
    items: z
      .array(
        z
          .object({
            module: z.string(),
            schema: z.string(),
            id: z.string(),
            revision: z.int().openapi({ description: "Number of the newest revision" }),
            status: z.enum([...STATUSES, "DELETED"]),
            warnings: z.array(FaultSchema).optional(),
          })
          .openapi("BatchWritten"),
      )
      .openapi({ description: "One for each item, in their order" }),
  })
  .openapi("BatchAnswer");

/** Returns the revision that an item expects. */
function revisionIn(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") throw wrongRevision();
  try {
    return ifMatch(/^\d+$/.test(text) ? `"${text}"` : text);
  } catch (error) {
    throw error instanceof AppError ? wrongRevision() : error;
  }
}

const wrongRevision = () =>
  invalid([{ path: "/ifMatch", code: "format", message: 'must be the number of a revision, such as "4"' }]);

function asItemFault(fault: Fault): Fault {
  if (fault.code !== "unknown_property") return fault;
  const message =
    'is not a known property of this item. Put the fields of the schema into "values", and numbers to add into "add".';
  return { ...fault, message };
}

/** Parses one item. @throws AppError invalid with paths in the item */
function itemIn(given: unknown): BatchItem {
  if (!isObject(given)) throw invalid([{ path: "", code: "type", message: "must be an object" }]);
  const [act, ...others] = ACTS.filter((each) => Object.hasOwn(given, each));
  if (act === undefined || others.length > 0) {
    const message = "must have exactly one of the properties create, update and delete";
    throw invalid([{ path: "", code: "required", message }]);
  }
  const result = ITEMS[act].safeParse(given);
  if (!result.success) throw invalid(faultsOf(result.error, given).map(asItemFault));
  const { locale, ifMatch: expected, ...item } = { locale: undefined, ifMatch: undefined, ...result.data };
  return {
    ...item,
    ...(locale === undefined || locale === "*" ? {} : { locale }),
    ...(expected === undefined ? {} : { ifMatch: revisionIn(expected) }),
  } as BatchItem;
}

/** Parses the items of a batch. @throws AppError invalid with the faults of all items */
export function itemsIn(given: readonly unknown[]): BatchItem[] {
  const faults = new Faults();
  const items = given.flatMap((each, index) => {
    try {
      return [itemIn(each)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      for (const { path, code, message } of error.errors ?? [])
        faults.add(`/do/${index}${path}`, code, message);
      return [];
    }
  });
  if (faults.any) throw invalid(faults.list());
  return items;
}

/** Returns the body of a response. */
export const answerOf = (items: readonly BatchWritten[]): z.infer<typeof BatchAnswer> => ({
  items: items.map(({ warnings, ...item }) => ({
    ...item,
    ...(warnings === undefined ? {} : { warnings: [...warnings] }),
  })),
});
