/** Counts the reads that a request with the number of a revision causes, because anyone may name any number. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { liveFor, pinnedOrb } from "../../shared/entry/pinned/orb.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { countingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps } from "../support/entries.ts";
import { document } from "../support/stepped-orbs.ts";

const { deps: plain, store } = await fileDeps();
const counted = countingStore(store);
let time = Date.parse("2026-01-01T00:00:00Z");
const deps = { ...plain, store: counted.store, clock: { ...plain.clock, now: () => time } };
const DRAFTS = 24;
let live: LiveOrb;
let orb = "";
let serial = 0;

/** Publishes revision 1, writes drafts, and publishes one more revision. */
async function history(): Promise<void> {
  orb = `pinned-reads-${++serial}`;
  const named = (name: string) => ({ ...document(orb), name });
  await createOrb(plain, admin, { document: named("first"), publish: true });
  for (let draft = 0; draft < DRAFTS; draft++)
    await updateOrb(plain, admin, { orb, document: named(`draft ${draft}`) });
  await updateOrb(plain, admin, { orb, document: named("last"), publish: true });
  live = await requireLive(plain, orb);
}

describe("a revision in a request", () => {
  beforeAll(history);
  beforeEach(() => {
    time += 10_000;
    counted.reset();
  });

  it("is read once if it was published, and once if it was not", async () => {
    expect((await pinnedOrb(deps, live, 1)).revision).toBe(1);
    expect(await failureOf(pinnedOrb(deps, live, 2))).toMatchObject({ kind: "not_found" });
    expect(counted.calls.length).toBeGreaterThan(0);
    counted.reset();
    await pinnedOrb(deps, live, 1);
    expect(await failureOf(pinnedOrb(deps, live, 2))).toMatchObject({ kind: "not_found" });
    expect(await failureOf(pinnedOrb(deps, live, live.revision + 1))).toMatchObject({ kind: "not_found" });
    expect(counted.calls).toEqual([]);
  });

  it("is refused if too many others are read in the same second", async () => {
    const codes: string[] = [];
    for (let revision = 3; revision < DRAFTS; revision++)
      codes.push((await failureOf(pinnedOrb(deps, live, revision))).code);
    expect(new Set(codes)).toEqual(new Set(["definition_revision_not_found", "reads_busy"]));
    expect(codes.at(-1)).toBe("reads_busy");
    // A known revision needs no read.
    expect((await pinnedOrb(deps, live, 1)).revision).toBe(1);
    time += 1_000;
    expect(await failureOf(pinnedOrb(deps, live, DRAFTS))).toMatchObject({ kind: "not_found" });
  });

  it("makes unknown callers look for a newer definition once a second", async () => {
    for (let look = 0; look < 5; look++) expect(await liveFor(deps, live, 999_999, true)).toBe(live);
    expect(counted.calls).toHaveLength(1);
    await liveFor(deps, live, 999_999, false);
    expect(counted.calls).toHaveLength(2);
    await liveFor(deps, live, live.revision, true);
    expect(counted.calls).toHaveLength(2);
    time += 1_000;
    await liveFor(deps, live, 999_999, true);
    expect(counted.calls).toHaveLength(3);
  });
});
