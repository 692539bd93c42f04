/** The bodies and responses of the routes for change sets. */
import { z } from "@hono/zod-openapi";
import { type ChangeSet, LONGEST, SET_STATES } from "../../shared/changes/record/index.ts";
import type { ReviewedSet, SetComment } from "../../shared/changes/review/index.ts";
import { words } from "../../shared/definition/document/index.ts";
import { Cursor, Limit, listOf } from "../http/schemas.ts";

const title = words
  .regex(/\S/, "must contain more than white space")
  .max(LONGEST.title)
  .openapi({ description: "Name for people", example: "Spring sale", minLength: 1 });
const description = words.max(LONGEST.description).openapi({ description: "What the set is for" });
const comment = words.max(LONGEST.comment).openapi({ description: "A text for the authors of the set" });

const hash = z.string().max(200);

const publishAt = z.iso.datetime({ offset: true }).openapi({
  description: "When to publish the set",
  example: "2030-03-01T09:00:00+01:00",
});

export const NewChange = z
  .strictObject({ title, description: description.optional(), publishAt: publishAt.optional() })
  .openapi("ChangeSetInput");

export const ChangeUpdate = z
  .strictObject({
    title: title.optional(),
    description: description.nullable().optional().openapi({ description: "`null` removes it" }),
    publishAt: publishAt.nullable().optional().openapi({
      description:
        "When to publish the set as it is now. It is scheduled as soon as this content has its approvals. `null` gives the plan up",
    }),
    hash: hash.optional().openapi({
      description:
        "With `publishAt`: `hash` of the content that you have seen; 412 if it was edited since. Default: the content as it is",
    }),
  })
  .refine(({ hash, publishAt }) => hash === undefined || publishAt !== undefined, {
    path: ["publishAt"],
    error: "is required beside hash",
    params: { code: "required" },
  })
  .openapi("ChangeSetUpdate");

export const Approving = z
  .strictObject({
    hash: hash.optional().openapi({
      description:
        "`hash` of the content that you have seen; 412 if it was edited since. Default: the content as it is",
    }),
    comment: comment.optional(),
  })
  .openapi("ChangeSetApproval");

export const Rejecting = z
  .strictObject({
    comment: comment.regex(/\S/, "must contain more than white space").openapi({ minLength: 1 }),
  })
  .openapi("RejectedChangeSet");

const entryName = z
  .string()
  .regex(/^[^/]{1,63}\/[^/]{1,63}\/[0-9a-z]{1,32}$/, "must have the form module/schema/id");

export const ListQuery = z.strictObject({
  "filter[state]": z.enum(SET_STATES).optional(),
  "filter[author]": z
    .string()
    .max(128)
    .optional()
    .openapi({ description: "Id of the account that opened the set" }),
  "filter[mentions]": z
    .string()
    .max(128)
    .optional()
    .openapi({ description: "Id of an account: sets with comments that mention it and are not resolved" }),
  "filter[entry]": entryName
    .optional()
    .openapi({ description: "Sets that contain this entry, or have published it: `module/schema/id`" }),
  limit: Limit,
  cursor: Cursor,
});

const account = z.string().openapi({ description: "Id of an account" });
const moment = z.iso.datetime();

const members = {
  id: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  state: z.enum(SET_STATES),
  revision: z
    .int()
    .openapi({ description: "Counts the changes of the set itself, not those of its entries" }),
  createdAt: moment,
  createdBy: account,
  through: z.string().optional().openapi({ description: "The handler that opened the set for the account" }),
  token: z.string().optional().openapi({ description: "Id of the API token that opened the set" }),
  changedAt: moment,
  changedBy: account,
  approvals: z.array(
    z.object({
      by: account,
      at: moment,
      hash: z.string().openapi({ description: "Hash of the content that was approved" }),
      comment: z.string().nullable(),
    }),
  ),
  publishAt: moment.nullable().openapi({
    description:
      "When the set is to be published. It is if the state is `SCHEDULED`; else the time is only noted",
  }),
  plannedBy: account.nullable().openapi({
    description:
      "Who planned it. If the state is `SCHEDULED`, it is published with the rights of this account",
  }),
  refused: z
    .object({ publishAt: moment, at: moment, by: account, code: z.string(), detail: z.string() })
    .nullable()
    .openapi({ description: "Why the set was not published at the planned time" }),
  rejection: z
    .object({ by: account, at: moment, comment: z.string() })
    .nullable()
    .openapi({ description: "The last rejection, until a review is requested again" }),
  published: z
    .object({
      by: account,
      at: moment,
      hash: z.string(),
      token: z.string().optional().openapi({ description: "Id of the API token that published the set" }),
    })
    .nullable()
    .openapi({ description: "Who published the set, when, and the hash of its content" }),
  reverts: z.string().optional().openapi({ description: "Id of the set that this one takes back" }),
  undoes: z
    .array(z.string())
    .optional()
    .openapi({ description: "Ids of the sets of an API token that this one takes back" }),
  undoesToken: z.string().optional().openapi({
    description: "Id of the API token that this one takes back, also what it has published without a set",
  }),
  revertedBy: z.string().optional().openapi({ description: "Id of the set that took this one back" }),
  revertedInPart: z
    .array(z.string())
    .optional()
    .openapi({ description: "Ids of the sets that took some of its entries back" }),
};

export const ListedChange = z.object(members).openapi("ListedChangeSet");

const ReviewRule = z
  .object({
    approvals: z.int().openapi({ description: "Approvals that the rule demands" }),
    given: z.int().openapi({ description: "Approvals of the present content that count for the rule" }),
    by: z.array(z.string()).openapi({ description: "Roles whose accounts may approve" }),
    module: z.string().optional(),
    schema: z.string().optional(),
    notAuthor: z.boolean().openapi({ description: "Whether the authors of the set may not approve" }),
  })
  .openapi("ChangeSetReviewRule");

export const ChangeView = z
  .object({
    ...members,
    hash: z.string().openapi({ description: "Hash of the content. Each write into the set changes it" }),
    entries: z.int().openapi({ description: "Number of entries in the set" }),
    authors: z.array(account).openapi({ description: "Ids of the accounts that have written into the set" }),
    definition: z.object({ revision: z.int(), base: z.int(), force: z.boolean() }).nullable().openapi({
      description:
        "Set if the set contains a definition of the orb: its number within the set, the live revision from which it started, and whether modules and schemas with stored entries may be removed",
    }),
    review: z
      .array(ReviewRule)
      .openapi({ description: "The review rules of the orb that concern the entries in the set" }),
  })
  .openapi("ChangeSet");

export const UndoneToken = ChangeView.extend({
  more: z.boolean().openapi({
    description: "Whether there may be entries or earlier sets of the token that this one leaves",
  }),
  nextCursor: z.string().nullable().openapi({
    description: "If there is `more`: send it as `cursor` once this set is published. Null to send none",
  }),
}).openapi("UndoneToken");

export const UndoQuery = z.strictObject({ cursor: Cursor });

export const ChangePage = listOf(ListedChange).openapi("ChangeSetList");

export const NewComment = z
  .strictObject({
    text: words
      .regex(/\S/, "must contain more than white space")
      .max(LONGEST.comment)
      .openapi({ minLength: 1, example: "Is this the final price?" }),
    entry: entryName.optional().openapi({ description: "The entry that it is about: `module/schema/id`" }),
    field: words
      .min(1)
      .max(200)
      .optional()
      .openapi({ description: "The field of this entry", example: "price" }),
    mentions: z.array(z.string().min(1).max(128)).max(20).default([]).openapi({
      description: "Ids of the accounts that it addresses",
    }),
  })
  .refine(({ entry, field }) => field === undefined || entry !== undefined, {
    path: ["entry"],
    error: "is required beside field",
    params: { code: "required" },
  })
  .openapi("ChangeSetCommentInput");

export const CommentView = z
  .object({
    id: z.string(),
    text: z.string(),
    entry: z.string().nullable(),
    field: z.string().nullable(),
    mentions: z.array(account),
    at: moment,
    by: account,
    through: z.string().optional().openapi({ description: "The handler that commented for the account" }),
    token: z.string().optional().openapi({ description: "Id of the API token with which it was sent" }),
    resolved: z.object({ by: account, at: moment }).nullable(),
  })
  .openapi("ChangeSetComment");

export const CommentPage = listOf(CommentView).openapi("ChangeSetCommentList");

export const CommentQuery = z.strictObject({ limit: Limit, cursor: Cursor });

export function commentView(stored: SetComment): z.infer<typeof CommentView> {
  const { v: _, entry = null, field = null, mentions, through, token, resolved = null, ...rest } = stored;
  return {
    ...rest,
    entry,
    field,
    mentions: [...mentions],
    ...(through === undefined ? {} : { through }),
    ...(token === undefined ? {} : { token }),
    resolved,
  };
}

export function listedChange(set: ChangeSet): z.infer<typeof ListedChange> {
  const { v: _, act: _act, plan, refused = null, ...others } = set;
  const {
    description = null,
    approvals,
    rejection = null,
    published = null,
    undoes,
    revertedInPart,
    ...rest
  } = others;
  return {
    ...rest,
    ...(undoes === undefined ? {} : { undoes: [...undoes] }),
    ...(revertedInPart === undefined ? {} : { revertedInPart: [...revertedInPart] }),
    description,
    publishAt: plan?.at ?? null,
    plannedBy: plan?.by.sub ?? null,
    refused,
    approvals: approvals.map(({ by, at, hash, comment = null }) => ({ by, at, hash, comment })),
    rejection,
    published,
  };
}

export function changeView({ set, content, rules }: ReviewedSet): z.infer<typeof ChangeView> {
  return {
    ...listedChange(set),
    hash: content.hash,
    entries: content.entries,
    authors: [...content.authors],
    definition: content.definition ?? null,
    review: rules.map(({ rule: { approvals, roles, module, schema, notAuthor }, given }) => ({
      approvals,
      given,
      by: [...roles],
      ...(module === undefined ? {} : { module }),
      ...(schema === undefined ? {} : { schema }),
      notAuthor,
    })),
  };
}
