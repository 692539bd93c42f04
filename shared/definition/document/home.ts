/**
 * Where the entries of a schema are stored: the parts of their subjects that follow from the schema. Everything else
 * takes a {@link Home} from here, or parses it from a stored subject.
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

/** Before a capital that begins a word: `product|Variant`, `Order2|Item`, `HTTP|Server`. */
const WORD = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g;

/**
 * Returns the name of a schema in message subjects: its id in kebab-case. An id in kebab-case stays as it is, because
 * entries are stored under it.
 */
export function schemaToken(id: string): SchemaToken {
  return id.replaceAll(WORD, "-").toLowerCase() as SchemaToken;
}

export function homeOf(type: ModuleType, schemaId: string): Home {
  return { type: SUBJECT_TYPES[type], schema: schemaToken(schemaId) };
}

/** A home as one text, for the keys of maps. */
export type HomeKey = string & { readonly brand: "HomeKey" };

export function homeKey({ type, schema }: Home): HomeKey {
  return `${type}/${schema}` as HomeKey;
}
