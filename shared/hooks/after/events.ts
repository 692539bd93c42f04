import type { CompiledOrb } from "../../definition/compile.ts";
import type { HookDefinition, HookEvent } from "../../definition/document/hooks.ts";
import { currentView } from "../../entry/model/known.ts";
import { addressIn, schemaOf } from "../../entry/model/resolve.ts";
import { type EntrySnapshot, type EntryView, snapshotOf } from "../../entry/model/snapshot.ts";
import type { StoredMessage } from "../../store/types.ts";

/** A revision as a hook hears of it. Values of sensitive fields are masks. */
export interface HookedRevision {
  event: HookEvent;
  entry: EntryView;
}

function eventsOf({ operation, status, updated }: EntrySnapshot, published: boolean): HookEvent[] {
  switch (operation) {
    case "create":
      return status === "PUBLISHED" && published ? ["entry.created", "entry.published"] : ["entry.created"];
    case "update":
    case "revert":
      return ["entry.updated"];
    case "publish":
      return updated === true ? ["entry.updated", "entry.published"] : ["entry.published"];
    case "unpublish":
      return ["entry.unpublished"];
    case "archive":
      return ["entry.archived"];
    case "restore":
      return ["entry.restored"];
    case "delete":
      return ["entry.deleted"];
    case "reseal":
      return [];
  }
}

/** Returns the revision that a message of a log holds, or null if it is not for the hook. */
export function revisionFor(
  compiled: CompiledOrb,
  hook: Pick<HookDefinition, "on" | "module" | "schema">,
  message: StoredMessage,
): HookedRevision | null {
  const snapshot = snapshotOf(message);
  if (snapshot === null) return null;
  const address = addressIn(message.subject);
  // A schema may have had another id when the revision was written.
  const schema = schemaOf(compiled, address);
  const place = { module: schema?.module ?? snapshot.module, schema: schema?.id ?? snapshot.schema };
  if ((hook.module ?? place.module) !== place.module) return null;
  if ((hook.schema ?? place.schema) !== place.schema) return null;
  // Records and settings are live from the start, so they have no publication of their own.
  const published = address.type !== "transactions" && address.type !== "settings";
  const event = eventsOf(snapshot, published).find((one) => hook.on.includes(one));
  if (event === undefined) return null;
  return { event, entry: currentView(snapshot, schema) };
}
