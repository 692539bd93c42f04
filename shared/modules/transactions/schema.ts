import type { CompiledSchema } from "../../definition/compile.ts";
import { type EntrySnapshot, maskValues, ofFields } from "../../entry/model/index.ts";
import { type EntryAddress, isToken, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";

export interface RecordView {
  id: string;
  module: string;
  schema: string;
  /** Time of creation by the platform's clock. */
  createdAt: string;
  createdBy: string;
  /** Name of the handler that created the record on behalf of the account. */
  through?: string;
  values: Record<string, unknown>;
}

/** A record is a published entry with a single revision. */
export interface RecordSnapshot extends EntrySnapshot {
  /**
   * HMAC of the values. It detects a request that uses the same idempotency key for other values. Missing in records
   * without a key.
   */
  request?: string;
}

/** @param definition the schema, limited to the fields that the caller may read */
export function recordView(definition: CompiledSchema, snapshot: EntrySnapshot): RecordView {
  const { id, createdAt, createdBy, through, values } = snapshot;
  const { module, id: schema } = definition;
  const by = through === undefined ? { createdBy } : { createdBy, through };
  return {
    id,
    module,
    schema,
    createdAt,
    ...by,
    values: maskValues(ofFields(definition, values), definition),
  };
}

/** Returns the messages that add a transaction record to the list of the account that created it. */
export function ownHints(address: EntryAddress, owner: string): Append[] {
  if (address.type !== "transactions" || !isToken(owner)) return [];
  return [{ subject: subjects.ownOrder(address, owner), data: address.id }];
}

export const RECORD = {
  type: "object",
  required: ["id", "module", "schema", "createdAt", "createdBy", "values"],
  properties: {
    id: { type: "string" },
    module: { type: "string" },
    schema: { type: "string" },
    createdAt: { type: "string", format: "date-time" },
    createdBy: { type: "string" },
    through: { type: "string", description: "Handler through which the account created the record." },
    values: { type: "object" },
  },
} as const;
