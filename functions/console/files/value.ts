/** The value of a file in a form or list. */

export interface ShownFile {
  file: string;
  name: string;
  url: string;
  type?: string | undefined;
  size?: number | undefined;
  animated?: boolean | undefined;
}

/** Returns the file that a value describes. Returns undefined if it describes none. */
export function shownFile(value: unknown): ShownFile | undefined {
  const { file, name, url, type, size, animated } = Object(value) as Partial<ShownFile>;
  if (typeof file !== "string") return undefined;
  return { file, name: name ?? file, url: url ?? "", type, size, animated };
}
