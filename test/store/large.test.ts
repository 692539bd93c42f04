import { expect, it } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { startBroker } from "../support/broker.ts";
import { installOrb, SHOP } from "../support/entries.ts";

it("reads all that is asked for, also beyond the bytes of one answer", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, SHOP);
  const data = "x".repeat(500 * 1024);
  const subjects = Array.from({ length: 150 }, (_, i) => `shop.content.owner.note.0large${i}`);
  await store.pipeline(
    streams.orb("shop"),
    subjects.map((subject) => ({ subject, data })),
  );
  const found = await store.getMany(streams.orb("shop"), [...subjects, "shop.content.owner.note.0none"], {
    consistency: "any",
  });
  expect([...found.keys()].sort()).toEqual(subjects.toSorted());
});
