import { masked, type Operation, type OrbDocument, type Status } from "../definition/document/index.ts";
import type { ExistingOrb, OrbOperation, OrbRecord } from "../definition/stored/index.ts";
import type { Fault } from "../kernel/errors.ts";
import { equal } from "../kernel/json.ts";

export interface OrbState {
  status: Status;
  revision: number;
  publishedRevision: number | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
}

export type OrbView = OrbDocument & OrbState;

export type OrbItem = Pick<OrbDocument, "id" | "name" | "description"> & OrbState;

export interface RevisionItem {
  revision: number;
  operation: OrbOperation;
  by: string;
  at: string;
  status: Status | null;
  publishedRevision: number | null;
  summary: string[];
}

export interface RevisionView extends RevisionItem {
  document: OrbDocument | null;
  changes: Operation[];
  /** Number of the older revision with which `changes` and `summary` compare this revision. */
  against: number | null;
}

export function orbView(head: ExistingOrb): OrbView {
  return { ...masked(head.document), ...stateOf(head) };
}

export function orbItem(head: ExistingOrb): OrbItem {
  const { id, name, description } = head.document;
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...stateOf(head),
  };
}

function stateOf(head: ExistingOrb): OrbState {
  return {
    status: head.status,
    revision: head.revision,
    publishedRevision: head.publishedRevision,
    createdAt: head.createdAt,
    createdBy: head.createdBy,
    updatedAt: head.at,
    updatedBy: head.by,
  };
}

export function revisionItem(record: OrbRecord): RevisionItem {
  const { revision, operation, by, at, status, publishedRevision, summary } = record;
  return { revision, operation, by, at, status, publishedRevision, summary };
}

export function revisionView(record: OrbRecord): RevisionView {
  const compared = record.document !== null && record.operation !== "create";
  const against = compared ? record.revision - 1 : null;
  return { ...revisionItem(record), document: masked(record.document), changes: record.changes, against };
}

const STATE = [
  "status",
  "revision",
  "publishedRevision",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
] as const;

/**
 * A client may edit a response and send it back. Removes the read-only properties that such a request contains. Reports
 * them as errors if they were changed.
 */
export function withoutState(input: unknown, head: ExistingOrb | null): { input: unknown; faults: Fault[] } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return { input, faults: [] };
  const now: OrbState | null = head === null ? null : stateOf(head);
  const rest: Record<string, unknown> = { ...input };
  // It is about the stored data and not about the document, and may have changed since.
  delete rest.damaged;
  const faults: Fault[] = [];
  for (const name of STATE) {
    if (!Object.hasOwn(rest, name)) continue;
    if (now === null || !equal(rest[name], now[name])) {
      faults.push({
        path: `/${name}`,
        code: "read_only",
        message: "is set by the platform. Leave it out or send it unchanged.",
      });
    }
    delete rest[name];
  }
  return { input: rest, faults };
}
