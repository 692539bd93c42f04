/** Functions with which a handler in this process acts for its caller. Services do the same over HTTP with their credential. */

interface Place {
  module: string;
  /** Optional if the module has one schema. */
  schema?: string | undefined;
}

export interface EntryPlace extends Place {
  id: string;
}

/** An entry with the members of an entry of the HTTP API. */
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
 * Each function checks the rights of the caller and the grants of the orb, as the HTTP API does for a credential. It
 * throws 403 `missing_act` if the orb does not grant the handler what it needs.
 */
export interface Acting {
  entries: {
    /** @param options.reveal decrypts sensitive values; needs `entries:reveal` too */
    get(place: EntryPlace, options?: { latest?: boolean; reveal?: boolean }): Promise<ActingEntry>;
    create(entry: Place & { values: unknown; publish?: boolean }): Promise<ActingEntry>;
    update(
      change: EntryPlace & { values: unknown; publish?: boolean; ifMatch?: number | undefined },
    ): Promise<ActingEntry>;
    publish(place: EntryPlace & { ifMatch?: number | undefined }): Promise<ActingEntry>;
  };
  transactions: {
    /** @param record.key idempotency key: the same account, key and values create only one record */
    record(
      record: Partial<Place> & { values: Record<string, unknown>; key?: string | undefined },
    ): Promise<ActingRecord>;
  };
}
