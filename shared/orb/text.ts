/** Returns why a text cannot be stored, or undefined. */
export function textFlaw(text: string): string | undefined {
  if (text.includes("\u0000")) return "The text holds a NUL character.";
  if (!text.isWellFormed()) return "The text holds half of a surrogate pair.";
  return undefined;
}
