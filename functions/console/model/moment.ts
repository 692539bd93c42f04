/** Returns the value of an input of type `datetime-local` as a time with a time zone; undefined if it is empty. */
export function instantOf(text: string | null): string | undefined {
  const at = text === null || text === "" ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
