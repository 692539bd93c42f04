/** Removes what the tests of a file have left on the platform that they share with other files. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { scriptDeps } from "../../scripts/platform/deps.ts";
import { system } from "../../shared/access/actor.ts";
import { exists, orbHead } from "../../shared/definition/stored/history.ts";
import { deleteOrb, eraseOrb } from "../../shared/orb/operate.ts";
import { buckets, kvSubject, lastToken, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import type { TestPlatform } from "./platform.ts";

/** Buckets and subjects of the platform, outside of its orbs, that a file fills. Nothing in them is needed later. */
const LEFT: readonly [stream: string, filter: string][] = [
  [streams.limits, "_limit.>"],
  [streams.quotas, "_quota.>"],
  [streams.longQuotas, "_quota.>"],
  [streams.usage, "_usage.>"],
  [streams.kv(buckets.handlers), kvSubject(buckets.handlers, ">")],
];

/** Names of streams that the platform itself maps. */
const OWN_MAPPINGS: readonly string[] = [streams.heartbeat, streams.wallet];

/** Notes that the running file uses an orb id. @returns another file of this test run that has used it before */
function otherUserOf(orb: string): string | undefined {
  const file = expect.getState().testPath ?? "";
  const folder = join(inject("runDir"), "orbs");
  const note = join(folder, orb);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(note, file, { flag: "wx" });
    return undefined;
  } catch {
    const other = readFileSync(note, "utf8");
    return other === file ? undefined : other;
  }
}

async function removeMappings(store: Pick<Store, "subjects" | "purge">): Promise<void> {
  const stream = streams.kv(buckets.streamMappings);
  const { subjects: all } = await store.subjects(stream, kvSubject(buckets.streamMappings, "*"));
  const added = all.filter((subject) => !OWN_MAPPINGS.includes(lastToken(subject)));
  await Promise.all(added.map((subject) => store.purge(stream, subject)));
}

/** Ids of orbs that earlier files of a platform had. */
const removed = new WeakMap<TestPlatform, Set<string>>();

/**
 * Deletes the orbs of the platform and what is left beside them, so that the next file finds neither.
 * @throws Error if another file of this test run has used the same orb ids, whether or not on the same platform
 */
export async function tidy(platform: TestPlatform): Promise<void> {
  const store = platform.operatorStore();
  const earlier = removed.get(platform) ?? new Set();
  removed.set(platform, earlier);
  const deps = scriptDeps(store, platform.bindings);
  const { subjects: histories } = await store.subjects(streams.platform, subjects.allOrbHistories);
  // Histories outlast their orbs.
  const orbs = histories.map(lastToken).filter((orb) => !earlier.has(orb));
  for (const orb of orbs) {
    const head = await orbHead(deps, orb);
    if (exists(head)) await eraseOrb(deps, system, orb, head);
    else if (head?.operation === "deleting" || head?.operation === "importing")
      await deleteOrb(deps, system, { orb });
    earlier.add(orb);
  }
  await Promise.all([removeMappings(store), ...LEFT.map(([stream, filter]) => store.purge(stream, filter))]);
  const taken = orbs.flatMap((orb) => {
    const other = otherUserOf(orb);
    return other === undefined ? [] : [`${orb} (${other})`];
  });
  if (taken.length > 0)
    throw new Error(
      `Other test files use the same orb ids: ${taken.join(", ")}. Choose others, or start a platform for this file alone: sharedPlatform({}).`,
    );
}
