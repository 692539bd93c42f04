/** The signed-in user, and the application of the current page. */
import { type Caller, isPlatformAdmin, readCaller } from "../api/caller.ts";
import { sessionEnded } from "../api/http.ts";
import { discoverOrb, type OrbDocument, readOrb } from "../api/orbs.ts";
import type { OrbModel } from "../model/orb.ts";
import { t } from "../texts/t.ts";
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

/** Returns the caller's account, and the caller's rights in an application if `orb` is set. */
export function useCaller(orb?: string): Loaded<Caller> {
  return useLoad(`caller/${orb ?? ""}`, (signal) => readKnownCaller(orb, signal));
}

/**
 * Returns the application of the current page. Platform admins get the newest document with its state, and users get
 * the published one.
 */
export function useOrb(id: string | undefined): Loaded<OrbModel & Partial<OrbDocument>> {
  const caller = useCaller(id).data;
  const admin = isPlatformAdmin(caller);
  const key = id === undefined || caller === undefined || caller.account === null ? null : `orbs/${id}`;
  return useLoad<OrbModel & Partial<OrbDocument>>(key, async (signal) => {
    if (id === undefined) throw new Error("This page is about no orb.");
    if (admin) return withDefaults(await readOrb(id, signal));
    const found = await discoverOrb(id, signal);
    if (found === undefined) throw new Error("The discovery left out the orb.");
    return found;
  });
}

/** Adds the default languages and markets, which documents may omit. */
function withDefaults(document: OrbDocument): OrbDocument {
  const { languages = ["en"], markets = [] } = document as Partial<OrbModel>;
  return { ...document, languages, markets } as OrbDocument;
}
