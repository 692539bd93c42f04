/** Live lists within a change set take turns in reading their lists again. */
import { expect, it } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { LiveLists, serveLiveList } from "../../shared/streams/live/index.ts";
import { Hub } from "../../shared/streams/read/index.ts";
import { admin } from "../support/entries.ts";
import { listedItems } from "../support/listed-items.ts";
import { until } from "../support/races.ts";

const { store, deps, orb, view } = await listedItems();
const PAGES_PER_USER = 2;
const FOLLOWERS = 12;

it("reads a few lists of a user at the same time, whatever the number of clients", async () => {
  const hub = new Hub(store, { limits: { pagesPerUser: PAGES_PER_USER } });
  const lists = new LiveLists(hub);
  const decoder = new TextDecoder();
  let reading = 0;
  let most = 0;
  let opened = 0;
  const set = {
    id: "0set",
    async open() {
      opened++;
      most = Math.max(most, ++reading);
      // Reads that begin at the same time are all here at the same time.
      await new Promise((resolve) => setTimeout(resolve, 20));
      reading--;
      return { deps };
    },
    definition: async (live: LiveOrb) => live,
  };
  const followed = Array.from({ length: FOLLOWERS }, () => ({ upserts: 0, isReady: false }));
  try {
    for (const client of followed) {
      const answer = await serveLiveList(lists, deps, view, {
        method: "GET",
        params: new URLSearchParams(),
        lastEventId: undefined,
        set,
      });
      if (answer.kind !== "live") throw new Error("no events");
      const write = (piece: Uint8Array) => {
        const text = decoder.decode(piece);
        client.upserts += text.split("event: upsert").length - 1;
        client.isReady ||= text.includes("event: ready");
      };
      answer.start(
        { write, queued: () => 0, drained: async () => undefined, end: () => undefined },
        () => undefined,
      );
      await until(() => client.isReady);
    }
    await until(() => opened >= 2 * FOLLOWERS);
    most = 0;
    await createEntry(deps, admin, { orbId: "shop", orb, module: "catalog", values: { n: 1 } });
    await until(() => followed.every(({ upserts }) => upserts === 1));
    expect(most).toBeLessThanOrEqual(PAGES_PER_USER);
  } finally {
    hub.close();
  }
});
