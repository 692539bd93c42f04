import type { CompiledOrb } from "../../definition/compile.ts";
import type { HookDefinition, HookEvent } from "../../definition/document/hooks.ts";
import { currentView } from "../../entry/model/known.ts";
import { withNames } from "../../entry/model/names.ts";
import { addressIn, schemaOf } from "../../entry/model/resolve.ts";
import { type EntrySnapshot, type EntryView, snapshotOf } from "../../entry/model/snapshot.ts";
import type { StoredMessage } from "../../store/types.ts";

/** A revision as a hook receives it. Values of sensitive fields are masked. */
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

/**
 * Returns the revision that a message of an entry's log contains. Returns null if the hook is not for this kind of
 * write.
 */
export function revisionFor(
  compiled: CompiledOrb,
  hook: Pick<HookDefinition, "on" | "module" | "schema">,
  message: StoredMessage,
): HookedRevision | null {
  const stored = snapshotOf(message);
  if (stored === null) return null;
  const address = addressIn(message.subject);
  // The schema may have been renamed since the revision was written, so compare with its current id.
  const schema = schemaOf(compiled, address);
  const snapshot = withNames(schema, stored);
  const place = { module: schema?.module ?? snapshot.module, schema: schema?.id ?? snapshot.schema };
  if ((hook.module ?? place.module) !== place.module) return null;
  if ((hook.schema ?? place.schema) !== place.schema) return null;
  // A transaction record or a settings entry is published as soon as it is created. So its creation does not count as a
  // publication.
  const published = address.type !== "transactions" && address.type !== "settings";
  const event = eventsOf(snapshot, published).find((one) => hook.on.includes(one));
  if (event === undefined) return null;
  return { event, entry: currentView(snapshot, schema) };
}
