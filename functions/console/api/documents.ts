/**
 * Requests about the documents that define applications: validation, revisions, states and module templates. For
 * platform admins only.
 */
import { get, pathOf, post, put } from "./http.ts";
import { type DryRun, type OrbDocument, type OrbRevision, orbPath } from "./orbs.ts";

export interface Revision extends OrbRevision {
  document: Readonly<Record<string, unknown>> | null;
  against: number | null;
}

export interface Template {
  id: string;
  description: string;
}

/**
 * Validates an update with a dry run, and returns its effects on stored entries.
 * @param options.change id of the change set that the update is written into
 * @param options.publish also checks the conditions for publishing: all handlers exist, and no role in use is removed
 */
export const checkOrb = (
  id: string,
  document: unknown,
  options: {
    revision: number;
    publish?: boolean;
    force?: boolean;
    change?: string | undefined;
    signal?: AbortSignal;
  },
): Promise<DryRun> => {
  const { revision, signal, ...query } = options;
  return put(orbPath(id), document, { query: { dryRun: true, ...query }, revision, signal });
};

/** Publishes the newest revision without changes. */
export const publishRevision = (id: string, revision: number, force: boolean): Promise<OrbDocument> =>
  post(`${orbPath(id)}/publish`, undefined, { revision, query: { force } });

export const readLive = (id: string, signal?: AbortSignal): Promise<OrbDocument> =>
  get(orbPath(id), { query: { revision: "published" }, signal });

/** @param against revision to compare with; by default, the previous one */
export const readRevision = (
  id: string,
  revision: number,
  against?: number,
  signal?: AbortSignal,
): Promise<Revision> => get(`${orbPath(id)}/revisions/${revision}`, { query: { against }, signal });

const restorePath = (id: string, revision: number) => `${orbPath(id)}/revisions/${revision}/restore`;

export const checkRestore = (id: string, revision: number, newest: number): Promise<DryRun> =>
  post(restorePath(id, revision), undefined, { query: { dryRun: true }, revision: newest });

export const restoreRevision = (id: string, revision: number, newest: number): Promise<OrbDocument> =>
  post(restorePath(id, revision), undefined, { revision: newest });

/** Creates a new signing secret for a webhook. Only this response contains it. */
export const renewSecret = (id: string, hook: string): Promise<{ secret: string }> =>
  post(`${orbPath(id)}${pathOf("hooks", hook, "secret")}`);

const TEMPLATES = "/api/admin/definitions/modules";

export const listTemplates = (signal?: AbortSignal): Promise<Template[]> => get(TEMPLATES, { signal });

/** Stores a module as a new template, or as the next version of an existing template. */
export const saveTemplate = (id: string, template: { description: string; module: unknown }): Promise<void> =>
  put(`${TEMPLATES}${pathOf(id)}`, template);

/** Returns a new module from a template. The module's references point to schemas of the given application. */
export const moduleFromTemplate = (template: string, orb: string, module: string): Promise<unknown> =>
  get(`${TEMPLATES}${pathOf(template)}/module`, { query: { orb, module } });
