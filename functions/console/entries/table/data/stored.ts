/**
 * Stores the columns of a table in the browser, and reads the saved views that earlier versions have stored there.
 */

export interface KeptView {
  name: string;
  /** The query part of the page's URL. */
  query: string;
}

function read<T>(name: string, check: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return check(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function write(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // The storage is full or blocked. The URL still contains the view.
  }
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

const isViews = (value: unknown): value is KeptView[] =>
  Array.isArray(value) &&
  value.every(
    (view: unknown) =>
      typeof view === "object" &&
      view !== null &&
      "name" in view &&
      "query" in view &&
      typeof view.name === "string" &&
      typeof view.query === "string",
  );

/**
 * Reads the columns that the user chose.
 * @param table such as `shop/catalog/product`
 */
export const readColumns = (table: string): readonly string[] | undefined =>
  read(`console.columns/${table}`, isNames);

export const writeColumns = (table: string, names: readonly string[]): void =>
  write(`console.columns/${table}`, names);

export const readViews = (table: string): readonly KeptView[] =>
  read(`console.views/${table}`, isViews) ?? [];

export const writeViews = (table: string, views: readonly KeptView[]): void =>
  write(`console.views/${table}`, views);
