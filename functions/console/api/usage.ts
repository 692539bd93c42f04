/** Requests about what is asked of an application, and what fails. Platform admins only. */
import { get } from "./http.ts";
import { orbPath } from "./orbs.ts";

export interface Usage {
  since: string;
  requests: number;
  failed: number;
  hours: readonly { at: string; requests: number; failed: number }[];
  errors: readonly {
    status: number;
    code: string;
    method: string;
    route: string;
    count: number;
    requestId: string;
    at: string;
  }[];
  lists: readonly {
    module: string;
    schema: string;
    conditions: readonly { field: string; operator: string }[];
    sort: readonly string[];
    count: number;
    read: number;
    at: string;
  }[];
  storage: {
    entries: number;
    revisions: number;
    bytes: number;
    fileBytes: number;
    bytesLimit: number | null;
    fileBytesLimit: number | null;
  };
}

/** Returns the counts of the last hours. */
export const readUsage = (orb: string, hours: number, signal?: AbortSignal): Promise<Usage> =>
  get(`${orbPath(orb)}/usage`, { query: { hours }, signal });
