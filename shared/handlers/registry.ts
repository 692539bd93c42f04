/** The one list of handlers: those that the platform brings, and those that services have put into the bucket `handlers`. */
import type { Deps } from "../deps.ts";
import type { Fault } from "../errors.ts";
import { BUCKET_BYTES } from "../store/budget.ts";
import { buckets, isToken } from "../store/subjects.ts";
import { BUILT_IN, OWN_SERVICES } from "./builtin.ts";
import { type FaultyEntry, isFaulty, readEntry, splitName } from "./entry.ts";
import type { Handler } from "./types.ts";

const builtIn: ReadonlyMap<string, Handler> = new Map(BUILT_IN.map((handler) => [handler.name, handler]));

function told(deps: Pick<Deps, "log">, entry: Handler | FaultyEntry): Handler | FaultyEntry {
  if (isFaulty(entry)) {
    const faults = entry.faults.map(({ path, code }) => `${path} ${code}`);
    deps.log.warn("registry entry ignored", { key: entry.name.slice(0, 128), faults: faults.slice(0, 10) });
  }
  return entry;
}

/** A handler by its full name; null when nobody has registered it. No request for a built-in one, else one. */
export async function getHandler(
  deps: Pick<Deps, "store" | "log">,
  name: string,
): Promise<Handler | FaultyEntry | null> {
  const own = builtIn.get(name);
  if (own !== undefined) return own;
  const split = splitName(name);
  if (split === undefined || OWN_SERVICES.has(split.service)) return null;
  const entry = await deps.store.kvGet(buckets.handlers, name);
  return entry === null ? null : told(deps, readEntry(name, entry.text(), OWN_SERVICES));
}

/**
 * Every handler, by name; of one service when it is named. Entries that cannot be used are among them, with their
 * faults. One request for each 256 entries.
 */
export async function listHandlers(
  deps: Pick<Deps, "store" | "log">,
  service?: string,
): Promise<(Handler | FaultyEntry)[]> {
  const prefix = service === undefined ? "" : `${service}.`;
  const own = BUILT_IN.filter(({ name }) => name.startsWith(prefix));
  const asked = service === undefined || isToken(service);
  const filter = service === undefined ? ">" : `${service}.>`;
  const entries = asked ? await deps.store.kvList(buckets.handlers, filter, { maxBytes: BUCKET_BYTES }) : [];
  const remote = entries.map((entry) => told(deps, readEntry(entry.key, entry.text(), OWN_SERVICES)));
  return [...own, ...remote].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * What is wrong with the handlers that a document uses, at the place that uses them: unknown ones, and entries that
 * cannot be used.
 */
export async function usesFaults(
  deps: Pick<Deps, "store" | "log">,
  uses: readonly { service: string; handlers: readonly string[] }[],
): Promise<Fault[]> {
  const wanted = uses.flatMap((use, i) =>
    use.handlers.map((handler, j) => ({
      name: `${use.service}.${handler}`,
      path: `/uses/${i}/handlers/${j}`,
    })),
  );
  const faults = await Promise.all(
    wanted.map(async ({ name, path }): Promise<Fault[]> => {
      const entry = await getHandler(deps, name);
      if (entry === null) {
        return [{ path, code: "unknown_handler", message: `No handler ${name} is registered.` }];
      }
      if (!isFaulty(entry)) return [];
      return [{ path, code: "faulty_handler", message: `The registry's entry of ${name} is not valid.` }];
    }),
  );
  return faults.flat();
}

/** Names of registered handlers whose subject the stream of a new orb would capture. */
export async function handlersUnder(deps: Pick<Deps, "store" | "log">, orb: string): Promise<string[]> {
  const all = await listHandlers(deps);
  return all.flatMap((entry) =>
    !isFaulty(entry) && entry.kind === "nats" && entry.subject.startsWith(`${orb}.`) ? [entry.name] : [],
  );
}
