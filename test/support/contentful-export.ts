/** Makes exports of Contentful, as `contentful space export` writes them. */

const link = (linkType: string, id: string) => ({ sys: { type: "Link", linkType, id } });
export const entryLink = (id: string) => link("Entry", id);
export const assetLink = (id: string) => link("Asset", id);

export interface ExportedSys {
  version?: number;
  /** Undefined for a draft. */
  publishedVersion?: number | undefined;
  archivedAt?: string;
  publishedCounter?: number;
  createdAt?: string;
}

const CREATED = "2017-05-11T12:04:29.532Z";

export function exportedEntry(id: string, type: string, fields: object, sys: ExportedSys = {}) {
  const state = { version: 3, publishedVersion: 2, createdAt: CREATED, ...sys };
  return {
    sys: {
      id,
      type: "Entry",
      ...state,
      createdBy: link("User", "ann"),
      contentType: link("ContentType", type),
    },
    fields,
  };
}

export function exportedAsset(id: string, fileName: string, title: object) {
  const url = `//127.0.0.1/space/${id}/hash/${fileName}`;
  return {
    sys: {
      id,
      type: "Asset",
      version: 3,
      publishedVersion: 2,
      createdAt: CREATED,
      createdBy: link("User", "ann"),
    },
    fields: { title, file: { "en-US": { url, fileName, contentType: "text/plain" } } },
  };
}

/** Returns the field of a content type. */
export const exportedField = (id: string, type: string, more: object = {}) => ({
  ...{
    id,
    name: id,
    type,
    localized: false,
    required: false,
    validations: [],
    disabled: false,
    omitted: false,
  },
  ...more,
});

export const text = (value: string, ...marks: string[]) => ({
  ...{ nodeType: "text", value, data: {} },
  marks: marks.map((type) => ({ type })),
});
export const node = (nodeType: string, content: object[], data: object = {}) => ({ nodeType, data, content });
export const paragraph = (...content: object[]) => node("paragraph", content);

export function contentfulExport(input: {
  types: { id: string; displayField?: string; fields: object[] }[];
  entries: object[];
  assets?: object[];
  locales?: string[];
}) {
  const { types, entries, assets = [], locales = ["en-US"] } = input;
  return {
    contentTypes: types.map(({ id, displayField = "title", fields }) => ({
      ...{ sys: { id, type: "ContentType" }, displayField, name: id, description: "" },
      fields,
    })),
    entries,
    assets,
    locales: locales.map((code, at) => ({
      code,
      default: at === 0,
      fallbackCode: at === 0 ? null : locales[0],
    })),
    webhooks: [{ name: "deploy" }],
    roles: [{ name: "Author" }],
  };
}
