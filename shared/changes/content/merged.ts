/** Shows pending versions as their publication will make them, with what has changed in the orb since. */
import type { Deps } from "../../deps.ts";
import {
  effective,
  namedEntry,
  type OrbContext,
  parseEntry,
  schemaOf,
  withStoredNames,
} from "../../entry/model/index.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { baseOf, currentOf, mergeContent } from "./publication.ts";
import type { Version } from "./version.ts";

/** The store, and the time at which the versions are read. */
type Reader = Pick<Deps, "store" | "clock">;

/** Returns whether the publication of a version merges values with the live revision. */
const merges = ({ act, base, edited }: Version) => base !== null && (act === "publish" || edited === true);

export interface Merged {
  version: Version;
  /** Sequence number of the entry's newest revision. */
  seq: number;
}

/**
 * Merges versions with the live revisions of now. In a conflict, shows the value of the version.
 * @param maxBytes maximum size of the newest revisions together
 * @returns the merged versions whose entries have changed, by the ids of the entries
 * @throws TooMuch if the newest revisions exceed `maxBytes`
 */
export async function mergedNow(
  reader: Reader,
  context: OrbContext,
  versions: readonly Version[],
  maxBytes: number,
): Promise<Map<string, Merged>> {
  const logs = versions.filter(merges).map(({ address }) => subjects.entryLog(address));
  if (logs.length === 0) return new Map();
  const heads = await reader.store.getMany(streams.orb(context.orb), logs, { maxBytes });
  const merged = await Promise.all(
    versions.filter(merges).map((version) => {
      const message = heads.get(subjects.entryLog(version.address));
      return message === undefined ? undefined : mergedWith(reader, context, version, message);
    }),
  );
  return new Map(merged.flatMap((one) => (one === undefined ? [] : [[one.version.head.id, one]])));
}

async function mergedWith(
  reader: Reader,
  { compiled }: OrbContext,
  version: Version,
  message: StoredMessage,
): Promise<Merged | undefined> {
  const schema = schemaOf(compiled, version.address);
  const entry = namedEntry(compiled, parseEntry(message));
  if (entry === null || schema === undefined || entry.head.status === "DELETED") return undefined;
  const newest = effective(entry.head, reader.clock.now());
  const { live, seq } = await currentOf(reader, schema, { base: newest, entry });
  if (seq === version.base?.seq) return undefined;
  const old = await baseOf(reader, schema, version);
  if (old === null) return undefined;
  const { head } = version;
  const { values, validFrom, validTo } = await mergeContent(schema, old, live, head);
  const window = head.publishedRevision === null ? {} : { liveFrom: validFrom, liveTo: validTo };
  return {
    version: { ...version, head: { ...head, values, validFrom, validTo, ...window } },
    seq: message.seq,
  };
}

/** Returns the text of a message that contains a version as a revision of its entry. */
export function textOf({ compiled }: OrbContext, { address, head }: Version): string {
  return JSON.stringify(withStoredNames(schemaOf(compiled, address), head));
}
