/**
 * Limits of a description, in characters, except for the numbers of tags of a file and of an application. `texts` limits
 * the texts of all languages together, because each list and each entry that begins to use the file reads them.
 */
export const ASSET_LIMITS = {
  alt: 500,
  caption: 2_000,
  texts: 32_000,
  tags: 20,
  tag: 40,
  allTags: 1_000,
  name: 200,
} as const;
