/** The parameters, bodies and responses of the routes for the library of files. */
import { z } from "@hono/zod-openapi";
import { STATUSES } from "../../shared/definition/document/index.ts";
import { QUERY_LIMITS } from "../../shared/entry/query/index.ts";
import { ASSET_LIMITS } from "../../shared/files/assets/index.ts";
import { MOST_TAGGED } from "../../shared/media/tags.ts";
import { Cursor, wholeNumber } from "../http/schemas.ts";

const fraction = z.number().min(0).max(1);
const Focal = z.object({ x: fraction, y: fraction }).openapi("FileFocal", {
  description: "The point of an image that all variants show, in fractions of its sides",
});
const Crop = z.object({ x: fraction, y: fraction, w: fraction, h: fraction }).openapi("FileCrop", {
  description: "The rectangle of an image that variants show, in fractions of its sides",
});
const texts = (description: string) =>
  z.record(z.string(), z.string()).openapi({ description, example: { en: "A red chair" } });

const FileView = z.object({
  id: z.string(),
  url: z.string(),
  name: z.string(),
  type: z.string().openapi({ example: "image/png" }),
  size: z.int().openapi({ description: "Bytes" }),
  sha256: z.string(),
  width: z.int().optional(),
  height: z.int().optional(),
  color: z.string().optional(),
  animated: z.boolean().optional(),
  createdAt: z.iso.datetime(),
  createdBy: z.string(),
  revision: z.int().openapi({ description: "Number of the newest version of the description" }),
  kept: z.boolean().openapi({ description: "Whether the file stays although no entry refers to it" }),
  uses: z.int().openapi({ description: "Entries that refer to the file in at least one of their revisions" }),
  alt: texts("Alternative text by language"),
  caption: texts("Caption by language"),
  tags: z.array(z.string()),
  focal: Focal.nullable(),
  crop: Crop.nullable(),
  replacedBy: z.string().optional().openapi({ description: "Id of the file that replaced this one" }),
});

const FileUser = z
  .object({
    module: z.string(),
    schema: z.string(),
    id: z.string(),
    status: z.enum([...STATUSES, "DELETED"]),
    newest: z.boolean().openapi({ description: "Whether the newest revision has the file" }),
    live: z.boolean().openapi({ description: "Whether the revision that readers see has the file" }),
  })
  .openapi("FileUser");

export const LibraryFile = FileView.openapi("LibraryFile");
export const LibraryFileDetail = FileView.extend({
  usedIn: z
    .array(FileUser)
    .openapi({ description: "The entries that refer to the file, and whose drafts the caller may read" }),
}).openapi("LibraryFileDetail");

export const LibraryPage = z
  .object({
    items: z.array(LibraryFile),
    nextCursor: z.string().nullable().openapi({
      description:
        "Pass it as `cursor` to get the next page; null at the end. A page may be shorter than `limit`: follow `nextCursor`",
    }),
  })
  .openapi("LibraryPage");

/** Maximum files of a page. */
const MOST_FILES = 100;

export const LibraryQuery = z.strictObject({
  limit: wholeNumber(MOST_FILES).default(24).openapi({ description: "Files per page", default: 24 }),
  cursor: Cursor,
  search: z
    .string()
    .max(QUERY_LIMITS.search)
    .optional()
    .openapi({ description: "Words that the name, the texts, the tags or the id must contain" }),
  type: z
    .string()
    .regex(
      /^[a-z]+\/(\*|[a-z0-9][a-z0-9.+-]*)$/,
      "must be a type such as image/png, or a group such as image/*",
    )
    .optional()
    .openapi({ description: "A media type, or a group of them", example: "image/*" }),
  tag: z
    .string()
    .min(1)
    .max(ASSET_LIMITS.tag)
    .optional()
    .openapi({ description: "Only files with this tag" }),
  only: z.enum(["unused", "replaced"]).optional().openapi({
    description:
      "`unused`: only files that no entry has. `replaced`: only files that another one replaced. Without it, the list has no replaced files",
  }),
});

const nullableTexts = (description: string) =>
  z
    .unknown()
    .optional()
    .openapi({
      ...{ type: "object", nullable: true, description, example: { en: "A red chair" } },
      additionalProperties: { type: "string", nullable: true },
    });
const fractions = (names: readonly string[], description: string) =>
  z
    .unknown()
    .optional()
    .openapi({
      ...{ type: "object", nullable: true, description, additionalProperties: false },
      required: [...names],
      properties: Object.fromEntries(names.map((name) => [name, { type: "number", minimum: 0, maximum: 1 }])),
    });

/** Only documents the body. `fileChange` validates it, and reports all errors in one response. */
export const FileChangeBody = z
  .looseObject({
    name: z.unknown().optional().openapi({ type: "string", minLength: 1, maxLength: ASSET_LIMITS.name }),
    alt: nullableTexts("Alternative text by language; null removes one, or all"),
    caption: nullableTexts("Caption by language; null removes one, or all"),
    tags: z
      .unknown()
      .optional()
      .openapi({
        ...{ type: "array", nullable: true, maxItems: ASSET_LIMITS.tags },
        items: { type: "string", minLength: 1, maxLength: ASSET_LIMITS.tag },
      }),
    focal: fractions(["x", "y"], "The point of an image that all variants show; null removes it"),
    crop: fractions(["x", "y", "w", "h"], "The rectangle of an image that variants show; null removes it"),
  })
  .openapi("LibraryFileChange", { additionalProperties: false });

const TagName = z.string().min(1).max(ASSET_LIMITS.tag);
const tagList = (description: string) =>
  z.array(TagName).max(ASSET_LIMITS.tags).default([]).openapi({ description });

export const TagFilesBody = z
  .strictObject({
    files: z.array(z.string()).min(1).max(MOST_TAGGED).openapi({ description: "Ids of files" }),
    add: tagList("Tags that all these files get"),
    remove: tagList("Tags that none of them keeps"),
  })
  .openapi("LibraryTagging", { description: "At least one tag in `add` or `remove`" });

export const TaggedAnswer = z.object({ items: z.array(LibraryFile) }).openapi("LibraryTagged");

export const TagChangeBody = z
  .strictObject({
    from: TagName.openapi({ description: "A tag" }),
    to: TagName.nullable().openapi({
      description: "Its new name, which can be that of another tag; null removes the tag from all files",
    }),
  })
  .openapi("FileTagChange");

export const TagsAnswer = z
  .object({ tags: z.array(z.string()).openapi({ description: "All tags of the orb" }) })
  .openapi("FileTags");

export const ReplaceBody = z
  .strictObject({ by: z.string().openapi({ description: "Id of the file that takes the place" }) })
  .openapi("FileReplacement");

export const ReplacedAnswer = z
  .object({
    file: LibraryFile,
    changed: z.array(FileUser).openapi({ description: "Entries of which a new revision has the new file" }),
    left: z.array(FileUser).openapi({
      description: "Entries whose readers see the old file until their draft is published",
    }),
  })
  .openapi("FileReplaced");
