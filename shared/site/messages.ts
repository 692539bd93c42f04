/**
 * The messages between the console and the page of a site in its frame. Each side takes messages from the exact origin of
 * the other one only, and nothing that has another shape.
 */

/** Version of the messages. */
const PREVIEW = 1;

/** The values of an entry, as visitors of the page would read them: in one language and market. */
export interface PreviewEntry {
  values: Readonly<Record<string, unknown>>;
  /** The fields of rich text as HTML that is safe to insert. */
  html: Readonly<Record<string, string>>;
}

/**
 * To the page: the entry as it is stored, or as it is in the form. The console sends the stored entry first, and again
 * after each save.
 */
export interface EntryMessage extends PreviewEntry {
  orbPreview: typeof PREVIEW;
  type: "stored" | "typed";
}

/** From the page: that it waits for an entry, or that the user clicked on an element of a field. */
export type PageMessage =
  | { orbPreview: typeof PREVIEW; type: "ready" }
  | { orbPreview: typeof PREVIEW; type: "field"; field: string };

/** Maximum characters of the path of a field. */
const LONGEST_PATH = 500;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a message for the page. */
export const entryMessage = (type: EntryMessage["type"], { values, html }: PreviewEntry): EntryMessage => ({
  ...{ orbPreview: PREVIEW, type, values, html },
});

/** Returns a message for the console. */
export const readyMessage = (): PageMessage => ({ orbPreview: PREVIEW, type: "ready" });

/** Returns a message for the console. @param field path of the field in the entry's values, such as `seo/title` */
export const fieldMessage = (field: string): PageMessage => ({ orbPreview: PREVIEW, type: "field", field });

/** Returns the data of a message if it is one for the page, otherwise undefined. */
export function readEntryMessage(data: unknown): EntryMessage | undefined {
  if (!isObject(data) || data.orbPreview !== PREVIEW) return undefined;
  const { type, values, html } = data;
  if ((type !== "stored" && type !== "typed") || !isObject(values) || !isObject(html)) return undefined;
  if (!Object.values(html).every((text) => typeof text === "string")) return undefined;
  return data as unknown as EntryMessage;
}

/** Returns the data of a message if it is one for the console, otherwise undefined. */
export function readPageMessage(data: unknown): PageMessage | undefined {
  if (!isObject(data) || data.orbPreview !== PREVIEW) return undefined;
  const { type, field } = data;
  if (type === "ready") return readyMessage();
  if (type !== "field" || typeof field !== "string" || field.length > LONGEST_PATH) return undefined;
  return fieldMessage(field);
}
