import { type ChangeSet, parseSet } from "../../changes/record/index.ts";
import type { SetComment } from "../../changes/review/index.ts";
import type { CompiledOrb } from "../../definition/compile.ts";
import {
  type ChangeEvent,
  type EntryEvent,
  type HookDefinition,
  isForMentions,
  isForSets,
} from "../../definition/document/index.ts";
import {
  addressIn,
  currentView,
  type EntrySnapshot,
  type EntryView,
  schemaOf,
  snapshotOf,
  withNames,
} from "../../entry/model/index.ts";
import type { StoredMessage } from "../../store/types.ts";

/** A revision as a hook receives it. Values of sensitive fields are masked. */
export interface HookedRevision {
  event: EntryEvent;
  entry: EntryView;
}

/** A revision of a change set as a hook receives it. */
export interface HookedSet {
  event: ChangeEvent;
  change: SetView;
}

/** A comment on a change set as a hook receives it, once it mentions accounts. */
export interface HookedMention {
  event: "change.mentioned";
  comment: MentionView;
}

/**
 * A comment without its text: a mention gives no right to read the set, and what a service sends to the accounts leaves
 * the platform.
 */
export interface MentionView extends Pick<SetComment, "id" | "mentions" | "at" | "by" | "through" | "token"> {
  orb: string;
  /** Id of the set. */
  change: string;
  /** What it is about: `module/schema/id` of an entry, and a field of it; null if it is about the whole set. */
  entry: string | null;
  field: string | null;
}

/** Times are ISO 8601, and `by` members are ids of accounts. */
export interface SetView
  extends Pick<
    ChangeSet,
    "id" | "title" | "state" | "revision" | "createdAt" | "createdBy" | "changedAt" | "changedBy"
  > {
  orb: string;
  /** Hash of the content that was approved or published; null if a review was requested. */
  hash: string | null;
  /** When the set is to be published, or null. */
  publishAt: string | null;
  /** Id of the set that this one takes back, or null. */
  reverts: string | null;
}

function eventsOf({ operation, status, updated }: EntrySnapshot, published: boolean): EntryEvent[] {
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
  const { change } = snapshot;
  return { event, entry: { ...currentView(snapshot, schema), ...(change === undefined ? {} : { change }) } };
}

function changeEventOf({ act, state }: ChangeSet): ChangeEvent | undefined {
  if (act === "review") return "change.review";
  // An approval that is not the last one that the rules demand leaves the set in review.
  if (act === "approve") return state === "IN_REVIEW" ? undefined : "change.approved";
  return act === "publish" ? "change.published" : undefined;
}

/** Returns the revision of a set that a message contains, or null if the hook is not for this event. */
export function setFor(
  orb: string,
  { on }: Pick<HookDefinition, "on">,
  message: StoredMessage,
): HookedSet | null {
  if (message.size === 0) return null;
  const { set } = parseSet(message);
  const event = changeEventOf(set);
  if (event === undefined || !on.includes(event)) return null;
  const { id, title, state, revision, createdAt, createdBy, changedAt, changedBy } = set;
  const hash =
    event === "change.published"
      ? set.published?.hash
      : event === "change.approved"
        ? approved(set)
        : undefined;
  return {
    event,
    change: {
      ...{ id, orb, title, state, revision, createdAt, createdBy, changedAt, changedBy },
      hash: hash ?? null,
      publishAt: set.plan?.at ?? null,
      reverts: set.reverts ?? null,
    },
  };
}

/** Returns the comment that a message contains, or null if it mentions no account, or is resolved already. */
export function mentionFor(
  orb: string,
  { on }: Pick<HookDefinition, "on">,
  message: StoredMessage,
): HookedMention | null {
  if (message.size === 0 || !isForMentions({ on })) return null;
  const { v: _, text: _text, resolved, entry = null, field = null, ...rest } = message.json<SetComment>();
  if (resolved !== undefined || rest.mentions.length === 0) return null;
  // `<orb>._change.<set>.comment.<id>`
  const change = message.subject.split(".")[2] ?? "";
  return { event: "change.mentioned", comment: { ...rest, orb, change, entry, field } };
}

/** Returns the hash of the newest approval. */
const approved = ({ approvals }: ChangeSet) => approvals.at(-1)?.hash;

/** Returns whether a message is an occurrence for which a hook is called. */
export function isHooked(
  compiled: CompiledOrb,
  orb: string,
  hook: Pick<HookDefinition, "on" | "module" | "schema">,
  message: StoredMessage,
): boolean {
  if (isForMentions(hook)) return mentionFor(orb, hook, message) !== null;
  return (isForSets(hook) ? setFor(orb, hook, message) : revisionFor(compiled, hook, message)) !== null;
}
