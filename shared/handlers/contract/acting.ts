/**
 * Functions with which a handler in this process reads and writes data on behalf of its caller. A handler in another
 * process (a service) uses the HTTP API instead, with the credential that it receives with a call.
 */

interface Place {
  module: string;
  /** Schema id. May be omitted if the module has only one schema. */
  schema?: string | undefined;
}

export interface EntryPlace extends Place {
  id: string;
}

/** An entry, with property names as in the HTTP API. */
export interface ActingEntry {
  id: string;
  status: string;
  revision: number;
  createdBy: string;
  updatedBy: string;
  values: Record<string, unknown>;
}

export interface ActingRecord {
  id: string;
  createdAt: string;
  createdBy: string;
  values: Record<string, unknown>;
}

/**
 * Each function checks whether the caller may do this, and whether the application lets the handler do it. The HTTP API
 * makes the same checks for a service's credential.
 * @throws AppError 403 `missing_act` if the application does not grant the handler the required operation
 */
export interface Acting {
  entries: {
    /**
     * @param options.reveal return sensitive values decrypted; the application must grant the handler `entries:reveal`
     */
    get(place: EntryPlace, options?: { latest?: boolean; reveal?: boolean }): Promise<ActingEntry>;
    create(entry: Place & { values: unknown; publish?: boolean }): Promise<ActingEntry>;
    update(
      change: EntryPlace & { values: unknown; publish?: boolean; ifMatch?: number | undefined },
    ): Promise<ActingEntry>;
    publish(place: EntryPlace & { ifMatch?: number | undefined }): Promise<ActingEntry>;
  };
  transactions: {
    /** @param record.key idempotency key: requests with the same account, key and values create only one record */
    record(
      record: Partial<Place> & { values: Record<string, unknown>; key?: string | undefined },
    ): Promise<ActingRecord>;
  };
}
