import type { Installation } from "../../store/policy.ts";
import { streams } from "../../store/subjects.ts";
import { readWhole } from "../../store/whole.ts";
import type { OrbContext } from "../model/index.ts";

/**
 * Reads several entries of an application, so that the result shows all of each published change set, or nothing of it.
 * @param read may be called again; it must read with the dependencies that it gets. What it has read before must not be
 *   older than the sequence number `floor`
 */
export function readTogether<D extends Installation, T>(
  deps: D,
  { orb, fence }: Pick<OrbContext, "orb" | "fence">,
  read: (deps: D, floor: number) => Promise<T>,
): Promise<T> {
  return readWhole(deps, { stream: streams.orb(orb), incarnation: fence?.incarnation ?? 0 }, read);
}
