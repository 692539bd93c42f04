/** Finds the schema of a transaction handler and formats records for responses. */
import type { CompiledSchema } from "../../definition/compile.ts";
import { maskValues } from "../../entry/model/masking.ts";
import type { EntrySnapshot } from "../../entry/model/snapshot.ts";
import { type EntryAddress, isToken, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";

/** A record in responses. */
export interface RecordView {
  id: string;
  module: string;
  schema: string;
  /** Time of the record by the platform's clock (ISO 8601). */
  createdAt: string;
  /** Id of the account that created it. */
  createdBy: string;
  values: Record<string, unknown>;
}

/** A stored record: an entry with one revision that is live from the start. */
export interface RecordSnapshot extends EntrySnapshot {
  /** HMAC of the values of a record with an idempotency key. */
  request?: string;
}

/** Returns a record for a response, masked by the active definition. */
export function recordView(definition: CompiledSchema, snapshot: EntrySnapshot): RecordView {
  const { id, module, schema, createdAt, createdBy, values } = snapshot;
  return { id, module, schema, createdAt, createdBy, values: maskValues(values, definition) };
}

/** Returns the index messages for an account's own records; none for other modules. */
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
