/**
 * Stores unsaved changes in this browser tab, so that a reload or a new sign-in loses nothing. Sensitive values are not
 * stored. The server keeps the same changes a few seconds later (`keeper.ts`). The copy of the tab counts as long as the
 * server has no other version than the one from which the tab went on.
 */
import type { Account } from "../../../api/caller.ts";
import type { Part } from "../../../api/editing.ts";
import type { Content } from "../../../model/cells.ts";
import type { SchemaModel } from "../../../model/orb.ts";

export interface Kept {
  /** The stored content that the changes are based on. `revision` is its revision; 0 for a new entry. */
  base: Content;
  revision: number;
  draft: Content;
  remote?: Remote | undefined;
}

/** Where the server keeps the changes. */
export interface Remote {
  /** The id of the entry, or the one that the form chose for a new entry. */
  id: string;
  /** The version that the form wrote or read last; undefined for none. */
  version: number | undefined;
  /** What a request sends whose answer has not come yet. */
  sending?: Part;
}

/** Returns the storage key. It contains the account, so that accounts do not see each other's drafts. */
export const keptKey = (account: Account | null, ...place: readonly string[]): string =>
  ["console.draft", account?.realm ?? "", account?.id ?? "", ...place].join("/");

function without(content: Content, { fields }: SchemaModel, base: Content): Content {
  const secret = new Set(fields.filter(({ sensitive }) => sensitive).map(({ name }) => name));
  const values = Object.entries(content.values).map(([name, value]) => [
    name,
    secret.has(name) ? (base.values[name] ?? null) : value,
  ]);
  return { ...content, values: Object.fromEntries(values) };
}

export function keepDraft(key: string, { draft, ...more }: Kept, schema: SchemaModel): void {
  try {
    const kept: Kept = { ...more, draft: without(draft, schema, more.base) };
    sessionStorage.setItem(key, JSON.stringify(kept));
  } catch {
    // The storage is full or blocked. The form still contains the changes.
  }
}

export function forgetDraft(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // The browser blocks storage, so nothing was stored.
  }
}

export function keptDraft(key: string): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as Kept | null;
    return kept ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores where the server keeps the changes that this tab has stored. */
export function keepRemote(key: string, remote: Remote): void {
  const kept = keptDraft(key);
  if (kept === undefined) return;
  try {
    sessionStorage.setItem(key, JSON.stringify({ ...kept, remote }));
  } catch {
    // The storage is full or blocked.
  }
}
