/** The caller, and the orb of the current page. */
import { type Caller, isPlatformAdmin, readCaller } from "../api/caller.ts";
import { discoverOrb, type OrbDocument, readOrb } from "../api/orbs.ts";
import type { OrbModel } from "../model/orb.ts";
import { type Loaded, useLoad } from "./load.ts";

/** The caller and the caller's rights, in an orb if one is given. */
export function useCaller(orb?: string): Loaded<Caller> {
  return useLoad(`caller/${orb ?? ""}`, (signal) => readCaller(orb, signal));
}

/**
 * The orb that the current page is about. Platform admins get the newest document with its state, users of the orb the
 * published one.
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

/** The document may leave out languages and markets. */
function withDefaults(document: OrbDocument): OrbDocument {
  const { languages = ["en"], markets = [] } = document as Partial<OrbModel>;
  return { ...document, languages, markets } as OrbDocument;
}
