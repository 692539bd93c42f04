import type { Fault } from "../kernel/errors.ts";
import { BUCKET_BYTES } from "../store/budget.ts";
import { buckets, isToken } from "../store/subjects.ts";
import {
  capturingStreams,
  type FaultyEntry,
  type Handler,
  type HandlerDeps,
  isFaulty,
  isRemote,
  readEntry,
  splitName,
} from "./contract/index.ts";

type Lookup = Pick<HandlerDeps, "store" | "log" | "builtIn">;

function ownServices({ builtIn }: Lookup): ReadonlySet<string> {
  return new Set(builtIn.map(({ name }) => name.slice(0, name.indexOf("."))));
}

function logFaults(deps: Lookup, entry: Handler | FaultyEntry): Handler | FaultyEntry {
  if (isFaulty(entry)) {
    const faults = entry.faults.map(({ path, code }) => `${path} ${code}`);
    deps.log.warn("invalid handler registration ignored", {
      key: entry.name.slice(0, 128),
      faults: faults.slice(0, 10),
    });
  }
  return entry;
}

export async function getHandler(deps: Lookup, name: string): Promise<Handler | FaultyEntry | null> {
  const own = deps.builtIn.find((handler) => handler.name === name);
  if (own !== undefined) return own;
  const split = splitName(name);
  const services = ownServices(deps);
  if (split === undefined || services.has(split.service)) return null;
  const entry = await deps.store.kvGet(buckets.handlers, name);
  return entry === null ? null : logFaults(deps, readEntry(name, entry.text(), services));
}

/** Returns all handlers ordered by name, including invalid registrations with their errors. */
export async function listHandlers(deps: Lookup, service?: string): Promise<(Handler | FaultyEntry)[]> {
  const prefix = service === undefined ? "" : `${service}.`;
  const own = deps.builtIn.filter(({ name }) => name.startsWith(prefix));
  const asked = service === undefined || isToken(service);
  const filter = service === undefined ? ">" : `${service}.>`;
  const entries = asked ? await deps.store.kvList(buckets.handlers, filter, { maxBytes: BUCKET_BYTES }) : [];
  const services = ownServices(deps);
  const remote = entries.map((entry) => logFaults(deps, readEntry(entry.key, entry.text(), services)));
  return [...own, ...remote].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function capturedFault(
  path: string,
  handler: { name: string; subject: string },
  stream: string,
): Fault {
  const words = `The stream "${stream}" captures the subject ${handler.subject} of the handler ${handler.name}, so calls would be stored and never answered. Register the handler on another subject.`;
  return { path, code: "faulty_handler", message: words };
}

interface Use {
  service: string;
  handlers: readonly string[];
  acts?: readonly string[] | undefined;
}

/**
 * Reports operations (acts) that a document grants to a service's handlers although none of them requests the
 * operation.
 */
function actsFaults(uses: readonly Use[], found: ReadonlyMap<string, Handler | FaultyEntry | null>): Fault[] {
  return uses.flatMap(({ service, handlers, acts = [] }, i) => {
    const entries = handlers.map((handler) => found.get(`${service}.${handler}`) ?? null);
    // If a registration is missing or invalid, it is unknown which operations (acts) its handler requests. Another
    // check reports the registration.
    if (entries.some((entry) => entry === null || isFaulty(entry))) return [];
    const requested = new Set<string>(
      entries.flatMap((entry) => (entry === null || isFaulty(entry) ? [] : (entry.acts ?? []))),
    );
    return acts.flatMap((act, j): Fault[] => {
      if (requested.has(act)) return [];
      const message = `is requested by none of these handlers of ${service}. Remove it, or add it to acts of a registration.`;
      return [{ path: `/uses/${i}/acts/${j}`, code: "unrequested_act", message }];
    });
  });
}

/** The handler of a hook or a schedule, and its place in the document. */
export interface CalledHandler {
  path: string;
  name: string;
}

/**
 * Reports hooks and schedules whose handler expects HTTP requests. The platform can call only handlers that take one
 * JSON message.
 */
function kindFaults(
  called: readonly CalledHandler[],
  found: ReadonlyMap<string, Handler | FaultyEntry | null>,
): Fault[] {
  return called.flatMap(({ path, name }): Fault[] => {
    const entry = found.get(name) ?? null;
    if (entry === null || isFaulty(entry) || entry.kind === "nats") return [];
    const message = `names the handler ${name}, whose registration has the kind ${entry.kind}. Hooks and schedules call handlers of the kind nats only. Register such a handler, or name another one.`;
    return [{ path, code: "wrong_kind", message }];
  });
}

/**
 * Reports handlers that are not registered, have an invalid registration, or use a subject whose messages a stream
 * stores. Also reports granted operations (acts) that no handler requests, and hooks and schedules whose handler is not
 * of the kind `nats`.
 */
export async function usesFaults(
  deps: Lookup,
  uses: readonly Use[],
  called: readonly CalledHandler[],
): Promise<Fault[]> {
  const wanted = uses.flatMap((use, i) =>
    use.handlers.map((handler, j) => ({
      name: `${use.service}.${handler}`,
      path: `/uses/${i}/handlers/${j}`,
    })),
  );
  const entries = await Promise.all(wanted.map(({ name }) => getHandler(deps, name)));
  const captured = await capturingStreams(deps.store, subjectsOf(entries));
  const found = new Map(wanted.map(({ name }, index) => [name, entries[index] ?? null] as const));
  const faults = wanted.flatMap(({ name, path }): Fault[] => {
    const entry = found.get(name) ?? null;
    if (entry === null) {
      return [
        {
          path,
          code: "unknown_handler",
          message: `names the handler ${name}, which is not registered. Start the service, so that it registers its handlers, then publish the orb; or correct the name.`,
        },
      ];
    }
    if (isFaulty(entry)) {
      return [
        {
          path,
          code: "faulty_handler",
          message: `names the handler ${name}, whose registration is not valid. Correct the registration.`,
        },
      ];
    }
    if (!isRemote(entry)) return [];
    const stream = captured.get(entry.subject);
    return stream === undefined ? [] : [capturedFault(path, entry, stream)];
  });
  return [...faults, ...actsFaults(uses, found), ...kindFaults(called, found)];
}

export function subjectsOf(entries: readonly (Handler | FaultyEntry | null)[]): string[] {
  return entries.flatMap((entry) =>
    entry !== null && !isFaulty(entry) && isRemote(entry) ? [entry.subject] : [],
  );
}

/**
 * A new application's stream stores all messages whose subject begins with the application's id. Returns the handlers
 * whose messages it would store by mistake.
 */
export async function handlersUnder(deps: Lookup, orb: string): Promise<string[]> {
  const all = await listHandlers(deps);
  return all.flatMap((entry) =>
    !isFaulty(entry) && isRemote(entry) && entry.subject.startsWith(`${orb}.`) ? [entry.name] : [],
  );
}
