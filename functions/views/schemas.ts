/** The bodies and responses of the routes for saved views. */
import { z } from "@hono/zod-openapi";
import { STATUSES, words } from "../../shared/definition/document/index.ts";
import { LAYOUTS, type ListView, PARTS } from "../../shared/views/list.ts";
import { AUDIENCES } from "../../shared/views/record.ts";
import type { View, ViewInput } from "../../shared/views/views.ts";

const text = (most: number) => words.min(1).max(most);
const field = text(200);
/** Maximum filters, sort orders and columns of a view. */
const MOST = { filters: 30, sort: 5, columns: 100 };

const List = z
  .strictObject({
    filters: z
      .array(
        z.strictObject({
          field: field.openapi({ description: "A field, or a property of every entry", example: "price" }),
          op: text(20).openapi({ description: "An operator of the field", example: "gte" }),
          value: words.max(2_000).openapi({ description: "As in the query of a list", example: "100" }),
        }),
      )
      .max(MOST.filters)
      .default([]),
    any: z.boolean().optional().openapi({ description: "Whether one of several filters is enough" }),
    search: text(500).optional(),
    missing: text(35).optional().openapi({ description: "A language that the entries lack", example: "de" }),
    status: z.enum(STATUSES).optional(),
    used: z.boolean().optional(),
    sort: z
      .array(field)
      .min(1)
      .max(MOST.sort)
      .optional()
      .openapi({ description: "Names, with a leading `-` for descending order", example: ["-updatedAt"] }),
    locale: text(35).optional(),
    market: text(32).optional(),
    layout: z
      .strictObject({ kind: z.enum(LAYOUTS), field: field.optional() })
      .optional()
      .openapi({ description: "The layout, if it is not the table, and the field that it is about" }),
    columns: z.array(field).min(1).max(MOST.columns).optional(),
  })
  .openapi("ViewList", { description: "What a view shows" });

const name = text(80).regex(/\S/, "must contain more than white space").openapi({ example: "To translate" });
const audience = z.enum(AUDIENCES).openapi({
  description: "Who sees the view: the account that saved it, all accounts with a role, or all",
});

export const ViewBody = z
  .strictObject({
    name,
    audience: audience.default("me"),
    role: text(63).optional().openapi({ description: "Only for the audience `role`" }),
    default: z.boolean().optional().openapi({
      description:
        "Whether lists of the schema open with the view. At most one view of an audience does: another one that did no longer does",
    }),
    list: List.prefault({}),
  })
  .openapi("ViewInput");

export const ViewAnswer = z
  .object({
    id: z.string(),
    revision: z.int(),
    name: z.string(),
    audience,
    role: z.string().nullable(),
    default: z.boolean(),
    list: List,
    gone: z
      .array(z.object({ field: z.string(), part: z.enum(PARTS), why: z.enum(["removed", "forbidden"]) }))
      .openapi({
        description:
          "Fields that the view was saved with and that `list` leaves out. `removed`: the schema no longer has the field, which had this name. `forbidden`: you may not read it",
      }),
    changedAt: z.iso.datetime(),
    changedBy: z.string().openapi({ description: "Id of an account" }),
  })
  .openapi("View");

export const ViewsAnswer = z
  .object({
    items: z.array(ViewAnswer),
    default: z.string().nullable().openapi({
      description:
        "Id of the view with which your lists open: your own one, else that of your role, else that of all",
    }),
    shares: z.boolean().openapi({ description: "Whether you may save views that others see" }),
  })
  .openapi("Views");

const orderOf = (sort: string) => ({ field: sort.replace(/^-/, ""), descending: sort.startsWith("-") });

/** Returns what a request asks to save. */
export function viewInput({ list, ...body }: z.infer<typeof ViewBody>): ViewInput {
  const { sort, ...rest } = list;
  return { ...body, list: { ...rest, sort: sort?.map(orderOf) } };
}

const sortIn = ({ sort }: ListView) =>
  sort === undefined ? {} : { sort: sort.map(({ field, descending }) => `${descending ? "-" : ""}${field}`) };

/** Returns a view as responses show it. */
export function viewAnswer({ list, ...view }: View): z.infer<typeof ViewAnswer> {
  const { sort: _, ...rest } = list;
  return { ...view, list: { ...rest, ...sortIn(list) } as z.infer<typeof List> };
}
