/** The schemas and components that an export of WordPress becomes. */
import type { FieldDefinition, SchemaDefinition } from "../model/source.ts";
import { HTML, HTML_FORMATS, IMAGE } from "./html.ts";

export const AUTHOR = "author";
export const COMMENT = "comment";
/** Schemas of the taxonomies. All others are in `term`. */
export const TAXONOMIES: Readonly<Record<string, string>> = { category: "category", post_tag: "tag" };
export const TERM = "term";

const text = (name: string, more: object = {}): FieldDefinition => ({ name, type: "string", ...more });
/** What only admins may read, whoever may read the entries. */
const PRIVATE = { access: { read: ["admin"] } };

export const authorSchema: SchemaDefinition = {
  ...{ id: AUTHOR, name: "Authors" },
  fields: [text("login"), text("email", PRIVATE), text("displayName"), text("firstName"), text("lastName")],
};

export const termSchema = (id: string): SchemaDefinition => ({
  ...{ id, name: id },
  fields: [
    text("name"),
    text("slug"),
    { name: "description", type: "text" },
    { name: "parent", type: "reference", ref: id },
    ...(id === TERM ? [text("taxonomy")] : []),
  ],
});

/** @param targets schemas of the posts that comments belong to */
export const commentSchema = (targets: readonly string[]): SchemaDefinition => ({
  ...{ id: COMMENT, name: "Comments" },
  fields: [
    { name: "post", type: "reference", ref: targets.length === 1 ? targets[0] : targets },
    text("author"),
    text("email", PRIVATE),
    text("address"),
    text("ip", PRIVATE),
    { name: "date", type: "datetime" },
    { name: "content", type: "text" },
    text("approved"),
    text("type"),
    text("userId"),
    { name: "parent", type: "reference", ref: COMMENT },
  ],
});

export interface PostModel {
  id: string;
  type: string;
  /** Schemas of the terms that posts of the type have. */
  terms: readonly string[];
  /** Schemas of the posts that they are below. */
  parents: readonly string[];
  hasAttachments: boolean;
}

export function postSchema({ id, type, terms, parents, hasAttachments }: PostModel): SchemaDefinition {
  const components = [IMAGE, HTML];
  return {
    ...{ id, name: type },
    fields: [
      text("title"),
      { name: "slug", type: "slug" },
      text("link"),
      { name: "author", type: "reference", ref: AUTHOR },
      { name: "content", type: "richText", ...HTML_FORMATS, components },
      { name: "excerpt", type: "text" },
      { name: "date", type: "datetime" },
      { name: "modified", type: "datetime" },
      text("status"),
      text("commentStatus"),
      text("pingStatus"),
      { name: "menuOrder", type: "integer" },
      { name: "sticky", type: "boolean" },
      { name: "meta", type: "json" },
      ...terms.map(
        (ref): FieldDefinition => ({
          name: FIELD_OF_TERMS[ref] ?? "terms",
          type: "reference",
          ref,
          list: true,
        }),
      ),
      ...(parents.length === 0
        ? []
        : [{ name: "parent", type: "reference", ref: parents.length === 1 ? parents[0] : parents }]),
      ...(hasAttachments ? [{ name: "featuredImage", type: "reference", ref: "attachment" }] : []),
      ...(type === "attachment" ? [{ name: "file", type: "file" }, text("address"), text("alt")] : []),
    ],
  };
}

export const FIELD_OF_TERMS: Readonly<Record<string, string>> = {
  category: "categories",
  tag: "tags",
  [TERM]: "terms",
};
