/** Requests about orbs (applications): their list, their documents and their states. */
import type { Status } from "../../../shared/client/types.ts";
import type { OrbModel } from "../model/orb.ts";
import { get, pathOf, post, put, type ReadOptions, remove, send } from "./http.ts";

export type { Status };

export interface OrbState {
  status: Status;
  revision: number;
  publishedRevision: number | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
}

export interface OrbItem extends OrbState {
  id: string;
  name?: string;
  description?: string;
}

/** An application's document with its state, as the management API returns it. */
export type OrbDocument = OrbModel & OrbState;

export interface Page<T> {
  items: T[];
  /** Value of the `cursor` parameter for the next page; null on the last page. */
  nextCursor: string | null;
  total?: number;
  /** False if there are more applications than `total`. */
  totalExact?: false;
  /** Number of entries that the platform compared. Present only if a page of entries ended early. */
  read?: { entries: number };
}

/** The result of a dry run: the effects that an update or a publication would have. */
export interface DryRun {
  dryRun: true;
  refused: boolean;
  changes: readonly { op: string; path: string; from?: string; value?: unknown }[];
  summary: readonly string[];
  impact: {
    changes: readonly {
      module: string;
      schema: string;
      severity: string;
      code: string;
      field?: string;
      candidates?: readonly string[];
      message: string;
      entries: number;
      lossy?: { entries: number; examples: readonly { id: string; reason: string }[] };
      values?: number;
      refused: boolean;
      forceable: boolean;
    }[];
    duplicates: readonly { module: string; schema: string; field: string; ids: readonly string[] }[];
    invalid: readonly { module: string; schema: string; checked: number; invalid: number }[];
  };
}

const ORBS = "/api/admin/orbs";
export const orbPath = (id: string): string => `${ORBS}${pathOf(id)}`;

/** Lists applications. Platform admins only. */
export const listOrbs = (options: ReadOptions = {}): Promise<Page<OrbItem>> => get(ORBS, options);

/**
 * Reads the newest revision of an application. Platform admins only.
 * @param change id of a change set: the document as the set will leave it, with the state of the live revision
 */
export const readOrb = (id: string, signal?: AbortSignal, change?: string): Promise<OrbDocument> =>
  get(orbPath(id), { query: { change }, signal });

/** Returns a document in a change set. Its revision is the number of the version within the set, for `If-Match`. */
async function numbered(response: Response): Promise<OrbDocument> {
  const document: OrbDocument = await response.json();
  const [, revision] = /"(\d+)/.exec(response.headers.get("etag") ?? "") ?? [];
  return revision === undefined ? document : { ...document, revision: Number(revision) };
}

/** Reads the document as a change set will leave it. Its revision is the number of the version within the set. */
export const readProposed = async (id: string, change: string, signal?: AbortSignal): Promise<OrbDocument> =>
  numbered(await send("GET", orbPath(id), undefined, { query: { change }, signal }));

/** Writes the document into a change set. */
export const proposeOrb = async (
  id: string,
  document: unknown,
  { change, revision, force }: { change: string; revision: number; force?: boolean },
): Promise<OrbDocument> =>
  numbered(await send("PUT", orbPath(id), document, { query: { change, force }, revision }));

export const createOrb = (document: unknown, publish: boolean): Promise<OrbDocument> =>
  post(ORBS, document, { query: publish ? { publish } : {} });

export const updateOrb = (
  id: string,
  document: unknown,
  options: { revision: number; publish?: boolean; force?: boolean },
): Promise<OrbDocument> => {
  const { revision, ...query } = options;
  return put(orbPath(id), document, { query, revision });
};

export const publishOrb = (id: string, revision: number): Promise<OrbDocument> =>
  post(`${orbPath(id)}/publish`, undefined, { revision });

export const moveOrb = (
  id: string,
  revision: number,
  move: "unpublish" | "archive" | "restore",
): Promise<OrbDocument> => post(`${orbPath(id)}/${move}`, undefined, { revision });

export interface OrbRevision {
  revision: number;
  operation: string;
  by: string;
  at: string;
  summary: readonly string[];
}

/**
 * Lists the history of an application, beginning with the oldest revision unless `sort` is `-revision`. Platform admins
 * only.
 */
export const listRevisions = (id: string, options: ReadOptions = {}): Promise<Page<OrbRevision>> =>
  get(`${orbPath(id)}/revisions`, options);

/** A caller that names a revision of the document, and the days of the first and of the last time. */
export interface Use {
  revision: number;
  kind: "token" | "account" | "handler" | "anonymous" | "others";
  realm: string | null;
  id: string | null;
  token: string | null;
  name: string | null;
  first: string;
  last: string;
}

/** Lists who names which revision. Platform admins only. */
export const listUses = (id: string, signal?: AbortSignal): Promise<{ items: Use[] }> =>
  get(`${orbPath(id)}/definitions/used`, { signal });

export interface Count {
  total: number;
  /** False if there are more than `total`. */
  totalExact?: false;
}

/** Returns how many entries, users and files an application has. Platform admins only. */
export const readContents = (
  id: string,
  signal?: AbortSignal,
): Promise<{ entries: Count; users: Count; files: Count }> => get(`${orbPath(id)}/contents`, { signal });

export const removeOrb = (id: string, revision: number): Promise<void> => remove(orbPath(id), { revision });

/** The parts of a JSON Schema that the console uses. */
export interface JsonSchema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  enum?: readonly unknown[];
  default?: unknown;
}

/** A handler of an application. */
export interface OrbHandler {
  name: string;
  description?: string;
  available: boolean;
  kind?: "local" | "nats" | "http";
  auth?: string;
  /** Path for calling the handler; null for the handlers that sign users in. */
  href: string | null;
  input?: JsonSchema;
}

interface DiscoveredOrb extends OrbModel {
  links: { signin: string; openapi: string };
  handlers: readonly OrbHandler[];
}

/** Maximum number of published applications that the console lists. */
const DISCOVERED = 2_000;

/** Lists published applications in order of their ids. Any caller may do this. */
export async function discoverOrbs(signal?: AbortSignal): Promise<DiscoveredOrb[]> {
  const found: DiscoveredOrb[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: 200, cursor };
    const page = await get<{ orbs: DiscoveredOrb[]; nextCursor: string | null }>("/api/discovery", {
      query,
      signal,
    });
    found.push(...page.orbs);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && found.length < DISCOVERED);
  return found;
}

/**
 * Returns a published application in the form that its users see.
 * @param change id of a change set: the application as the set will leave it
 */
export const discoverOrb = async (
  id: string,
  signal?: AbortSignal,
  change?: string,
): Promise<DiscoveredOrb | undefined> =>
  (await get<{ orbs: DiscoveredOrb[] }>("/api/discovery", { query: { orb: id, change }, signal })).orbs[0];
