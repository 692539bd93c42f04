/** The form of the tables of sort keys. `scripts/tools/collation.ts` writes them. */

/** Separators in the tables. */
export const NEXT = "\ue000";
export const NEXT_CASE = "\ue001";
export const SAME_CASE = "\ue002";
export const NEXT_ACCENT = "\ue003";
/** In the tables, numbers are characters: the number plus one of these. */
export const ACCENT_BASE = 0xe100;
export const CASE_BASE = 0xe300;
export const MOVED_BASE = 0xe400;
/** Steps between two cases of a letter, so that a table can put a ligature between them. */
export const CASE_STEP = 4;
/** Accents of marks start here. Lower numbers are for letters that differ from another letter like an accent. */
export const FIRST_MARK = 16;

/** How a language differs from the root. */
export interface Tailoring {
  /** The script whose letters come first. */
  front?: string;
  /** Compares accents from the end of the text. */
  backwards?: true;
  /** Order of the accents. */
  marks?: string;
  /** Characters, and groups of characters, with other weights. */
  elements?: string;
}
