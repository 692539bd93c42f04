/**
 * Requests about the platform itself: its health, damaged definitions, absent handlers, and failed deliveries of
 * hooks.
 */
import { get, type ReadOptions } from "./http.ts";
import { orbPath } from "./orbs.ts";

export interface Health {
  status: "ok" | "damaged";
  version: string;
  broker?: { version: string; roundTripMs: number };
}

/** A stored definition that the platform cannot use, or a stream that has lost messages. */
export interface StoredFault {
  kind: "orb" | "handler" | "stream";
  id: string;
  codes: readonly string[];
  remedy: string;
}

export const readHealth = (signal?: AbortSignal): Promise<Health> => get("/api/health", { signal });

/** Lists damaged definitions. Platform admins only. */
export const listFaults = (signal?: AbortSignal): Promise<StoredFault[]> =>
  get("/api/admin/faults", { signal });

/** Returns the names of registered handlers that no running service provides. Platform admins only. */
export async function absentHandlers(signal?: AbortSignal): Promise<string[]> {
  const all = await get<{ name: string; status: string }[]>("/api/admin/registry", { signal });
  return all.filter(({ status }) => status === "absent").map(({ name }) => name);
}

/** Returns whether an application has deliveries that failed on their last attempt. Platform admins only. */
export async function hasFailedDeliveries(orb: string, options: ReadOptions = {}): Promise<boolean> {
  const page = await get<{ items: unknown[] }>(`${orbPath(orb)}/deliveries`, {
    ...options,
    query: { status: "failed", limit: 1 },
  });
  return page.items.length > 0;
}

/** Returns the number of entries of an application, or of one of its schemas. Platform admins only. */
export async function countEntries(
  orb: string,
  { signal, ...place }: { module?: string; schema?: string; signal?: AbortSignal } = {},
): Promise<number> {
  const query = { ...place, limit: 1, count: true };
  return (await get<{ total?: number }>(`${orbPath(orb)}/entries`, { query, signal })).total ?? 0;
}
