/** Readers of lists, streams and live lists while change sets are published. */
import { expect, test } from "vitest";
import { sharedPlatform } from "../support/platform.ts";
import { rounds } from "../support/random.ts";
import { readWhilePublished } from "../support/release.ts";

test("no reader sees half of a publication", async () => {
  const reads = await readWhilePublished(await sharedPlatform(), rounds(6));
  for (const count of Object.values(reads)) expect(count).toBeGreaterThan(0);
});
