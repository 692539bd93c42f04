/** Requests about the acts in an application, and about its deleted entries. */
import type { EntryItem } from "./entries.ts";
import { get, pathOf, remove } from "./http.ts";
import { orbPath, type Page } from "./orbs.ts";

export const ACTIVITY_KINDS = ["entry", "change", "comment", "file", "definition", "access"] as const;

export interface ActivityAccount {
  id: string;
  name: string | null;
  removed?: true;
}

export interface ActivityItem {
  id: string;
  at: string;
  by: ActivityAccount;
  through?: string;
  token?: string;
  kind: (typeof ACTIVITY_KINDS)[number];
  act: string;
  entry?: { id: string; module?: string; schema?: string; revision?: number; status?: string };
  change?: { id: string; title?: string };
  field?: string;
  file?: { id: string; name: string };
  definition?: { revision: number; summary: readonly string[] };
  account?: ActivityAccount;
  detail?: string;
}

/** Lists what happened in an application. `query` accepts `filter[…]`, `limit` and `cursor`. Platform admins only. */
export const listActivity = (
  orb: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
): Promise<Page<ActivityItem>> => get(`${orbPath(orb)}/activity`, { query, signal });

/** A deleted entry, as it was before its deletion. */
export interface DeletedEntry extends EntryItem {
  deletedAt: string;
  deletedBy: ActivityAccount;
  deletedRevision: number;
}

/** Lists the deleted entries of an application. Platform admins only. */
export const listTrash = (
  orb: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
): Promise<Page<DeletedEntry>> => get(`${orbPath(orb)}/trash`, { query, signal });

/** Erases a deleted entry with all its revisions. */
export const eraseEntry = (orb: string, id: string): Promise<void> =>
  remove(`${orbPath(orb)}/entries${pathOf(id)}`, { query: { purge: true } });
