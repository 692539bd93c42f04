/** What both handlers of transactions share: which schema, and how a record looks on the wire. */
import { type EntrySnapshot, maskValues } from "../entry/snapshot.ts";
import { type EntryAddress, isToken, subjects } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";

/** A record as the runtime API answers it. */
export interface RecordView {
  id: string;
  module: string;
  schema: string;
  /** When it was recorded, ISO 8601; by the platform's clock. */
  createdAt: string;
  /** Account of whoever recorded it. */
  createdBy: string;
  values: Record<string, unknown>;
}

/** A record as it is stored: an entry that is live from its one revision on. */
export interface RecordSnapshot extends EntrySnapshot {
  /** HMAC of what was recorded under an idempotency key. */
  request?: string;
}

/** A record without any sealed value. */
export function recordView(snapshot: EntrySnapshot): RecordView {
  const { id, module, schema, createdAt, createdBy, values } = snapshot;
  return { id, module, schema, createdAt, createdBy, values: maskValues(values) };
}

/** The index by which an account finds its own records; nothing for entries of other modules. */
export function ownHints(address: EntryAddress, owner: string): Append[] {
  if (address.type !== "transactions" || !isToken(owner)) return [];
  return [{ subject: subjects.ownOrder(address, owner), data: address.id }];
}

/** JSON Schema of a record. */
export const RECORD = {
  type: "object",
  required: ["id", "module", "schema", "createdAt", "createdBy", "values"],
  properties: {
    id: { type: "string" },
    module: { type: "string" },
    schema: { type: "string" },
    createdAt: { type: "string", format: "date-time" },
    createdBy: { type: "string" },
    values: { type: "object" },
  },
} as const;
