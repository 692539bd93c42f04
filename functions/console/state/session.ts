/** The signed-in user, and the application of the current page. */
import { isProblem } from "../../../shared/client/problem.ts";
import { type Caller, isPlatformAdmin, readCaller } from "../api/caller.ts";
import { sessionEnded } from "../api/http.ts";
import { discoverOrb, type OrbDocument, readOrb } from "../api/orbs.ts";
import type { OrbModel } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { changeIn, setsKey } from "./change.ts";
import { type Loaded, useLoad } from "./load.ts";

/** Applications in which the user has been signed in at some time since the page was opened. */
const known = new Set<string | undefined>();

/**
 * Reads the caller. If the session has ended, throws instead of returning an anonymous caller. So the cached caller and
 * open forms stay, and the page asks the user to sign in again.
 */
async function readKnownCaller(orb: string | undefined, signal: AbortSignal): Promise<Caller> {
  const caller = await readCaller(orb, signal);
  if (caller.account !== null) known.add(orb);
  else if (known.has(orb)) {
    sessionEnded.value = true;
    throw new Error(t("signin.ended"));
  }
  return caller;
}

/**
 * Returns the caller's account, and the caller's rights in an application if `orb` is set. Within a change set, these are
 * the rights in the schemas of the set.
 */
export function useCaller(orb?: string): Loaded<Caller> {
  const caller = useLoad(`caller/${orb ?? ""}`, (signal) => readKnownCaller(orb, signal));
  const change = changeIn(orb);
  const { data } = caller;
  const isUser = data !== undefined && data.account !== null && !isPlatformAdmin(data);
  const key = orb === undefined || change === undefined || !isUser ? null : setsKey(orb, change, "caller");
  // If the caller may not read the set, the rights are those outside of it.
  const within = useLoad(key, (signal) => readCaller(orb, signal, change));
  return key === null || within.data === undefined ? caller : { ...caller, data: within.data };
}

/**
 * Returns the application of the current page. Platform admins get the newest document with its state, and users get
 * the published one. Within a change set, both get the application as the set will leave it.
 * @param change id of the set. Default: the set in which the user edits
 */
export function useOrb(
  id: string | undefined,
  change: string | undefined = changeIn(id),
): Loaded<OrbModel & Partial<OrbDocument>> {
  const caller = useCaller(id).data;
  const admin = isPlatformAdmin(caller);
  const isNeeded = id !== undefined && caller !== undefined && caller.account !== null;
  const key = !isNeeded ? null : change === undefined ? `orbs/${id}` : setsKey(id, change, "orb");
  return useLoad<OrbModel & Partial<OrbDocument>>(key, async (signal) => {
    if (id === undefined) throw new Error("This page is about no orb.");
    const read = async (set?: string) => {
      if (admin) return withDefaults(await readOrb(id, signal, set));
      const found = await discoverOrb(id, signal, set);
      if (found === undefined) throw new Error("The discovery left out the orb.");
      return found;
    };
    if (change === undefined) return read();
    return read(change).catch((error: unknown) => {
      // The bar at the top says that there is no such set. The other pages still work.
      if (isProblem(error) && (error.status === 403 || error.status === 404)) return read();
      throw error;
    });
  });
}

/** Adds the default languages and markets, which documents may omit. */
function withDefaults(document: OrbDocument): OrbDocument {
  const { languages = ["en"], markets = [] } = document as Partial<OrbModel>;
  return { ...document, languages, markets } as OrbDocument;
}
