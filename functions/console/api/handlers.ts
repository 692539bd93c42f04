/** Requests about handlers, deliveries (calls of after-write hooks), and streams. */
import { readStream, type StreamBatch } from "../../../shared/client/stream.ts";
import { get, pathOf, post, put, type ReadOptions, remove, transport } from "./http.ts";
import { discoverOrb, type OrbHandler, orbPath, type Page } from "./orbs.ts";

/** A registered handler. It may be used by any number of applications, or by none. */
export interface Registration extends Omit<OrbHandler, "available" | "href"> {
  status: "available" | "absent" | "unknown" | "faulty";
  subject?: string;
  faults?: readonly { path: string; message: string }[];
}

export interface Delivery {
  id: string;
  hook: string;
  status: "waiting" | "failed" | "delivered";
  event: string | null;
  module: string | null;
  schema: string | null;
  entry: string | null;
  attempts: number;
  at: string;
  error: string | null;
}

export interface Deliveries extends Page<Delivery> {
  /** Deliveries that are not made yet. Only on the first page. */
  backlog?: { count: number; oldest: string | null };
  /** Whether a process calls after-write hooks. While none is running, deliveries wait. */
  worker: "running" | "absent" | "unneeded";
}

export interface StreamMapping {
  name: string;
  stream: string;
  subjectFilter: string;
  description: string;
  read: "public" | "user";
}

/** Returns the handlers of a published application; undefined if the application is not published. */
export const orbHandlers = async (
  orb: string,
  signal?: AbortSignal,
): Promise<readonly OrbHandler[] | undefined> => (await discoverOrb(orb, signal))?.handlers;

/** Calls a handler. */
export const callHandler = (href: string, input: unknown): Promise<unknown> => post(href, input);

/** Lists all registered handlers. Platform admins only. */
export const listRegistry = (signal?: AbortSignal): Promise<Registration[]> =>
  get("/api/admin/registry", { signal });

export const removeRegistration = (name: string): Promise<void> =>
  remove(`/api/admin/registry${pathOf(...name.split("."))}`);

/** Lists deliveries. `query` accepts `status`, `limit` and `cursor`. Platform admins only. */
export const listDeliveries = (orb: string, options: ReadOptions): Promise<Deliveries> =>
  get(`${orbPath(orb)}/deliveries`, options);

export const redeliver = (orb: string, id: string): Promise<void> =>
  post(`${orbPath(orb)}/deliveries${pathOf(id)}/redeliver`);

/** Lists stream mappings. Platform admins only. */
export const listMappings = (signal?: AbortSignal): Promise<StreamMapping[]> =>
  get("/api/admin/streams", { signal });

export const putMapping = (name: string, mapping: Omit<StreamMapping, "name">): Promise<StreamMapping> =>
  put(`/api/admin/streams${pathOf(name)}`, mapping);

export const removeMapping = (name: string): Promise<void> => remove(`/api/admin/streams${pathOf(name)}`);

/**
 * Follows a stream until the signal is aborted.
 * @param offset `-1` starts with the first message, `now` with the next one
 */
export const followStream = (
  name: string,
  offset: "-1" | "now",
  signal: AbortSignal,
): AsyncGenerator<StreamBatch<unknown>, void, undefined> => readStream(transport, name, { offset, signal });
