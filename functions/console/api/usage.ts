/** Requests about what is asked of an application, and what fails. Platform admins only. */
import type { Usage } from "../../../shared/usage/counts.ts";
import { get } from "./http.ts";
import { orbPath } from "./orbs.ts";

export type { Usage };

/** Returns the counts of the last hours. */
export const readUsage = (orb: string, hours: number, signal?: AbortSignal): Promise<Usage> =>
  get(`${orbPath(orb)}/usage`, { query: { hours }, signal });
