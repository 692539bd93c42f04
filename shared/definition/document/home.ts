/**
 * Derives where the entries of a schema are stored: the module type and the schema name in their message subjects. All
 * other code gets a {@link Home} (type and name) from this file, or parses it from a stored subject.
 */
import type { Home, SchemaToken } from "../../store/subjects.ts";
import type { ModuleType } from "./document.ts";

export type { Home, SchemaToken };

/** Module types as they appear in message subjects. */
export const SUBJECT_TYPES = {
  CONTENT: "content",
  CONFIG: "config",
  RULES: "rules",
  TRANSACTIONS: "transactions",
  SETTINGS: "settings",
} as const satisfies Record<ModuleType, Lowercase<ModuleType>>;

/** Matches the position before a capital letter that begins a word: `product|Variant`, `Order2|Item`, `HTTP|Server`. */
const WORD = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g;

/**
 * Returns the name of a schema in message subjects: the schema's id in kebab-case. Ids that are already in kebab-case
 * stay unchanged, because existing entries are stored under them.
 */
export function schemaToken(id: string): SchemaToken {
  return id.replaceAll(WORD, "-").toLowerCase() as SchemaToken;
}

export function homeOf(type: ModuleType, schemaId: string): Home {
  return { type: SUBJECT_TYPES[type], schema: schemaToken(schemaId) };
}

/** Identifies a schema's entries, as a string for use as a map key. */
export type HomeKey = string & { readonly brand: "HomeKey" };

export function homeKey({ type, schema }: Home): HomeKey {
  return `${type}/${schema}` as HomeKey;
}
